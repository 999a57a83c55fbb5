"""Findings of two reports, matched and weighed by what they mean for the patient."""
