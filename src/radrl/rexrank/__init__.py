"""ReXrank's JSON of studies: read and checked, filled with reports, held against its references.

What may live here: the form of ReXrank's files, and what its tutorials and scripts ask of a submission. Figures are
those of `radrl.scoring`, policies those of `radrl.policy`.
"""
