"""Declares torchvision's compiled operators where its build is for another torch.

torchvision registers meta functions for them as it is imported, and fails where they are not there. vLLM and
transformers use its Python part alone (transforms), so declarations without code serve; a call fails.
"""

import torch

OPERATORS = (
    "nms",
    "qnms",
    "roi_align",
    "qroi_align",
    "_roi_align_backward",
    "roi_pool",
    "_roi_pool_backward",
    "ps_roi_align",
    "_ps_roi_align_backward",
    "ps_roi_pool",
    "_ps_roi_pool_backward",
    "deform_conv2d",
    "_deform_conv2d_backward",
)

for name in OPERATORS:
    torch.library.define(f"torchvision::{name}", "(Tensor a) -> Tensor")
