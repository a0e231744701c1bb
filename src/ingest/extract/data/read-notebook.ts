import type { BlockSink } from '../reader.ts';
import { decodeWindows } from './decode-windows.ts';
import { JsonParser } from './json-parser.ts';
import { NotebookCells } from './notebook-cells.ts';

/**
 * Read a Jupyter notebook (nbformat 3 and 4) cell by cell: Markdown as headings, paragraphs and lists, code as
 * listings, each followed by the text of its outputs. Omit pictures and tracebacks.
 * @throws ExtractError `corrupt`, `too_large`
 */
export async function readNotebook(source: AsyncIterable<Uint8Array>, sink: BlockSink): Promise<void> {
  const cells = new NotebookCells((block) => sink.add(block));
  const parser = new JsonParser(cells);
  for await (const window of decodeWindows(source, null)) {
    parser.write(window);
    await sink.flush();
  }
  parser.end({ mayBeCutOff: false });
}
