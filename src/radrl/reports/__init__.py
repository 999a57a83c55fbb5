"""Report text, pure.

Lives here: functions from text to text: sections, cleaning protocols, the form of think and report. No
labels, no models.
"""
