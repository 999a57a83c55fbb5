"""Packs what a GPU check needs where there is no network: source, films, and the wheels that an image lacks.

    make gpu-bundle                              # build/radrl-gpu.tar, for Python 3.12 on Linux x86_64
    python tools/gpu_bundle --python 3.11 --out build/gpu.tar
    tar xf radrl-gpu.tar && radrl-gpu/run.sh     # there

The image needs Python, torch and transformers. Wheels are of the releases in constraints.txt, fetched by pip,
unpacked, without what no check imports (tests, headers, Arrow's servers), and packed again with xz: as wheels
they would be twice as large. Source is git's HEAD. Films are drawn here, since drawing wants scipy.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from zipfile import ZipFile

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
NAME: Final = "radrl-gpu"
MOST: Final = 60
"""MB of a bundle: what fits through most gateways of closed networks."""
SOURCE: Final = ("src", "bench", "conf", "params.yaml", "pyproject.toml", "constraints.txt", "LICENSE")
FILMS: Final = {112: 64, 448: 48}
"""How many, by size in pixels: of the twin and the small trainings, and of the real shape."""
PLATFORMS: Final = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_24", "manylinux_2_17", "manylinux2014")
OLDER: Final = ("manylinux_2_12", "manylinux2010")
UNUSED: Final = (  # Arrow's own libraries link to its substrait, which stays
    "pandas/tests",
    "pyarrow/tests",
    "pyarrow/include",
    "pyarrow/src",
    "pyarrow/*flight*",
)


def names() -> list[str]:
    """The packages of wheels.txt."""
    lines = (HERE / "wheels.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def fetch(python: str, into: Path) -> list[Path]:
    """Wheels of the lock's releases for a Python.

    Raises:
        SystemExit: with what pip said, when one of them cannot be had.
    """
    platforms = [f"{one}_x86_64" for one in (*PLATFORMS, *OLDER)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--python-version", python, "--implementation", "cp", "--dest", str(into)]
    command += [word for one in platforms for word in ("--platform", one)]
    ended = subprocess.run(
        [*command, "-c", str(ROOT / "constraints.txt"), *names()], capture_output=True, text=True, check=False
    )
    if ended.returncode:
        sys.exit(f"pip could not fetch the wheels:\n{ended.stderr.strip()}")
    return sorted(into.glob("*.whl"))


def unpack(wheels: Sequence[Path], site: Path) -> None:
    """Lay wheels out as an installation has them, without what is not used."""
    for wheel in wheels:
        with ZipFile(wheel) as packed:
            packed.extractall(site)
    for pattern in UNUSED:
        for path in site.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    _once(site)


def _once(site: Path) -> None:
    """Turn copies of a shared library, which wheels hold for want of links, into links."""
    first: dict[tuple[Path, int, bytes], Path] = {}
    for path in sorted(site.rglob("*.so*")):
        known = first.setdefault((path.parent, path.stat().st_size, path.read_bytes()), path)
        if known != path:
            path.unlink()
            path.symlink_to(known.name)


def source(into: Path) -> None:
    """What is committed, as far as the check reads it."""
    into.mkdir()
    archive = subprocess.run(
        ["git", "archive", "HEAD", *SOURCE], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tempfile.TemporaryFile() as stream:
        stream.write(archive)
        stream.seek(0)
        with tarfile.open(fileobj=stream) as packed:
            packed.extractall(into, filter="data")


def draw(into: Path) -> None:
    """Films and reports, for `grpo_steps.policies.records`."""
    sys.path.insert(0, str(ROOT / "bench"))
    from grpo_steps import policies

    into.mkdir()
    for size, films in FILMS.items():
        policies.carry(into / f"{size}.npz", size, films)


def pack(content: Path, file: Path) -> None:
    """A tar that is the same for the same content, whoever packs it when."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(file, "w:xz", preset=6) as packed:
        for path in _sorted(content):
            packed.add(path, path.relative_to(content), recursive=False, filter=plain)


def _sorted(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts)


def bundle(python: str, out: Path) -> int:
    """Make a bundle.

    Args:
        python: the image's, such as 3.12.
        out: the file.

    Returns:
        Its bytes.

    Raises:
        SystemExit: when wheels cannot be had, or it is larger than `MOST`.
    """
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        content, packed, wheels = work / "content", work / NAME, work / "wheels"
        for own in (content, packed, wheels):
            own.mkdir()
        # dill tells packages from people's own modules by this name
        unpack(fetch(python, wheels), content / "site-packages")
        source(content / "radrl")
        draw(content / "radrl/bench/grpo_steps/carried")
        pack(content, packed / "content.tar.xz")
        (packed / "PYTHON_VERSION").write_text(f"{python}\n")
        shutil.copy2(HERE / "run.sh", packed / "run.sh")
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = out.with_name(f".{out.name}.partial")
        with tarfile.open(partial, "w") as whole:
            whole.add(packed, NAME)
        size = partial.stat().st_size
        if size > MOST * 10**6:
            partial.unlink()
            sys.exit(f"the bundle has {size / 1e6:.1f} MB, more than {MOST}: see tools/gpu_bundle/wheels.txt")
        partial.replace(out)
    return size


def main() -> None:
    """Make it and say how large it is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default="3.12", help="the image's")
    parser.add_argument("--out", type=Path, default=ROOT / f"build/{NAME}.tar")
    own = parser.parse_args()
    size = bundle(own.python, own.out)
    print(f"{own.out}: {size / 1e6:.1f} MB; there: tar xf {own.out.name} && {NAME}/run.sh")


if __name__ == "__main__":
    main()
