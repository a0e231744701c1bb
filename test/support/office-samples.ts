import { writeZip, type ZipEntry } from './write-zip.ts';

// Office documents from hand-written parts, for content that no office program would write.

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const R = `xmlns:r="${RELATIONSHIPS}"`;

type Parts = Readonly<Record<string, string>>;

function entriesOf(parts: Parts): ZipEntry[] {
  return Object.entries(parts).map(([name, data]) => ({ name, data }));
}

function relationships(targets: Readonly<Record<string, string>>): string {
  const items = Object.entries(targets).map(
    ([target, type], index) =>
      `<Relationship Id="rId${index + 1}" Type="${RELATIONSHIPS}/${type}" Target="${target}"/>`,
  );
  return `${XML}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${items.join('')}</Relationships>`;
}

function contentTypes(mainPart: string, type: string): string {
  return (
    `${XML}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
    `<Override PartName="/${mainPart}" ContentType="application/vnd.openxmlformats-officedocument.${type}.main+xml"/></Types>`
  );
}

const DOCX_STYLES = `${XML}<w:styles ${W}>
<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="H2"><w:name w:val="heading 2"/></w:style>
<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="My own"/><w:basedOn w:val="H2"/></w:style>
<w:style w:type="paragraph" w:styleId="Circle"><w:name w:val="Circle"/><w:basedOn w:val="Circle"/></w:style>
<w:style w:type="paragraph" w:styleId="Code"><w:name w:val="HTML Preformatted"/></w:style>
<w:style w:type="paragraph" w:styleId="Toc"><w:name w:val="toc 1"/></w:style>
</w:styles>`;

const DOCX_NUMBERING = `${XML}<w:numbering ${W}>
<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="제%1조"/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="ganada"/><w:lvlText w:val="%1-%2."/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="\uf0b7"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
</w:numbering>`;

const DOCX_NOTES = `${XML}<w:footnotes ${W}><w:footnote w:type="separator" w:id="0"><w:p><w:r><w:t>no</w:t></w:r></w:p></w:footnote>
<w:footnote w:id="1"><w:p><w:r><w:t>The note.</w:t></w:r></w:p></w:footnote></w:footnotes>`;

/** Make a Word document. @param body content of `w:body` */
export function makeDocx(body: string, more: Parts = {}): Buffer {
  return writeZip(
    entriesOf({
      '[Content_Types].xml': contentTypes('word/document.xml', 'wordprocessingml.document'),
      '_rels/.rels': relationships({ 'word/document.xml': 'officeDocument' }),
      'word/_rels/document.xml.rels': relationships({
        'styles.xml': 'styles',
        'numbering.xml': 'numbering',
        '/word/footnotes.xml': 'footnotes',
      }),
      'word/styles.xml': DOCX_STYLES,
      'word/numbering.xml': DOCX_NUMBERING,
      'word/footnotes.xml': DOCX_NOTES,
      'word/document.xml': `${XML}<w:document ${W} ${R} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:body>${body}</w:body></w:document>`,
      ...more,
    }),
  );
}

/** Make a paragraph of WordprocessingML, with properties and text. */
export function docxParagraph(text: string, properties = ''): string {
  return `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
}

/** Make a presentation. @param slides contents of `p:spTree`, in order @param notes by the index of their slide */
export function makePptx(slides: readonly string[], notes: Readonly<Record<number, string>> = {}): Buffer {
  const spaces =
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" ' +
    `xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" ${R}`;
  const tree = (content: string) => `<p:cSld><p:spTree>${content}</p:spTree></p:cSld>`;
  const parts: Record<string, string> = {
    '[Content_Types].xml': contentTypes('ppt/presentation.xml', 'presentationml.presentation'),
    '_rels/.rels': relationships({ 'ppt/presentation.xml': 'officeDocument' }),
  };
  // Number files backwards, so that the order of names isn't the order of slides.
  const fileOf = (index: number) => `slides/slide${slides.length - index}.xml`;
  const ids = slides.map((_, index) => `<p:sldId id="${256 + index}" r:id="rId${index + 1}"/>`).join('');
  parts['ppt/presentation.xml'] = `${XML}<p:presentation ${spaces}><p:sldIdLst>${ids}</p:sldIdLst></p:presentation>`;
  parts['ppt/_rels/presentation.xml.rels'] = relationships(
    Object.fromEntries(slides.map((_, index) => [fileOf(index), 'slide'])),
  );
  slides.forEach((content, index) => {
    parts[`ppt/${fileOf(index)}`] = `${XML}<p:sld ${spaces}>${tree(content)}</p:sld>`;
    if (notes[index] === undefined) return;
    parts[`ppt/slides/_rels/slide${slides.length - index}.xml.rels`] = relationships({
      [`../notesSlides/notes${index}.xml`]: 'notesSlide',
    });
    parts[`ppt/notesSlides/notes${index}.xml`] = `${XML}<p:notes ${spaces}>${tree(notes[index])}</p:notes>`;
  });
  return writeZip(entriesOf(parts));
}

/** Make a shape with paragraphs. @param placeholder its type; null for a text box */
export function pptxShape(placeholder: string | null, ...paragraphs: string[]): string {
  const ph = placeholder === null ? '' : `<p:nvPr><p:ph type="${placeholder}"/></p:nvPr>`;
  const text = paragraphs.map((paragraph) => `<a:p><a:r><a:t>${paragraph}</a:t></a:r></a:p>`).join('');
  return `<p:sp><p:nvSpPr>${ph}</p:nvSpPr><p:txBody>${text}</p:txBody></p:sp>`;
}

/** Make a spreadsheet. @param sheets contents of `sheetData` by the name of the sheet */
export function makeXlsx(
  sheets: Readonly<Record<string, string>>,
  options: { strings?: readonly string[]; styles?: string; is1904?: boolean } = {},
): Buffer {
  const space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
  const names = Object.keys(sheets);
  const parts: Record<string, string> = {
    '[Content_Types].xml': contentTypes('xl/workbook.xml', 'spreadsheetml.sheet'),
    '_rels/.rels': relationships({ 'xl/workbook.xml': 'officeDocument' }),
    'xl/_rels/workbook.xml.rels': relationships({
      ...Object.fromEntries(names.map((_, index) => [`worksheets/sheet${index + 1}.xml`, 'worksheet'])),
      'sharedStrings.xml': 'sharedStrings',
      'styles.xml': 'styles',
    }),
    'xl/workbook.xml':
      `${XML}<workbook ${space} ${R}><workbookPr date1904="${options.is1904 ? 1 : 0}"/><sheets>` +
      `${names.map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`).join('')}</sheets></workbook>`,
    'xl/sharedStrings.xml': `${XML}<sst ${space}>${(options.strings ?? []).map((text) => `<si>${text}</si>`).join('')}</sst>`,
    'xl/styles.xml': `${XML}<styleSheet ${space}>${options.styles ?? ''}</styleSheet>`,
  };
  names.forEach((name, index) => {
    parts[`xl/worksheets/sheet${index + 1}.xml`] =
      `${XML}<worksheet ${space}><sheetData>${sheets[name]}</sheetData></worksheet>`;
  });
  return writeZip(entriesOf(parts));
}

const ODF_SPACES = ['office', 'text', 'table', 'style', 'presentation']
  .map((name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`)
  .concat('xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"')
  .join(' ');

