"""CheXbert: a BERT that reads the 14 observations, from its published checkpoint or trained small here."""
