"""What bench/grpo_step.py is made of.

policies    the laptop's policy, Qwen2.5-VL-3B's real shape, and that shape's twin for a CPU
scripts     what rollouts say, and how generation is held to it
ways        three trainers with timers: stock TRL, the film shared, film and prompt shared
measure     a cell in processes of their own, the ways taking turns
results     measured cells on disk, so that a killed run goes on
count       tokens and operations of each way, and what ratios they allow
page        the tables
"""
