"""What radrl says to `kedro_repro` of itself, beside its table in pyproject.toml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kedro_repro.params_values import PARAMS_FILE
from kedro_repro.project import NamedCode, Project
from radrl.parts.builtin import BUILTIN
from radrl.wiring.stage_parts import named_parts


class RadrlProject(Project):
    """Parts are named in params.yaml, by a short name or an import path."""

    def named_code(self, stage: str, params: Mapping[str, Any], key: str | None = None) -> list[NamedCode]:
        """The modules of the parts that a stage works with.

        Raises:
            radrl.parts.find.PartError: when a part cannot be found.
        """
        return [
            NamedCode(part.module, f"{part.kind.name} {part.path} {part.kind.arguments} {part.kind.method}")
            for part in named_parts(stage, params, key)
        ]

    def asked_by_name(self) -> Iterable[str]:
        """The modules of all built-in parts: `radrl.rewards.get` and its like take any of their names."""
        return [path.partition(":")[0] for own in BUILTIN.values() for path in own.values()]

    def may_fork(self, params: Mapping[str, Any]) -> bool:
        """A process that has touched an accelerator must not be forked."""
        return params.get("device") == "cpu"

    def values(self, text: str) -> Mapping[str, Any]:
        """params.yaml as `radrl.settings` hands it to Kedro: paths below the user's home in full."""
        from radrl.wiring import params_file

        return params_file.values(text, self.root / PARAMS_FILE)
