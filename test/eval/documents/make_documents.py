"""Write 200 documents with known text: make_documents.py DIRECTORY

Each line of DIRECTORY/manifest.jsonl describes one file: `file` and `strings` (texts that a reader must find, in the order
of the document). A PDF also has `repeated` (a line that is at the head of each page), `pages` (their number), and
`hyphenated` (words that the document divides at line ends).
The texts are the same in every run. The formats are written by libraries other than those of the product.
"""

import json
import pathlib
import random
import sys
from email.message import EmailMessage

import docx
import dominate
import nbformat
import openpyxl
import pptx
from dominate import tags
from ebooklib import epub
from hwp_converter_ai import HwpWriter
from hwpx import HwpxDocument
from mdutils.mdutils import MdUtils
from odf import opendocument, table, text as odf_text
from PyRTF import Elements as rtf
from PyRTF.document.paragraph import Cell, Paragraph, Table
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen import canvas

COUNTS = {
    **{"pdf": 60, "docx": 30, "xlsx": 18, "pptx": 14, "odt": 10, "ods": 8, "epub": 10, "eml": 8, "csv": 5},
    **{"html": 9, "md": 8, "rtf": 6, "ipynb": 6, "hwpx": 5, "hwp": 3},
}
SUBJECTS = "harbour lighthouse ferry pump turbine bearing invoice warranty contract payroll archive laboratory".split()
VERBS = "inspects repairs records replaces measures orders signs cleans moves compares stores checks".split()
OBJECTS = "the valves|all documents|every cable|the old engine|two samples|the report|its results|the new permit".split("|")
PLACES = "in the north hall|before winter|at the second gate|on Monday|after the audit|near the river".split("|")
KOREAN_SUBJECTS = "등대지기가 연구원이 항해사가 관리자가 기술자가 변호사가".split()
KOREAN_OBJECTS = "새 계약서를|모든 기록을|낡은 엔진을|시험 결과를|안전 지침을".split("|")
KOREAN_VERBS = "검토합니다 수리합니다 보관합니다 측정합니다 교체합니다".split()
LONG_WORDS = "documentation installation configuration administration investigation representative".split()
KOREAN_FONT = "HYSMyeongJo-Medium"
MARGIN = 60
LINE = 16


