"""CheXpert Plus (Chambon et al. 2024), with the radiologists' labels of CheXpert's validation set."""
