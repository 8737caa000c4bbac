"""Workbooks, written by hand, as small as they can be."""

import datetime
import io
import struct
import zipfile
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
STYLES = (
    f'<styleSheet xmlns="{MAIN}"><cellXfs count="2"><xf numFmtId="0"/>'
    '<xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>'
)


def zipped(**parts: str | bytes) -> bytes:
    """A zip archive; "__" in a part's name is a slash, "_0_" a point."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part.replace("__", "/").replace("_0_", "."), content)
    return file.getvalue()


def cell_xml(value, place: str) -> str:
    """A cell: text in it, a date, true or false, or a number."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, datetime.date):
        days = (value - datetime.date(1899, 12, 30)).days
        return f'<c r="{place}" s="1"><v>{days}</v></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def sheet_xml(rows: list[list], merges: tuple[str, ...] = ()) -> str:
    """A sheet with some rows of cells and merged ranges such as "A1:B1"."""
    lines = "".join(
        f'<row r="{i}">'
        + "".join(cell_xml(v, f"{chr(65 + j)}{i}") for j, v in enumerate(row))
        + "</row>"
        for i, row in enumerate(rows, start=1)
    )
    merged = "".join(f'<mergeCell ref="{ref}"/>' for ref in merges)
    merged = f"<mergeCells>{merged}</mergeCells>" if merged else ""
    data = f"<sheetData>{lines}</sheetData>{merged}"
    return f'<worksheet xmlns="{MAIN}">{data}</worksheet>'


def xlsx(**sheets: str) -> bytes:
    """A workbook of sheets in XML, by their names."""
    listed = "".join(
        f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"/>'
        for i, name in enumerate(sheets, start=1)
    )
    book = f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}"><sheets>{listed}</sheets>'
    links = "".join(
        f'<Relationship Id="r{i}" Type="{LINKS}/worksheet" '
        f'Target="worksheets/s{i}.xml"/>'
        for i in range(1, len(sheets) + 1)
    )
    pages = {
        f"xl__worksheets__s{i}_0_xml": text
        for i, text in enumerate(sheets.values(), start=1)
    }
    return zipped(
        **{
            "[Content_Types]_0_xml": f'<Types xmlns="{PACKAGE}/content-types"/>',
            "_rels___0_rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
            f'<Relationship Id="b" Type="{LINKS}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
            "xl__workbook_0_xml": book + "</workbook>",
            "xl___rels__workbook_0_xml_0_rels": "<Relationships "
            f'xmlns="{PACKAGE}/relationships">{links}</Relationships>',
            "xl__styles_0_xml": STYLES,
            **pages,
        }
    )


def xlsb(rows: list[list]) -> bytes:
    """A binary workbook of one sheet, with texts and numbers; "=" is an error."""

    def record(kind: int, body: bytes = b"") -> bytes:
        number = [kind] if kind < 128 else [kind & 0xFF, kind >> 8]
        return bytes([*number, len(body)]) + body

    def wide(text: str) -> bytes:
        return struct.pack("<I", len(text)) + text.encode("utf-16-le")

    def cell(place: int, value) -> bytes:
        at = struct.pack("<II", place, 0)
        if value == "=":
            return record(3, at + b"\x07")  # #DIV/0!
        if isinstance(value, str):
            return record(6, at + wide(value))
        return record(5, at + struct.pack("<d", value))

    lines = b"".join(
        record(0, struct.pack("<IIHHB", i, 0, 300, 0, 0) + bytes(4))
        + b"".join(cell(j, value) for j, value in enumerate(row))
        for i, row in enumerate(rows)
    )
    size = struct.pack("<4I", 0, len(rows) - 1, 0, len(rows[0]) - 1)
    sheet = record(0x0194, size) + record(0x0191) + lines + record(0x0192)
    named = struct.pack("<II", 0, 1) + wide("r1") + wide("A")
    links = (
        f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{LINKS}/worksheet" Target="worksheets/s1.bin"/></Relationships>'
    )
    return zipped(
        xl__workbook_0_bin=record(0x0199, bytes(12))
        + record(0x019C, named)
        + record(0x0190)
        + record(0x019D, bytes(26)),
        xl___rels__workbook_0_bin_0_rels=links,
        xl__worksheets__s1_0_bin=sheet,
    )


def duration(given: datetime.timedelta) -> str:
    """A duration in whole minutes, as OpenDocument has it."""
    minutes = round(abs(given).total_seconds() / 60)
    sign = "-" if given < datetime.timedelta() else ""
    return f"{sign}PT{minutes // 60:02d}H{minutes % 60:02d}M00S"


def ods(rows: list[list], merged: dict | None = None) -> bytes:
    """An OpenDocument workbook of texts, numbers and durations; "=" is an error.

    Merged texts have rows and columns of their cells, the covered ones of which are
    None.
    """
    spans = {
        text: f' table:number-rows-spanned="{down}" '
        f'table:number-columns-spanned="{across}"'
        for text, (down, across) in (merged or {}).items()
    }
    kind = "urn:oasis:names:tc:opendocument:xmlns:"
    lines = "".join(
        "<table:table-row>"
        + "".join(
            '<table:table-cell office:value-type="float" office:value="0" '
            'table:formula="of:=1/0"><text:p>#DIV/0!</text:p></table:table-cell>'
            if v == "="
            else f'<table:table-cell office:value-type="string"{spans.get(v, "")}>'
            f"<text:p>{v}</text:p></table:table-cell>"
            if isinstance(v, str)
            else f'<table:table-cell office:value-type="time" office:time-value='
            f'"{duration(v)}"><text:p>at</text:p></table:table-cell>'
            if isinstance(v, datetime.timedelta)
            else "<table:covered-table-cell/>"
            if v is None
            else f'<table:table-cell office:value-type="float" office:value="{v}"/>'
            for v in row
        )
        + "</table:table-row>"
        for row in rows
    )
    return zipped(
        mimetype="application/vnd.oasis.opendocument.spreadsheet",
        content_0_xml=f'<office:document-content xmlns:office="{kind}office:1.0" '
        f'xmlns:table="{kind}table:1.0" xmlns:text="{kind}text:1.0"><office:body>'
        f'<office:spreadsheet><table:table table:name="A">{lines}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>",
        **{"META-INF__manifest_0_xml": f'<m:manifest xmlns:m="{kind}manifest:1.0"/>'},
    )
