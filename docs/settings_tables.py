"""Write the table of settings on each learner's page, from where settings are declared.

python docs/settings_tables.py          # after a setting has changed
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
START, END = "<!-- settings -->\n", "<!-- end of settings -->\n"
KEYS = ("cart", "optimal", "gradtree", "grande", "get", "argmin")


def written(value) -> str:
    """A value as Python writes it, in code; a mapping or a tuple too."""
    return f"`{value!r}`"


def settings_table(spec) -> str:
    """A learner's settings as Markdown, with the paper's values where they differ."""
    paper = spec.paper_settings
    heads = [
        "setting",
        "default",
        *(["paper"] if paper else []),
        "values",
        "what it is",
    ]
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    names = [one.name for one in spec.settings]
    for one in spec.settings:
        of = "numbers" if one.tasks == ("regression",) else "classes"
        own = f", of {of}" * (names.count(one.name) > 1)
        cells = [f"`{one.name}`{own}", written(one.default)]
        if paper:
            cells += [written(paper[one.name]) if one.name in paper else ""]
        about = one.help.replace("|", "\\|").replace("<", "&lt;")
        lines.append(f"| {' | '.join([*cells, one.allowed(), about])} |")
    return "\n".join(lines) + "\n"


def with_table(text: str, spec) -> str:
    """A page's text with the table of settings as it should be."""
    before, rest = text.split(START)
    return (
        before + START + "\n" + settings_table(spec) + "\n" + END + rest.split(END)[1]
    )


def main() -> None:
    """Write the tables of all pages."""
    sys.path.insert(0, str(HERE.parent))
    from treelab.learners.registry import find_spec

    for key in KEYS:
        page = HERE / "learners" / f"{key}.md"
        page.write_text(with_table(page.read_text("utf-8"), find_spec(key)), "utf-8")


if __name__ == "__main__":
    main()
