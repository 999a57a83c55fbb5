"""An accelerator that is none: torch takes its tensors for a device's own, and the CPU computes them.

As on a GPU, an operation on tensors of several devices is refused, but for numbers without a dimension.
Once registered it is there for the rest of the process, which is why its tests run in one of their own.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

NAME = "fake"
COUNT = 4
RESIZING = ("arange", "arange.start", "arange.start_step")
"""What torch would make by resizing an empty tensor, which a `There` cannot follow."""

ACROSS = tuple(getattr(torch.ops.aten, name) for name in ("_to_copy", "copy_", "index", "index_put_"))
"""What a GPU, too, does with tensors of the CPU beside its own: copies, and indices."""

_LIBRARIES: list[torch.library.Library] = []


class Backend(_DummyBackendModule):
    """What torch asks of a device's module."""

    def device_count(self) -> int:
        return COUNT

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16]

    def get_rng_state(self, device: Any = None) -> torch.Tensor:
        return torch.empty(0, dtype=torch.uint8)

    def set_rng_state(self, state: torch.Tensor, device: Any = None) -> None:
        pass


class There(torch.Tensor):
    """A tensor on the accelerator, whose numbers lie on the CPU."""

    @staticmethod
    def __new__(cls, numbers: torch.Tensor, device: torch.device) -> There:
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            numbers.shape,
            strides=numbers.stride(),
            storage_offset=numbers.storage_offset(),
            dtype=numbers.dtype,
            device=device,
            requires_grad=False,
        )
        made.numbers = numbers
        return made

    def __repr__(self) -> str:
        return f"There({self.numbers}, {self.device})"

    @classmethod
    def __torch_dispatch__(cls, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch.inference_mode(False):  # a view of what lies there may go out of such a block
            return compute(op, *args, **(kwargs or {}))


def bare(x: Any) -> Any:
    """The numbers of a tensor that lies there, the CPU for any device; anything else as it is."""
    if isinstance(x, torch.device):
        return torch.device("cpu")
    return x.numbers if isinstance(x, There) else x


def compute(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Compute an operation on the CPU, and give back what lies where it would."""
    given, _ = tree_flatten((args, kwargs))
    tensors = [each for each in given if isinstance(each, torch.Tensor)]
    asked = next((each for each in given if isinstance(each, torch.device)), None)
    places = {str(each.device) for each in tensors if each.dim() or isinstance(each, There)}
    if len(places) > 1 and op.overloadpacket not in ACROSS:
        raise RuntimeError(f"{op}: expected all tensors to be on the same device, found {sorted(places)}")
    found = next((each.device for each in tensors if isinstance(each, There)), None)
    device = asked or found
    result = op(*tree_map(bare, args), **tree_map(bare, kwargs))
    known = {id(each.numbers): each for each in tensors if isinstance(each, There)}

    def back(x: Any) -> Any:
        if isinstance(x, There) or not isinstance(x, torch.Tensor) or device is None or device.type != NAME:
            return x
        return known[id(x)] if id(x) in known else There(x, device)  # known: done in place

    return tree_map(back, result)


def register() -> None:
    """Let torch know the device, once a process."""
    if not hasattr(torch, NAME):
        _setup_privateuseone_for_python_backend(NAME, backend_module=Backend())
        every = torch.library.Library("_", "IMPL")
        every.fallback(compute, "PrivateUse1")
        made = torch.library.Library("aten", "IMPL")
        for name in RESIZING:
            packet, _, overload = name.partition(".")
            op = getattr(getattr(torch.ops.aten, packet), overload or "default")
            made.impl(name, partial(compute, op), "PrivateUse1")
        _LIBRARIES.extend([every, made])


class Made(TorchFunctionMode):
    """Lets lists and arrays go to the device by way of the CPU, which torch refuses of a device in Python."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        device = kwargs.get("device")
        if function in (torch.tensor, torch.as_tensor):
            made = function(*tree_map(bare, args), **kwargs | {"device": "cpu"})
            found = getattr(args[0], "device", "cpu") if function is torch.as_tensor else "cpu"
            return made.to(found if device is None else device)
        if function is torch.Tensor.tolist and isinstance(args[0], There):
            return args[0].numbers.tolist()
        return function(*args, **kwargs)
