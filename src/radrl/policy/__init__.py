"""The vision-language policy: built small for a laptop, or loaded from a local Qwen2.5-VL folder.

Lives here: loading, building and prompting of Qwen2.5-VL, which characters a token stands for, generation.
How it learns is in `training`.
"""
