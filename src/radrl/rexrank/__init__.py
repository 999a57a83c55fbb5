"""ReXrank's JSON of studies: read and checked, filled with reports, held against references; other systems' reports too.

Lives here: the form of ReXrank's files and of released reports, and how a run of reports outlives a kill. Who writes is
`radrl.reporting`, what scores `radrl.scoring`.
"""
