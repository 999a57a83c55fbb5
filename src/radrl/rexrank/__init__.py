"""ReXrank's JSON of studies, and reports that other systems released: read, filled, held against references.

Lives here: the form of ReXrank's files and of released reports, and how a run of reports outlives a kill. Who
writes is `radrl.reporting`, what scores `radrl.scoring`.
"""