class Texts:
    """Sentences that differ by a number, so that each occurs once."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.number = 0

    def sentence(self, korean=False):
        self.number += 1
        pick = self.random.choice
        if korean:
            return f"{pick(KOREAN_SUBJECTS)} {pick(KOREAN_OBJECTS)} {self.number}번째로 {pick(KOREAN_VERBS)}."
        return f"The {pick(SUBJECTS)} team {pick(VERBS)} {pick(OBJECTS)} {pick(PLACES)}, item {self.number}."

    def heading(self, korean=False):
        self.number += 1
        return f"{self.number}장 보고" if korean else f"Part {self.number} about the {self.random.choice(SUBJECTS)}"


def make_pdf(path, nth):
    """Five kinds: one column, two columns, divided words, Korean, and a table; each page has a header and a footer."""
    texts = Texts(nth)
    kind = ["column", "columns", "divided", "korean", "table"][nth % 5]
    korean = kind == "korean"
    page = canvas.Canvas(str(path), pagesize=A4)
    font = KOREAN_FONT if korean else ["Helvetica", "Times-Roman", "Courier"][nth % 3]
    # A line of the wide font must fit into its column.
    size = (7 if kind == "columns" else 9) if font == "Courier" else 11
    width, height = A4
    header = f"검사 보고서 {nth}호" if korean else f"Inspection report no. {nth}"
    strings, hyphenated = [], []
    for number in range(1 + nth % 4):
        page.setFont(font, 8)
        page.drawString(MARGIN, height - 30, header)
        page.drawRightString(width - MARGIN, 30, f"{number + 1}")
        page.setFont(font, size + 5)
        heading = texts.heading(korean)
        page.drawString(MARGIN, height - 80, heading)
        strings.append(heading)
        page.setFont(font, size)
        top = height - 120
        if kind == "columns":
            for left in (MARGIN, width / 2 + 10):
                for row in range(8):
                    first, second = f"{texts.sentence()}".split(" team ")
                    y = top - row * LINE * 3
                    page.drawString(left, y, f"{first} team")
                    page.drawString(left, y - LINE, second)
                    strings.append(f"{first} team {second}")
        elif kind == "divided":
            for row in range(6):
                word = texts.random.choice(LONG_WORDS)
                marked = f"{word}{texts.number}"
                y = top - row * LINE * 3
                page.drawString(MARGIN, y, f"{texts.sentence()[:-1]} with {word[:5]}-")
                page.drawString(MARGIN, y - LINE, f"{word[5:]} of part {marked[len(word):]}.")
                hyphenated.append(f"{word} of part {marked[len(word):]}")
        elif kind == "table":
            for row in range(12):
                cells = [f"Row {number}-{row}", texts.random.choice(SUBJECTS), f"{texts.random.randrange(10**6):,}"]
                for column, cell in enumerate(cells):
                    page.drawString(MARGIN + column * 150, top - row * LINE, cell)
                strings.extend([cells[0], cells[2]])
        else:
            for row in range(20):
                sentence = texts.sentence(korean)
                page.drawString(MARGIN, top - row * LINE * 1.5, sentence)
                strings.append(sentence)
        page.showPage()
    page.save()
    return {"strings": strings, "repeated": header, "pages": 1 + nth % 4, "hyphenated": hyphenated}


def make_docx(path, nth):
    texts = Texts(1000 + nth)
    korean = nth % 4 == 3
    document = docx.Document()
    header = f"Handbook no. {nth}"
    document.sections[0].header.paragraphs[0].text = header
    strings = []

    def add(line, style=None, level=None):
        document.add_heading(line, level) if level else document.add_paragraph(line, style=style)
        strings.append(line)

    for _ in range(2 + nth % 4):
        add(texts.heading(korean), level=1 + nth % 3)
        add(texts.sentence(korean))
        add(f"{texts.sentence(korean)} {texts.sentence(korean)}")
        add(texts.sentence(korean), style="List Bullet")
        grid = document.add_table(rows=2, cols=2)
        for row in grid.rows:
            for cell in row.cells:
                cell.text = texts.sentence(korean)
                strings.append(cell.text)
    document.save(str(path))
    return {"strings": strings}


def make_xlsx(path, nth):
    texts = Texts(2000 + nth)
    book = openpyxl.Workbook()
    book.remove(book.active)
    strings = []
    for number in range(1 + nth % 3):
        sheet = book.create_sheet(f"Sheet {number} of {nth}")
        sheet.append(["Item", "Note", "Amount"])
        for row in range(15):
            cells = [f"Row {number}-{row}", texts.sentence(nth % 5 == 0), texts.random.randrange(10**6)]
            sheet.append(cells)
            strings.extend(str(cell) for cell in cells)
    book.save(str(path))
    return {"strings": strings}


def make_pptx(path, nth):
    texts = Texts(3000 + nth)
    deck = pptx.Presentation()
    strings = []
    for _ in range(3 + nth % 4):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = texts.heading()
        lines = [texts.sentence() for _ in range(3)]
        slide.placeholders[1].text = "\n".join(lines)
        strings.extend([slide.shapes.title.text, *lines])
    deck.save(str(path))
    return {"strings": strings}


def make_odt(path, nth):
    texts = Texts(4000 + nth)
    document = opendocument.OpenDocumentText()
    strings = []
    for _ in range(3):
        heading = texts.heading()
        document.text.addElement(odf_text.H(outlinelevel=1, text=heading))
        lines = [texts.sentence(nth % 3 == 0) for _ in range(4)]
        for line in lines:
            document.text.addElement(odf_text.P(text=line))
        strings.extend([heading, *lines])
    document.save(str(path))
    return {"strings": strings}


def make_ods(path, nth):
    texts = Texts(5000 + nth)
    document = opendocument.OpenDocumentSpreadsheet()
    grid = table.Table(name=f"Stock {nth}")
    strings = []
    for row in range(20):
        line = table.TableRow()
        for value in (f"Row {row}", texts.sentence()):
            cell = table.TableCell(valuetype="string")
            cell.addElement(odf_text.P(text=value))
            line.addElement(cell)
            strings.append(value)
        grid.addElement(line)
    document.spreadsheet.addElement(grid)
    document.save(str(path))
    return {"strings": strings}


def make_epub(path, nth):
    texts = Texts(6000 + nth)
    book = epub.EpubBook()
    book.set_identifier(f"book-{nth}")
    book.set_title(f"Book {nth}")
    book.set_language("en")
    strings, chapters = [], []
    for number in range(3):
        heading = texts.heading()
        lines = [texts.sentence() for _ in range(5)]
        chapter = epub.EpubHtml(title=heading, file_name=f"chapter{number}.xhtml")
        chapter.content = f"<h1>{heading}</h1>" + "".join(f"<p>{line}</p>" for line in lines)
        book.add_item(chapter)
        chapters.append(chapter)
        strings.extend([heading, *lines])
    book.toc = chapters
    book.add_item(epub.EpubNcx())
    book.add_item(epub.EpubNav())
    book.spine = chapters
    epub.write_epub(str(path), book)
    return {"strings": strings}


def make_eml(path, nth):
    """Plain text; every third mail also has the text as HTML, and every third a text file in another encoding."""
    texts = Texts(7000 + nth)
    message = EmailMessage()
    message["From"], message["To"] = "ann@example.com", "ben@example.com"
    message["Subject"] = f"Order no. {nth}"
    korean = nth % 2 == 1
    lines = [texts.sentence(korean) for _ in range(8)]
    message.set_content("\n\n".join(lines) + "\n", charset="euc-kr" if nth % 4 == 3 else "utf-8")
    if nth % 3 == 1:
        message.add_alternative("".join(f"<p>{line}</p>" for line in lines), subtype="html")
    if nth % 3 == 2:
        attached = [texts.sentence(True) for _ in range(3)]
        data = "\n\n".join(attached).encode("cp949")
        message.add_attachment(data, maintype="text", subtype="plain", filename="notes.txt")
        lines += attached
    path.write_bytes(message.as_bytes())
    return {"strings": lines}


def make_csv(path, nth):
    texts = Texts(8000 + nth)
    rows = [(f"Row {row}", texts.sentence(nth % 2 == 1)) for row in range(30)]
    path.write_text("".join(f'{name},"{line}"\n' for name, line in rows), encoding="utf-8")
    return {"strings": [cell for row in rows for cell in row]}


def make_html(path, nth):
    """Every third page declares Windows-949, and every third declares nothing."""
    texts = Texts(9000 + nth)
    korean = nth % 3 > 0
    strings = []

    def put(tag, line):
        strings.append(line)
        return tag(line)

    page = dominate.document(title=f"Page {nth}")
    if nth % 3 == 1:
        page.head.add(tags.meta(charset="ks_c_5601-1987"))
    with page:
        with tags.nav():
            for number in range(6):
                tags.a(f"Link {number}", href=f"{number}.html")
        with tags.main():
            for number in range(3):
                put(tags.h2, texts.heading(korean))
                put(tags.p, f"{texts.sentence(korean)} {texts.sentence(korean)}")
                with tags.ul():
                    put(tags.li, texts.sentence(korean))
                with tags.table().add(tags.tbody()):
                    for row in range(2):
                        with tags.tr():
                            put(tags.td, f"Row {number}-{row}")
                            put(tags.td, texts.sentence(korean))
    path.write_bytes(page.render().encode("cp949" if korean else "utf-8"))
    return {"strings": strings}


def make_md(path, nth):
    texts = Texts(10000 + nth)
    korean = nth % 2 == 1
    document = MdUtils(file_name=str(path.with_suffix("")))
    strings = []
    for number in range(3):
        lines = [texts.heading(korean), texts.sentence(korean), texts.sentence(korean), f"value_{number} = '{nth}'"]
        document.new_header(level=1 + number % 2, title=lines[0], add_table_of_contents="n")
        document.new_paragraph(lines[1])
        document.new_list([lines[2]])
        document.insert_code(lines[3], language="python")
        cells = ["Item", "Note", f"Row {number}", texts.sentence(korean)]
        document.new_table(columns=2, rows=2, text=cells, text_align="left")
        strings.extend([*lines, cells[2], cells[3]])
    document.create_md_file()
    return {"strings": strings}


def make_rtf(path, nth):
    texts = Texts(11000 + nth)
    document = rtf.Document()
    section = rtf.Section()
    document.Sections.append(section)
    style = document.StyleSheet.ParagraphStyles
    strings = []
    for number in range(3):
        lines = [texts.heading(), texts.sentence(), texts.sentence(nth % 2 == 1)]
        section.append(Paragraph(style.Heading1, lines[0]))
        section.extend(Paragraph(style.Normal, coded(line)) for line in lines[1:])
        grid = Table(3000, 6000)
        cells = [f"Row {number}", texts.sentence()]
        grid.AddRow(*(Cell(Paragraph(cell)) for cell in cells))
        section.append(grid)
        strings.extend([*lines, *cells])
    with open(path, "w", encoding="ascii") as file:
        rtf.Renderer().Write(document, file)
    return {"strings": strings}


def coded(line):
    """Write characters beyond ASCII as codes of Rich Text, which the library does not do."""
    return "".join(char if char < "\x7f" else f"\\u{(ord(char) + 0x8000) % 0x10000 - 0x8000}?" for char in line)


def make_ipynb(path, nth):
    texts = Texts(12000 + nth)
    korean = nth % 2 == 1
    cells, strings = [], []
    for number in range(3):
        heading, line, shown = texts.heading(korean), texts.sentence(korean), texts.sentence(korean)
        code = f"depth_{number} = {nth}"
        output = nbformat.v4.new_output("stream", text=f"{shown}\n")
        cells.append(nbformat.v4.new_markdown_cell(f"## {heading}\n\n{line}"))
        cells.append(nbformat.v4.new_code_cell(code, outputs=[output]))
        strings.extend([heading, line, code, shown])
    nbformat.write(nbformat.v4.new_notebook(cells=cells), str(path))
    return {"strings": strings}


def make_hwpx(path, nth):
    texts = Texts(13000 + nth)
    document = HwpxDocument.new()
    strings = []
    for number in range(3):
        heading, lines = texts.heading(True), [texts.sentence(True) for _ in range(3)]
        document.add_heading(heading, level=1 + number % 2)
        for line in lines:
            document.add_paragraph(line, style_id_ref=0, para_pr_id_ref=0, inherit_style=False)
        cells = [f"Row {number}", texts.sentence(True)]
        grid = document.add_table(1, 2)
        for column, cell in enumerate(cells):
            grid.set_cell_text(0, column, cell)
        strings.extend([heading, *lines, *cells])
    document.save_to_path(str(path))
    return {"strings": strings}


def make_hwp(path, nth):
    texts = Texts(14000 + nth)
    strings, lines = [], []
    for number in range(3):
        heading, sentences = texts.heading(True), [texts.sentence(True) for _ in range(3)]
        cells = [f"Row {number}", texts.sentence(True)]
        lines.append(f"# {heading}\n\n" + "\n\n".join(sentences))
        lines.append("| Item | Note |\n|---|---|\n| " + " | ".join(cells) + " |")
        strings.extend([heading, *sentences, *cells])
    HwpWriter().from_markdown("\n\n".join(lines), path)
    return {"strings": strings}


def main():
    directory = pathlib.Path(sys.argv[1])
    pdfmetrics.registerFont(UnicodeCIDFont(KOREAN_FONT))
    with open(directory / "manifest.jsonl", "w", encoding="utf-8") as manifest:
        for extension, count in COUNTS.items():
            make = globals()[f"make_{extension}"]
            for nth in range(count):
                path = directory / f"{extension}-{nth:03}.{extension}"
                facts = {"file": path.name, **make(path, nth)}
                manifest.write(json.dumps(facts, ensure_ascii=False) + "\n")


main()
