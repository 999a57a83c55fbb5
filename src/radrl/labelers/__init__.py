"""Who reads the 14 observations out of a report.

Lives here: whatever gives a report 14 classes (`base.py` says the form): rules, and CheXbert in its published
and its compact size. What scores a pair of reports is a scorer.
"""
