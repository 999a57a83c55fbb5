"""Families of vision-language models: what each has of its own, which everything else asks for."""
