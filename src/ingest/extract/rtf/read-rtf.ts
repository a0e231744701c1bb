import { BlockWriter } from '../block-writer.ts';
import { type Reading, type ReadResult, resultOf } from '../reader.ts';
import { RtfBody } from './rtf-body.ts';
import { rtfTokens } from './rtf-tokens.ts';

/** Tokens between two waits for the sink. */
const TOKENS_BETWEEN_FLUSHES = 10_000;

/**
 * Read the text of a Rich Text Format file (specification 1.9.1): headings by outline level or style, list items,
 * tables, footnotes and endnotes. Omit hidden text, comments, headers and footers, pictures and embedded objects.
 */
export async function readRtf(bytes: Uint8Array, { sink }: Reading): Promise<ReadResult> {
  const writer = new BlockWriter((block) => sink.add(block));
  const body = new RtfBody(writer);
  let count = 0;
  for (const token of rtfTokens(bytes)) {
    if (!body.take(token)) break;
    if (++count % TOKENS_BETWEEN_FLUSHES === 0) await sink.flush();
  }
  body.end();
  writer.end();
  return resultOf('rtf');
}
