"""Small books of Excel and OpenDocument, written by hand, so that they can hold any trap."""

import io
import zipfile

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
STYLES = ("General", "yyyy-mm-dd", "hh:mm", "[h]:mm:ss", "0%", '#,##0.00 "€"')
SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "table", "text", "style")
) + (' xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"')
ODS = "application/vnd.oasis.opendocument.spreadsheet"


def zipped(parts):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number, (name, text) in enumerate(parts.items()):
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED if number else zipfile.ZIP_STORED
            archive.writestr(info, text)
    return file.getvalue()


def row(number, *cells, style=""):
    """Return a row of texts, numbers, or pieces of XML that begin with `<`; None is no cell."""
    made = []
    for column, cell in enumerate(cells):
        ref = f'r="{chr(ord("A") + column)}{number}"'
        if isinstance(cell, str) and cell.startswith("<"):
            made.append(cell.replace("<c", f"<c {ref}", 1))
        elif isinstance(cell, str):
            made.append(f'<c {ref} t="inlineStr"><is><t>{cell}</t></is></c>')
        elif cell is not None:
            made.append(f"<c {ref}{style}><v>{cell}</v></c>")
    return f'<row r="{number}">{"".join(made)}</row>'


def sheet(*rows, more=""):
    """Return the XML of a sheet; `more` follows its cells."""
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(rows)}</sheetData>{more}</worksheet>'


def xlsx(*sheets, names=None, states=(), settings=""):
    names = names or [f"S{number}" for number in range(1, len(sheets) + 1)]
    listed = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"'
        f"{f' state={chr(34)}{states[n]}{chr(34)}' if n < len(states) and states[n] else ''}/>"
        for n, name in enumerate(names)
    )
    related = "".join(
        f'<Relationship Id="r{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(len(sheets))
    )
    codes = "".join(
        f'<numFmt numFmtId="{200 + n}" formatCode="{code.replace(chr(34), "&quot;")}"/>'
        for n, code in enumerate(STYLES)
    )
    styles = "".join(f'<xf numFmtId="{200 + n}"/>' for n in range(len(STYLES)))
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": f'<Relationships xmlns="{PACKAGE}"><Relationship Id="a" '
            f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">{settings}<sheets>{listed}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">{related}'
            f'<Relationship Id="s" Type="{OFFICE}/styles" Target="/xl/styles.xml"/>'
            "</Relationships>",
            "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><numFmts>{codes}</numFmts><cellXfs>{styles}</cellXfs></styleSheet>',
            **{f"xl/worksheets/sheet{n}.xml": text for n, text in enumerate(sheets)},
        }
    )


def ods_row(cells, attributes=""):
    if cells.startswith("<table:table-row"):
        return cells
    return f"<table:table-row{attributes}>{cells}</table:table-row>"


def ods(*rows, name="S1", styles="", more=""):
    return zipped(
        {
            "mimetype": ODS,
            "content.xml": f"<office:document-content {SPACES}>"
            f"<office:automatic-styles>{styles}</office:automatic-styles><office:body>"
            f'<office:spreadsheet><table:table table:name="{name}">'
            + "".join(map(ods_row, rows))
            + f"</table:table>{more}</office:spreadsheet></office:body></office:document-content>",
        }
    )


def ods_text(*texts, attributes=""):
    return "".join(
        f'<table:table-cell office:value-type="string"{attributes}><text:p>{text}</text:p></table:table-cell>'
        for text in texts
    )


def ods_number(number, attributes=""):
    return f'<table:table-cell office:value-type="float" office:value="{number}"{attributes}/>'
