import { type Relationship, readRelationships } from '../archive/package-parts.ts';
import { parseXml, type XmlAttributes } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';
import { ExtractError } from '../errors.ts';
import { type Reading, type ReadResult, resultOf } from '../reader.ts';
import { partsOf, readDrawing } from './drawings.ts';
import { PackagePictures, PICTURE_BYTES_MAX } from './package-pictures.ts';
import { SheetRows } from './sheet-rows.ts';
import { SheetCells, unescapeString } from './xlsx-cells.ts';
import { CellFormats } from './xlsx-formats.ts';

interface Sheet {
  readonly name: string;
  readonly part: string;
}

/**
 * Read the text of a SpreadsheetML workbook, sheet by sheet: the sheet's name as a heading and its non-empty areas as
 * tables, then its text boxes, shapes and charts. Read cells as displayed, except for integers displayed with an
 * exponent, and formulas by their saved value. The page is the sheet number.
 */
export async function readXlsx(zip: Zip, mainPart: string, { sink, images, pagesMax }: Reading): Promise<ReadResult> {
  const relationships = await readRelationships(zip, mainPart);
  const { sheets, is1904 } = await readWorkbook(zip, mainPart, relationships);
  if (sheets.length > pagesMax) {
    throw new ExtractError('too_large', `the document has ${sheets.length} sheets; at most ${pagesMax} are read`);
  }
  const targetOf = (wanted: string) => relationships.find(({ type }) => type === wanted)?.target ?? null;
  const formats = await CellFormats.read(zip, targetOf('styles'), is1904);
  const strings = await readSharedStrings(zip, targetOf('sharedStrings'));
  const pictures = new PackagePictures(images);
  let page = 0;
  for (const { name, part } of sheets) {
    const rows = new SheetRows((block) => sink.add(block), name, ++page);
    const cells = new SheetCells(rows, strings, formats);
    await parseXml(zip.stream(part), cells, () => sink.flush());
    rows.end();
    const sheetParts = await readRelationships(zip, part);
    for (const drawing of partsOf(zip, sheetParts, 'drawing')) {
      for (const block of await readDrawing(zip, drawing)) rows.addBlock(block);
      const shown = pictures.wants(rows.hasText) ? partsOf(zip, await readRelationships(zip, drawing), 'image') : [];
      for (const image of shown) {
        rows.addName();
        await pictures.take(image, rows.place, () => zip.bytes(image, PICTURE_BYTES_MAX));
      }
    }
    await sink.flush();
  }
  return resultOf('xlsx', { pages: sheets.length, skipped: pictures.skipped });
}

async function readWorkbook(
  zip: Zip,
  part: string,
  relationships: readonly Relationship[],
): Promise<{ sheets: Sheet[]; is1904: boolean }> {
  // Macro sheets have no text.
  const worksheets = new Map(
    relationships.filter(({ type }) => /^(?:work|chart)sheet$/.test(type)).map(({ id, target }) => [id, target]),
  );
  const sheets: Sheet[] = [];
  let is1904 = false;
  await parseXml(zip.stream(part), {
    open(name, attributes) {
      if (name === 'x:workbookPr') is1904 = isTrue(attributes, 'date1904');
      const target = worksheets.get(attributes['r:id'] ?? '');
      if (name === 'x:sheet' && target !== undefined) sheets.push({ name: attributes['name'] ?? '', part: target });
    },
  });
  return { sheets, is1904 };
}

function isTrue(attributes: XmlAttributes, name: string): boolean {
  return /^(1|true)$/.test(attributes[name] ?? '');
}

/** Read the shared strings in order, without phonetic readings (`rPh`). */
async function readSharedStrings(zip: Zip, part: string | null): Promise<string[]> {
  const strings: string[] = [];
  if (part === null || !zip.has(part)) return strings;
  let text: string[] = [];
  let isText = false;
  let phonetic = 0;
  await parseXml(zip.stream(part), {
    open(name) {
      if (name === 'x:rPh') phonetic++;
      else if (name === 'x:t' && phonetic === 0) isText = true;
    },
    close(name) {
      if (name === 'x:rPh') phonetic--;
      else if (name === 'x:t') isText = false;
      else if (name === 'x:si') {
        strings.push(unescapeString(text.join('')));
        text = [];
      }
    },
    text(run) {
      if (isText) text.push(run);
    },
  });
  return strings;
}
