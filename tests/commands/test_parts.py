"""`radrl parts`: every part with its parameters, from the one table."""

from __future__ import annotations

import pytest

from radrl.parts.builtin import BUILTIN


@pytest.mark.parametrize("kind", ["reward", "credit", "selection", "source", "metric", "labeler"])
def test_a_kind_lists_all_its_parts_with_where_they_are(radrl, kind):
    said = radrl("parts", kind).stdout
    assert said.startswith(f"{kind}  (")
    for name, path in BUILTIN[kind].items():
        assert f"  {name}  " in said
        assert path in said


def test_parameters_have_type_bound_and_default(radrl):
    said = radrl("parts", "reward").stdout
    assert "margin: float > -1 < 1, required" in said
    assert "missing: raise | skip = raise, of every reward" in said


def test_without_a_kind_all_are_listed(radrl):
    said = radrl("parts").stdout
    assert all(path in said for own in BUILTIN.values() for path in own.values())


def test_the_page_has_a_heading_a_kind(radrl):
    page = radrl("parts", "--markdown").stdout
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        f"## {kind}" for kind in BUILTIN
    ]
    assert all(f"radrl.rewards.{name}" in page for name in ("ce_f1", "mccs", "facts"))


def test_a_kind_that_is_none_is_refused(radrl):
    result = radrl("parts", "rewrad")
    assert result.exit_code == 2
    assert "'rewrad' is not one of" in result.stderr
