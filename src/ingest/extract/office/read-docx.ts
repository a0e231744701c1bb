import { readRelationships } from '../archive/package-parts.ts';
import { parseXml } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';
import { BlockWriter } from '../block-writer.ts';
import type { BlockDraft } from '../blocks.ts';
import { type Reading, type ReadResult, resultOf } from '../reader.ts';
import { readChart } from './charts.ts';
import { DocxBody } from './docx-body.ts';
import { DocxNumbering } from './docx-numbering.ts';
import { readDocxStyles } from './docx-styles.ts';
import { partsOf, readDiagram } from './drawings.ts';
import { PackagePictures, PICTURE_BYTES_MAX } from './package-pictures.ts';

/**
 * Read the text of a WordprocessingML document: headings by style or outline level, numbered as in Word, list items,
 * tables, listings by style, text boxes, charts and diagrams, and footnotes and endnotes after the paragraph that
 * refers to them. Omit deleted and hidden text, comments, headers and footers, and tables of contents.
 */
export async function readDocx(zip: Zip, mainPart: string, { sink, images }: Reading): Promise<ReadResult> {
  const relationships = await readRelationships(zip, mainPart);
  const targetOf = (wanted: string) => relationships.find(({ type }) => type === wanted)?.target ?? null;
  const styles = await readDocxStyles(zip, targetOf('styles'));
  const numbering = await DocxNumbering.read(zip, targetOf('numbering'));
  const notes = new Map([
    ...(await readNotes(zip, targetOf('footnotes'), 'footnote')),
    ...(await readNotes(zip, targetOf('endnotes'), 'endnote')),
  ]);
  const drawings = new Map<string, BlockDraft[]>();
  for (const { id, type, target } of relationships) {
    if (!zip.has(target)) continue;
    if (type === 'chart') drawings.set(id, await readChart(zip, target));
    else if (type === 'diagramData') drawings.set(id, await readDiagram(zip, target));
  }
  let hasText = false;
  const writer = new BlockWriter((block) => {
    hasText ||= block.text.trim() !== '';
    sink.add(block);
  });
  const body = new DocxBody(writer, { styles, numbering, notes, drawings });
  await parseXml(zip.stream(mainPart), body, () => sink.flush());
  writer.end();
  const pictures = new PackagePictures(images);
  for (const image of pictures.wants(hasText) ? partsOf(zip, relationships, 'image') : [])
    await pictures.take(image, {}, () => zip.bytes(image, PICTURE_BYTES_MAX));
  return resultOf('docx', { skipped: pictures.skipped });
}

/** Read the paragraphs of notes, by kind and id. */
async function readNotes(zip: Zip, part: string | null, kind: string): Promise<Map<string, string[]>> {
  const notes = new Map<string, string[]>();
  if (part === null || !zip.has(part)) return notes;
  let paragraphs: string[] = [];
  const writer = new BlockWriter(({ text }) => paragraphs.push(text));
  const body = new DocxBody(writer, { styles: new Map(), numbering: null, notes: new Map(), drawings: new Map() });
  await parseXml(zip.stream(part), {
    open(name, attributes) {
      if (name === `w:${kind}`) {
        paragraphs = [];
        notes.set(`${kind} ${attributes['w:id']}`, paragraphs);
      }
      body.open(name, attributes);
    },
    close(name) {
      body.close(name);
      if (name === `w:${kind}`) writer.end();
    },
    text: (text) => body.text(text),
  });
  return notes;
}
