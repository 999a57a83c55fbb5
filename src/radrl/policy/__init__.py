"""The vision-language policy: built small for a laptop, or loaded from a local Qwen2.5-VL folder."""
