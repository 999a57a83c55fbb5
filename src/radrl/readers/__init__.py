"""Labels read off films, without a report: what stands above the arms."""
