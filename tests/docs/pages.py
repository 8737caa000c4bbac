"""The pages of the book, and what is found in their Markdown."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\((?!https?:)([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def name_of(page: Path) -> str:
    """A page's path from the root, as a test is called."""
    return page.relative_to(ROOT).as_posix()


def without_code(text: str) -> str:
    """Text whose fenced blocks are gone."""
    return FENCE.sub("", text)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site's builder write them."""
    plain = [re.sub(r"[`*]|\]\([^)]*\)|\[", "", h) for h in HEADING.findall(text)]
    kept = [re.sub(r"[^\w\s-]", "", words.lower()).strip() for words in plain]
    return {re.sub(r"[\s-]+", "-", words) for words in kept}
