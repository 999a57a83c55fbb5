"""Labels read off films, without a report: what stands above the arms.

Lives here: models and probes that see a film and give labels, with their thresholds. They write no text.
"""
