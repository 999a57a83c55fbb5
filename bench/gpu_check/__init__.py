"""What `python bench/gpu_check` (`make gpu-check`) is made of.

parts        which parts there are, in their order, with the limit of each
runner       each part in a process of its own, ended at its limit; what it had found is kept
results      the JSON, written whole after each part and each finding
setup        Qwen2.5-VL-3B's shape with random weights, or its twin of a few narrow layers for a CPU
machine      the card, its matrix peak and the bandwidth of its memory
exactness    shared forward against rows, greedy against transformers, samples when a batch is split
resume       the same seed twice, two kills resumed, both to the bit
decoding     transformers' generate and radrl's loop, tokens of one length
speed        a training step in stock TRL and in radrl, part by part
memory       what an adapter training and a batch of reports hold, beside what `radrl plan` says
throughputs  what `radrl plan` may take in place of its assumptions
page         docs/bench/gpu.md, from the JSON
"""
