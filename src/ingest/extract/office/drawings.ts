import { type Relationship, readRelationships } from '../archive/package-parts.ts';
import { parseXml, type XmlHandler } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';
import type { BlockDraft } from '../blocks.ts';
import { readChart } from './charts.ts';

/** Return the parts of a type that exist in the archive. */
export function partsOf(zip: Zip, relationships: readonly Relationship[], wanted: string): string[] {
  return relationships.filter(({ type, target }) => type === wanted && zip.has(target)).map(({ target }) => target);
}

/** Read the shapes, text boxes, diagrams and charts above the cells of a sheet. */
export async function readDrawing(zip: Zip, part: string): Promise<BlockDraft[]> {
  const blocks: BlockDraft[] = [];
  await parseXml(
    zip.stream(part),
    paragraphs((text) => blocks.push({ kind: 'paragraph', text })),
  );
  const relationships = await readRelationships(zip, part);
  for (const diagram of partsOf(zip, relationships, 'diagramData')) blocks.push(...(await readDiagram(zip, diagram)));
  for (const chart of partsOf(zip, relationships, 'chart')) blocks.push(...(await readChart(zip, chart)));
  return blocks;
}

/** Read the text of a diagram's points, which the drawing itself doesn't contain. */
export async function readDiagram(zip: Zip, part: string): Promise<BlockDraft[]> {
  const blocks: BlockDraft[] = [];
  await parseXml(
    zip.stream(part),
    paragraphs((text) => blocks.push({ kind: 'list_item', level: 1, text: `- ${text}` })),
  );
  return blocks;
}

/** Create a handler that passes on each non-empty DrawingML paragraph. */
function paragraphs(add: (text: string) => void): XmlHandler {
  let text: string[] = [];
  let isText = false;
  let skipDepth = 0;
  return {
    open(name) {
      if (skipDepth > 0 || name === 'mc:Fallback') skipDepth++;
      else if (name === 'a:t') isText = true;
      else if (name === 'a:br') text.push('\n');
    },
    close(name) {
      if (skipDepth > 0) {
        skipDepth--;
        return;
      }
      if (name === 'a:t') isText = false;
      if (name !== 'a:p') return;
      const line = text.join('').trim();
      text = [];
      if (line !== '') add(line);
    },
    text(run) {
      if (isText && skipDepth === 0) text.push(run);
    },
  };
}
