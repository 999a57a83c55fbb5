"""What a report is worth to the trainer: parts that are summed by weight, each finite or raising."""
