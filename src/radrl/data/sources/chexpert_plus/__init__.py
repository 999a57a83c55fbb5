"""CheXpert Plus (Chambon et al. 2024), with the radiologists' labels of CheXpert's validation set."""

from radrl.data.sources.chexpert_plus.source import read as read
