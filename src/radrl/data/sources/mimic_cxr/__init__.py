"""MIMIC-CXR and MIMIC-CXR-JPG 2.0.0 and 2.1.0 as PhysioNet ships them (docs/data/mimic_cxr.md)."""