/** Make an OpenDocument file. @param body content of `office:body` */
export function makeOdf(kind: 'text' | 'spreadsheet' | 'presentation', body: string, more: Parts = {}): Buffer {
  return writeZip([
    { name: 'mimetype', data: `application/vnd.oasis.opendocument.${kind}`, isStored: true },
    ...entriesOf({
      'META-INF/manifest.xml': `${XML}<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>`,
      'content.xml': `${XML}<office:document-content ${ODF_SPACES}><office:automatic-styles>
<style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/>
<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="i" style:num-suffix=")"/></text:list-style>
</office:automatic-styles><office:body><office:${kind}>${body}</office:${kind}></office:body></office:document-content>`,
      ...more,
    }),
  ]);
}

/** Make an EPUB. @param chapters bodies of XHTML by file name, in reading order; `labels` are those of the contents */
export function makeEpub(
  chapters: Readonly<Record<string, string>>,
  options: {
    title?: string;
    labels?: Readonly<Record<string, string>>;
    more?: Parts;
    /** Media types of further items of the spine, by address. */
    spine?: Readonly<Record<string, string>>;
  } = {},
): Buffer {
  const { title = 'The book', labels = {}, more = {}, spine = {} } = options;
  const names = Object.keys(chapters);
  const items = names.map(
    (name, index) => `<item id="c${index}" href="text/${name}" media-type="application/xhtml+xml"/>`,
  );
  const others = Object.entries(spine).map(
    ([href, type], index) => `<item id="o${index}" href="${href}" media-type="${type}"/>`,
  );
  const links = Object.entries(labels).map(([name, label]) => `<li><a href="text/${name}#top">${label}</a></li>`);
  return writeZip([
    { name: 'mimetype', data: 'application/epub+zip', isStored: true },
    ...entriesOf({
      'META-INF/container.xml': `${XML}<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles><rootfile full-path="OEBPS/package.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`,
      'OEBPS/package.opf': `${XML}<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/" version="3.0"><metadata><dc:title>${title}</dc:title></metadata>
<manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>${[...items, ...others].join('')}</manifest>
<spine><itemref idref="nav"/>${names.map((_, index) => `<itemref idref="c${index}"/>`).join('')}${others.map((_, index) => `<itemref idref="o${index}"/>`).join('')}</spine></package>`,
      'OEBPS/nav.xhtml': `${XML}<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><ol>${links.join('')}</ol></nav></body></html>`,
      ...Object.fromEntries(
        names.map((name) => [
          `OEBPS/text/${name}`,
          `${XML}<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>${chapters[name]}</body></html>`,
        ]),
      ),
      ...more,
    }),
  ]);
}
