"""A document as sections of paragraphs, lists and tables, in HTML and in Markdown.

What both say is the same by construction; names out of a table break neither.
"""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$])")


@dataclass(frozen=True)
class Paragraph:
    """Sentences; ``strong`` where they are what was found."""

    text: str
    strong: bool = False


@dataclass(frozen=True)
class Bullets:
    """Sentences, one an item; ``numbered`` where their order counts."""

    items: Sequence[str]
    numbered: bool = False


@dataclass(frozen=True)
class Table:
    """Cells as text; the first column names the row.

    With a ``summary`` HTML folds it under these words.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    summary: str = ""


@dataclass(frozen=True)
class Subtitle:
    """A heading within a section."""

    text: str


@dataclass(frozen=True)
class Picture:
    """HTML that Markdown leaves out."""

    html: str


Block = Paragraph | Bullets | Table | Subtitle | Picture


@dataclass(frozen=True)
class Section:
    """A heading, and what stands below it."""

    title: str
    blocks: list[Block] = field(default_factory=list)


def to_html(sections: Iterable[Section]) -> str:
    """Return the sections as HTML, each heading an ``h2``."""
    parts = []
    for section in sections:
        parts.append(f"<section><h2>{_text(section.title)}</h2>")
        parts += [_html_block(block) for block in section.blocks]
        parts.append("</section>")
    return "\n".join(parts) + "\n"


def to_markdown(sections: Iterable[Section]) -> str:
    """Return the sections as Markdown, without pictures."""
    parts = []
    for section in sections:
        parts.append(f"## {_plain(section.title)}")
        parts += [_markdown_block(block) for block in section.blocks]
    return "\n\n".join(part for part in parts if part) + "\n"


def _html_block(block: Block) -> str:
    """Return one block as HTML."""
    if isinstance(block, Picture):
        return block.html
    if isinstance(block, Subtitle):
        return f"<h3>{_text(block.text)}</h3>"
    if isinstance(block, Paragraph):
        kind = ' class="found"' if block.strong else ""
        return f"<p{kind}>{_text(block.text)}</p>"
    if isinstance(block, Bullets):
        name = "ol" if block.numbered else "ul"
        items = "".join(f"<li>{_text(item)}</li>" for item in block.items)
        return f"<{name}>{items}</{name}>"
    head = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in block.head)
    rows = "".join(
        f'<tr><th scope="row">{_text(first)}</th>'
        + "".join(f"<td>{_text(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in block.rows
    )
    # A wide table scrolls in its own frame, which a keyboard reaches.
    table = (
        '<div class="wide" tabindex="0" role="group" aria-label="table"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
    if not block.summary:
        return table
    return f"<details><summary>{_text(block.summary)}</summary>{table}</details>"


def _markdown_block(block: Block) -> str:
    """Return one block as Markdown."""
    if isinstance(block, Picture):
        return ""
    if isinstance(block, Subtitle):
        return f"### {_plain(block.text)}"
    if isinstance(block, Paragraph):
        return f"**{_plain(block.text)}**" if block.strong else _plain(block.text)
    if isinstance(block, Bullets):
        marks = [
            f"{n}." if block.numbered else "-" for n in range(1, 1 + len(block.items))
        ]
        return "\n".join(f"{m} {_plain(item)}" for m, item in zip(marks, block.items))
    lines = [block.head, ["---"] * len(block.head), *block.rows]
    plain = [
        [cell if row is lines[1] else _plain(cell) for cell in row] for row in lines
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in plain)


def _text(text: str) -> str:
    """Escape text for HTML."""
    return html.escape(text)


def _plain(text: str) -> str:
    """Return text on one line that Markdown shows as it stands."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
