"""What a report is worth to the trainer: parts that are summed by weight, each finite or raising.

Lives here: one kind of reward a module, finite or raising, over labelers and scorers; and how rewards are
weighted and summed. A reward's equation is in `algorithms`.
"""
