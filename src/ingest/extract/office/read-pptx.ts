import { type Relationship, readRelationships } from '../archive/package-parts.ts';
import { parseXml } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';
import { BlockWriter } from '../block-writer.ts';
import type { BlockDraft } from '../blocks.ts';
import { ExtractError } from '../errors.ts';
import { type Reading, type ReadResult, resultOf } from '../reader.ts';
import { arrangeSlide } from './slide-blocks.ts';
import { SlideBody } from './slide-body.ts';

/**
 * Read the text of a PresentationML document, slide by slide in the order of the show: the title as a heading, then the
 * shapes in their order, tables, the text of diagrams, and the speaker's notes. The page is the number of the slide.
 */
export async function readPptx(zip: Zip, mainPart: string, reading: Reading): Promise<ReadResult> {
  const slides = await slidesInOrder(zip, mainPart);
  if (slides.length > reading.pagesMax) {
    throw new ExtractError(
      'too_large',
      `the document has ${slides.length} slides; at most ${reading.pagesMax} are read`,
    );
  }
  const failedPages: number[] = [];
  let number = 0;
  for (const slide of slides) {
    number++;
    try {
      for (const block of await readSlide(zip, slide, number)) reading.sink.add(block);
    } catch (error) {
      if (!(error instanceof ExtractError) || error.category !== 'corrupt') throw error;
      failedPages.push(number);
    }
    await reading.sink.flush();
  }
  if (slides.length > 0 && failedPages.length === slides.length) {
    throw new ExtractError('corrupt', 'no slide of the presentation can be read');
  }
  return resultOf('pptx', { pages: slides.length, failedPages });
}

async function slidesInOrder(zip: Zip, mainPart: string): Promise<string[]> {
  const targets = new Map((await readRelationships(zip, mainPart)).map(({ id, target }) => [id, target]));
  const slides: string[] = [];
  await parseXml(zip.stream(mainPart), {
    open(name, attributes) {
      const target = targets.get(attributes['r:id'] ?? '');
      if (name === 'p:sldId' && target !== undefined) slides.push(target);
    },
  });
  return slides;
}

async function readSlide(zip: Zip, part: string, number: number): Promise<readonly BlockDraft[]> {
  const relationships = await readRelationships(zip, part);
  const body = await readShapes(zip, part, 'slide');
  for (const diagram of ofType(zip, relationships, 'diagramData')) body.push(...(await readDiagram(zip, diagram)));
  const notes: BlockDraft[] = [];
  for (const notesSlide of ofType(zip, relationships, 'notesSlide')) {
    notes.push(...(await readShapes(zip, notesSlide, 'notes')));
  }
  return arrangeSlide(number, body, notes);
}

function ofType(zip: Zip, relationships: readonly Relationship[], wanted: string): string[] {
  return relationships.filter(({ type, target }) => type === wanted && zip.has(target)).map(({ target }) => target);
}

async function readShapes(zip: Zip, part: string, kind: 'slide' | 'notes'): Promise<BlockDraft[]> {
  const blocks: BlockDraft[] = [];
  const writer = new BlockWriter((block) => blocks.push(block));
  await parseXml(zip.stream(part), new SlideBody(writer, kind));
  writer.end();
  return blocks;
}

/** Read the text of the points of a diagram. The slide itself does not contain it. */
async function readDiagram(zip: Zip, part: string): Promise<BlockDraft[]> {
  const blocks: BlockDraft[] = [];
  let text: string[] = [];
  let isText = false;
  await parseXml(zip.stream(part), {
    open(name) {
      if (name === 'a:t') isText = true;
    },
    close(name) {
      if (name === 'a:t') isText = false;
      if (name !== 'a:p') return;
      const line = text.join('');
      text = [];
      if (line.trim() !== '') blocks.push({ kind: 'list_item', level: 1, text: `- ${line}` });
    },
    text(run) {
      if (isText) text.push(run);
    },
  });
  return blocks;
}
