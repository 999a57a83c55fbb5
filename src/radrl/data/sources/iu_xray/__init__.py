"""IU X-Ray (Open-i, the Indiana University chest X-ray collection; Demner-Fushman et al. 2016)."""
