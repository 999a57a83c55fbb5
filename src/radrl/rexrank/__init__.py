"""ReXrank's JSON of studies: read and checked, filled with reports, held against its references."""
