"""A recipe as the schema reads it."""

from __future__ import annotations

from pathlib import Path

from radrl.doctor.findings import Finding
from radrl.params.base import ParamsError
from radrl.params.schema import Params, read


def settings(recipe: Path) -> tuple[Params | None, Finding]:
    """Read a recipe, and say whether it is valid.

    Args:
        recipe: params.yaml or another file of its form.

    Returns:
        The parameters, nothing where the schema refuses them; and what it says.
    """
    try:
        params = read(recipe)
    except (ParamsError, FileNotFoundError) as error:
        return None, Finding("parameters", str(error), "lacking", "every stage", f"mend {recipe.name}")
    arms = ", ".join(params.arms)
    return params, Finding(
        "parameters", f"valid; source {params.ingest.source}, device {params.device}, arms {arms}"
    )
