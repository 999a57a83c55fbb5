"""What the comparison page is told of its run: commit, machine, releases and minutes, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kedro_repro.cpu_seconds import minutes
from radrl.pages.numbers import spans
from radrl.pages.page import environment
from radrl.pipelines.stages import LAST
from radrl.storage.origins import Origin

UNKNOWN: Final = "not recorded"

FACTS, TRAINING = "run", "run-training"
"""Elements of the page that the notes take the place of."""

_FACTS: Final = """\
{% for what, said in facts.items() %}
<div class="made"><dt>{{ what }}</dt><dd>{{ said }}</dd></div>
{% endfor %}"""

_TRAINING: Final = """\
<div class="scroll" tabindex="0" role="region" aria-label="What training took on this machine"><table>
<thead><tr><th scope="col">Arm</th><th scope="col">Minutes</th><th scope="col">CPU minutes</th>\
<th scope="col">Commit</th></tr></thead>
<tbody>
{% for cells in rows %}
<tr><th scope="row">{{ cells[0] }}</th>{% for cell in cells[1:] %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>"""


def slots(
    arms: Mapping[str, Any], cpu_seconds: Mapping[str, float], origins: Mapping[str, Origin]
) -> dict[str, str]:
    """What takes the place of the page's elements.

    Args:
        arms: the section `arms`.
        cpu_seconds: by stage before the comparison, as far as it was noted.
        origins: by stage likewise, and that of the comparison itself.

    Returns:
        HTML by the element's id, of `radrl.pages.run_notes.write`.
    """
    trained = [arm for arm, own in arms.items() if own.get("reward")]
    return {
        FACTS: _render(_FACTS, facts=facts(trained, cpu_seconds, origins)),
        TRAINING: _render(_TRAINING, rows=rows(trained, cpu_seconds, origins)),
    }


def facts(
    trained: Sequence[str], cpu_seconds: Mapping[str, float], origins: Mapping[str, Origin]
) -> dict[str, str]:
    """The lines of the header.

    Args:
        trained: names of the arms that train.
        cpu_seconds: by stage before the comparison.
        origins: by stage.

    Returns:
        By what they are, in words.
    """
    here = origins.get(LAST)
    known = [origins.get(f"train@{arm}") for arm in trained]
    took = [origin.minutes for origin in known if origin and origin.minutes is not None]
    told = {
        "Commit": said(here.commit) if here else UNKNOWN,
        "Releases": ", ".join(f"{name} {own}" for name, own in here.releases.items()) if here else UNKNOWN,
        "Machine": here.machine if here else UNKNOWN,
        "CPU minutes of the stages before this page, when each last ran here": cost(cpu_seconds),
    }
    if trained:
        told |= {
            "Arms trained at": listed(said(origin.commit) if origin else "" for origin in known),
            "Arms trained on": listed(origin.machine if origin else "" for origin in known),
            "Wall time of an arm’s training": f"{spans(took, '.1f')} minutes" if took else UNKNOWN,
        }
    return told


def rows(
    trained: Sequence[str], cpu_seconds: Mapping[str, float], origins: Mapping[str, Origin]
) -> list[list[str]]:
    """What each training took here: arm, minutes, CPU minutes and commit.

    Args:
        trained: names of the arms that train.
        cpu_seconds: by stage before the comparison.
        origins: by stage.
    """
    found = []
    for arm in trained:
        origin, cpu = origins.get(f"train@{arm}"), cpu_seconds.get(f"train@{arm}")
        clock = origin.minutes if origin else None
        numbers = [clock, None if cpu is None else cpu / 60]
        commit = said(origin.commit) if origin else UNKNOWN
        found.append([arm, *(UNKNOWN if own is None else f"{own:.1f}" for own in numbers), commit])
    return found


def cost(cpu_seconds: Mapping[str, float]) -> str:
    """CPU minutes in all and by group of stages, the most first.

    Example:
        >>> cost({"label": 30.0, "train@deer": 60.0, "train@grpo": 90.0})
        '3.0: train 2.5, label 0.5'
    """
    groups = minutes(cpu_seconds)
    parts = ", ".join(f"{stage} {own:.1f}" for stage, own in groups.items())
    return f"{sum(groups.values()):.1f}: {parts}" if groups else UNKNOWN


def said(commit: str) -> str:
    """A commit in words.

    Args:
        commit: of `radrl.storage.origins.Origin`.

    Example:
        >>> said("7fc27e5886+"), said("")
        ('7fc27e5886 with changes', 'not recorded')
    """
    return f"{commit.removesuffix('+')} with changes" if commit.endswith("+") else commit or UNKNOWN


def listed(values: Iterable[str]) -> str:
    """Each value once, in order; what is empty as `UNKNOWN`.

    Example:
        >>> listed(["a", "a", ""])
        'a; not recorded'
    """
    return "; ".join(dict.fromkeys(value or UNKNOWN for value in values))


def _render(template: str, **values: Any) -> str:
    return environment().from_string(template).render(**values)
