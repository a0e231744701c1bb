import { readRelationships } from '../archive/package-parts.ts';
import { parseXml } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';
import { BlockWriter } from '../block-writer.ts';
import type { BlockDraft } from '../blocks.ts';
import { ExtractError } from '../errors.ts';
import { type Reading, type ReadResult, resultOf } from '../reader.ts';
import { readChart } from './charts.ts';
import { partsOf, readDiagram } from './drawings.ts';
import { PackagePictures, PICTURE_BYTES_MAX } from './package-pictures.ts';
import { arrangeSlide, slideHeading } from './slide-blocks.ts';
import { SlideBody } from './slide-body.ts';

/**
 * Read the text of a PresentationML document, slide by slide in presentation order: the title as a heading, then the
 * shapes in order, tables, diagrams, charts, and the speaker's notes. The page is the slide number.
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
  const pictures = new PackagePictures(reading.images);
  let number = 0;
  for (const slide of slides) {
    number++;
    try {
      const blocks = await readSlide(zip, slide, number);
      const images = pictures.wants(blocks.length > 0)
        ? partsOf(zip, await readRelationships(zip, slide), 'image')
        : [];
      // Picture text must not appear under another slide's title.
      if (blocks.length === 0 && images.length > 0) reading.sink.add(slideHeading(number));
      for (const block of blocks) reading.sink.add(block);
      for (const image of images)
        await pictures.take(image, { page: number, slide: number }, () => zip.bytes(image, PICTURE_BYTES_MAX));
    } catch (error) {
      if (!(error instanceof ExtractError) || error.category !== 'corrupt') throw error;
      failedPages.push(number);
    }
    await reading.sink.flush();
  }
  if (slides.length > 0 && failedPages.length === slides.length) {
    throw new ExtractError('corrupt', 'no slide of the presentation can be read');
  }
  return resultOf('pptx', { pages: slides.length, failedPages, skipped: pictures.skipped });
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
  for (const diagram of partsOf(zip, relationships, 'diagramData')) body.push(...(await readDiagram(zip, diagram)));
  for (const chart of partsOf(zip, relationships, 'chart')) body.push(...(await readChart(zip, chart)));
  const notes: BlockDraft[] = [];
  for (const notesSlide of partsOf(zip, relationships, 'notesSlide')) {
    notes.push(...(await readShapes(zip, notesSlide, 'notes')));
  }
  return arrangeSlide(number, body, notes);
}

async function readShapes(zip: Zip, part: string, kind: 'slide' | 'notes'): Promise<BlockDraft[]> {
  const blocks: BlockDraft[] = [];
  const writer = new BlockWriter((block) => blocks.push(block));
  await parseXml(zip.stream(part), new SlideBody(writer, kind));
  writer.end();
  return blocks;
}
