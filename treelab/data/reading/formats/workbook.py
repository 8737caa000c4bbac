"""Read a sheet of a workbook: Excel's formats and OpenDocument's."""

from treelab.data.reading.formats.guarded import run_guarded
from treelab.data.reading.formats.zipped import check_parts
from treelab.trees.cells import TYPED


def sheet_text(
    content: bytes, name: str, sheet: str | None, header: int | None, known: list[str]
) -> tuple[bytes, int | None, list[str]]:
    """Return a sheet as CSV text, whether its first line is a header, and notes.

    Cells become text as a person would write it, dates as 2019-07-31, so that the
    reader of text reads them by the rules that hold for a CSV file.

    None takes the only ``sheet`` that is filled. The ``header`` is the row that names
    the columns, from 1; 0 if none does, None finds it: of the ``known`` columns of
    another table that this one is read as, it names most.

    Raises
    ------
    ChoiceError
        If several sheets are filled and none was chosen.
    TableError
        If the workbook is damaged, empty, protected, or unpacks to too much.
    """
    if content[:2] == b"PK":
        check_parts(content, name)
    about, text = run_guarded(
        *("sheet_process", content, name),
        sheet=sheet,
        header=header,
        known=known,
        mark=TYPED,
    )
    notes = about["notes"]
    if about["n_sheets"] > 1:
        notes = [f"The sheet {about['sheet']!r} was read.", *notes]
    return text, about["header"], notes
