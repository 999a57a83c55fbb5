"""The base policy: a local Qwen2.5-VL, or the laptop policy built and pretrained."""
