"""The judge that params.yaml names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from radrl.evaluation.green import CHAT_TEMPLATE
from radrl.scoring.base import ScoringError
from radrl.scoring.judge.base import Judge

CHATS: Final[dict[str, dict[str, Any]]] = {
    "own": {"chat_template": None, "add_bos": False},
    "green": {"chat_template": CHAT_TEMPLATE, "add_bos": True},
}
"""How a local model is addressed: as its tokenizer says, or as GREEN's package addresses GREEN's model."""


def build(settings: Mapping[str, Any]) -> Judge:
    """Build a judge.

    Args:
        settings: `backend`, which is ``endpoint`` or ``folder``, and the arguments of `EndpointJudge` or
            `FolderJudge`; for a folder `chat`, a key of `CHATS`, stands for the two that frame a prompt.

    Returns:
        The judge; nothing is sent or loaded yet.

    Raises:
        ScoringError: for an unknown backend or chat, or when the judge refuses its settings.
    """
    own = dict(settings)
    backend = own.pop("backend", None)
    if own.get("cache") is not None:
        own["cache"] = Path(own["cache"])
    if backend == "endpoint":
        from radrl.scoring.judge.endpoint import EndpointJudge

        return EndpointJudge(**own)
    if backend == "folder":
        from radrl.scoring.judge.folder import FolderJudge

        chat = own.pop("chat", "own")
        if chat not in CHATS:
            raise ScoringError(f"unknown chat {chat!r}; valid: {', '.join(CHATS)}")
        return FolderJudge(Path(own.pop("folder")), **own, **CHATS[chat])
    raise ScoringError(f"unknown backend {backend!r} of a judge; valid: endpoint, folder")
