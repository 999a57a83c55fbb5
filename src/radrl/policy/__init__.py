"""The vision-language policy: built small for a laptop, or loaded from a local folder of a known family.

Lives here: loading, building and prompting of policies, which characters a token stands for, generation.
How it learns is in `training`.
"""
