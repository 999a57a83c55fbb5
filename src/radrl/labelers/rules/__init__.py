"""Rule labeler in CheXpert's manner: text -> sentences -> lexicon items -> assertion -> 14 classes."""
