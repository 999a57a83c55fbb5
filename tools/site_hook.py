"""What mkdocs asks while it builds the site: pages made from the code, and links that work in the repository.

The README is the home page. Links in all pages are written as they stand in the repository; here they are
turned to where the pages are in the site.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from typing import Any

from docsite import commands, house, long_pages, modules, parameters, stages
from docsite.made import ROOT, Made
from markdown.extensions.toc import slugify

OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "data/06_models/radrl-tiny/README.md": "radrl-tiny.md",
}
"""Pages of the repository that stand outside docs/, with their places in the site."""
FILLED = {"house": house.svg, "rooms": house.rooms, "stages": stages.stages}
"""What stands in a page for `<!-- made: NAME -->`."""

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
_HEADING = re.compile(r"(?m)^#+ (.+)$")
_MADE = re.compile(r"<!-- made: (\w+) -->")


@cache
def groups() -> dict[str, list[Made]]:
    """Pages that are made, by what the navigation in mkdocs.yml calls them."""
    found = {
        parameters.FOLDER: parameters.pages(),
        modules.FOLDER: modules.pages(),
        commands.COMMANDS: commands.pages(),
        commands.PARTS: commands.parts(),
    }
    for path in sorted((ROOT / "docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        if long_pages.size(text) >= long_pages.LIMIT:
            name = path.relative_to(ROOT / "docs").as_posix()
            found[name] = long_pages.pages(name, text)
    return found


def navigation(entries: list[Any]) -> list[Any]:
    """mkdocs.yml's navigation with the pages of each group in the group's place."""
    return [new for entry in entries for new in _entry(entry)]


def _entry(entry: Any) -> list[Any]:
    title, inside = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
    if isinstance(inside, list):
        return [{title: navigation(inside)}]
    if inside not in groups():
        return [entry]
    pages = groups()[inside]
    if len(pages) < 2:
        return [{title: page.path} for page in pages]
    return [{title: [{page.title: page.path} for page in pages]}]


def pages() -> dict[str, str]:
    """Markdown of the pages that do not stand in docs/ as they are, by path in the site."""
    found = {place: (ROOT / path).read_text(encoding="utf-8") for path, place in OUTSIDE.items()}
    return found | {page.path: page.text for made in groups().values() for page in made}


def with_site_links(text: str, page: str) -> str:
    """A page's Markdown with its links as the site has them.

    Args:
        text: with links as they stand in the repository.
        page: its path in the site.
    """
    written = _written(page)
    return _LINK.sub(lambda found: _link(found, written, page), text)


def _written(page: str) -> str:
    """The file of the repository that a page of the site is made of; a long one is cut into several pages."""
    outside = (path for path, place in OUTSIDE.items() if place == page)
    cut = (name for name, made in groups().items() if page in [part.path for part in made])
    return next(outside, None) or f"docs/{next((name for name in cut if name.endswith('.md')), page)}"


def _link(found: re.Match[str], written: str, page: str) -> str:
    mark, label, target, anchor = found.groups(default="")
    if ":" in target or not (target or anchor):
        return found[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(written), target)) if target else written
    place = OUTSIDE.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
    if place is None:  # a file of the repository that is no page
        return label
    place = _part(place, anchor)
    if place == page and not target:
        return found[0]
    return f"{mark}[{label}]({posixpath.relpath(place, posixpath.dirname(page) or '.')}{anchor})"


def _part(place: str, anchor: str) -> str:
    """The page on which a heading stands, of those into which a long one is cut."""
    for made in groups().get(place, []):
        if any(f"#{slugify(title, '-')}" == anchor for title in _HEADING.findall(made.text)):
            return made.path
    return place


def on_config(config: Any) -> Any:
    """Put the pages that are made into the navigation."""
    config.nav = navigation(config.nav)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        if old := files.get_file_from_path(path):
            files.remove(old)
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Fill in what is drawn, and turn the links."""
    filled = _MADE.sub(lambda found: FILLED[found[1]](), markdown)
    return with_site_links(filled, page.file.src_uri)
