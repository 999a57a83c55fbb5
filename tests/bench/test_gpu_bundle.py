"""The bundle holds all that the check imports; unpacked beside torch and transformers alone, it runs."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
IMAGE = ("torch", "transformers")
"""What the machine has."""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu_bundle", ROOT / "tools/gpu_bundle/__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def needs(name: str) -> set[str]:
    """What a package here says that it needs, by name."""
    try:
        said = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return set()
    wanted = [Requirement(line) for line in said]
    return {
        canonicalize_name(own.name)
        for own in wanted
        if own.marker is None or own.marker.evaluate({"extra": ""})
    }


def with_needs(names: set[str]) -> set[str]:
    """Packages and all that these need."""
    found, left = set(), set(names)
    while left:
        name = left.pop()
        found.add(name)
        left |= needs(name) - found
    return found


def test_the_list_is_complete_and_names_nothing_of_the_image(tool: ModuleType) -> None:
    lock = dict(re.findall(r"(?m)^([\w.-]+)==([\w.]+)", (ROOT / "constraints.txt").read_text()))
    if metadata.version("datasets") != lock["datasets"]:
        pytest.skip("the bundle packs the releases of constraints.txt, which need others than those here")
    listed, there = set(tool.names()), with_needs(set(IMAGE))
    assert with_needs(listed) - there - listed == set()
    assert listed & set(IMAGE) == set()
    assert not [name for name in listed if name.startswith(("torch", "nvidia", "triton", "cuda"))]


def test_every_package_of_the_list_is_in_the_lock(tool: ModuleType) -> None:
    pinned = set(re.findall(r"(?m)^([\w.-]+)==", (ROOT / "constraints.txt").read_text()))
    assert set(tool.names()) - pinned == set()


def test_the_source_is_what_the_check_reads(tool: ModuleType, tmp_path: Path) -> None:
    tool.source(tmp_path / "radrl")
    for name in (
        "bench/gpu_check/__main__.py",
        "src/radrl/plan/throughputs.yml",
        "conf/recipes/deer-mimic_cxr.yaml",
    ):
        assert (tmp_path / "radrl" / name).is_file()


def test_copies_of_a_library_become_links_and_equal_content_packs_alike(
    tool: ModuleType, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    for name in ("lib.so", "lib.so.1", "lib.so.1.2"):
        (site / name).write_bytes(b"x" * 100)
    (site / "other.so").write_bytes(b"y" * 100)
    tool._once(site)
    assert sorted(path.name for path in site.iterdir() if path.is_symlink()) == ["lib.so.1", "lib.so.1.2"]
    assert (site / "lib.so.1.2").read_bytes() == b"x" * 100
    for name in ("one", "two"):
        os.utime(site / "other.so", (len(name), 10))
        tool.pack(site, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def beside_the_image(folder: Path) -> Path:
    """A fresh environment that sees torch, transformers and what these need of this one, and no more."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in with_needs(set(IMAGE)):
        try:
            files = metadata.files(name) or []
        except metadata.PackageNotFoundError:
            continue
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            target = site / top
            if not target.exists():
                target.symlink_to(Path(str(metadata.distribution(name).locate_file(top))))
    return folder / "bin/python"


@pytest.mark.slow
def test_the_bundle_alone_runs_the_twin(tool: ModuleType, tmp_path: Path) -> None:
    version = "{}.{}".format(*sys.version_info)
    try:
        size = tool.bundle(version, tmp_path / "radrl-gpu.tar")
    except SystemExit as error:
        if "could not fetch the wheels" not in str(error):
            raise
        pytest.skip(f"no package index: {error}")
    assert size < 60e6
    subprocess.run(["tar", "xf", "radrl-gpu.tar"], cwd=tmp_path, check=True)
    python = beside_the_image(tmp_path / "image")
    refused = subprocess.run([python, "-c", "import trl"], capture_output=True, text=True, check=False)
    assert "No module named 'trl'" in refused.stderr
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHON": str(python)}
    command = [str(tmp_path / "radrl-gpu/run.sh"), "--twin"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads((tmp_path / "radrl-gpu/gpu_check.json").read_text())
    assert {part["state"] for part in found["parts"].values()} == {"done"}
    assert "This is the CPU twin" in (tmp_path / "radrl-gpu/gpu.md").read_text()


def test_another_python_is_refused_with_the_mend(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text((ROOT / "tools/gpu_bundle/run.sh").read_text())
    (tmp_path / "PYTHON_VERSION").write_text("3.99\n")
    ended = subprocess.run(
        ["bash", str(tmp_path / "run.sh")],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "made for 3.99: name one by PYTHON=" in ended.stderr
