"""Models of the price; params.yaml names one by its import path for each entry of `models`."""
