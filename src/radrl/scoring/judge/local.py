"""The judge `folder` as params.yaml names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from radrl.evaluation.green import CHAT_TEMPLATE
from radrl.parts.section import takes
from radrl.scoring.base import ScoringError
from radrl.scoring.judge import FolderSection, Judge

CHATS: Final[dict[str, dict[str, Any]]] = {
    "own": {"chat_template": None, "add_bos": False},
    "green": {"chat_template": CHAT_TEMPLATE, "add_bos": True},
}
"""How a local model is addressed: as its tokenizer says, or as GREEN's package addresses GREEN's model."""


@takes(FolderSection)
def folder(
    *, folder: str | Path, chat: str = "own", cache: str | Path | None = None, **settings: Any
) -> Judge:
    """A language model on this machine.

    Args:
        folder: holds the model.
        chat: a key of `CHATS`.
        cache: file of answers.
        **settings: further arguments of `radrl.scoring.judge.folder.FolderJudge`.

    Raises:
        ScoringError: for an unknown `chat`.
    """
    from radrl.scoring.judge.folder import FolderJudge

    if chat not in CHATS:
        raise ScoringError(f"unknown chat {chat!r}; valid: {', '.join(CHATS)}")
    kept = None if cache is None else Path(cache)
    return FolderJudge(Path(folder), cache=kept, **settings, **CHATS[chat])
