"""ReXrank's JSON of studies: read and checked, filled with reports, held against its references.

Lives here: the form of ReXrank's files, and how a run of reports outlives a kill. Who writes is
`radrl.reporting`, what scores `radrl.scoring`.
"""
