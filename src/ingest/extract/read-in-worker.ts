import { decodeWindows } from './data/decode-windows.ts';
import { readCsv } from './data/read-csv.ts';
import { readJson } from './data/read-json.ts';
import { decodeText } from './decode-text.ts';
import type { DocumentFormat, FileFormat } from './detect-format.ts';
import { wrongSize } from './errors.ts';
import { readText } from './read-text.ts';
import { type BlockSink, type ReadResult, resultOf } from './reader.ts';

/** Formats without a complex grammar, which are read in bounded windows and without a child process. */
export type TextFormat = Extract<FileFormat & DocumentFormat, 'txt' | 'csv' | 'tsv' | 'json' | 'jsonl'>;

const TEXT_FORMATS: ReadonlySet<FileFormat> = new Set<TextFormat>(['txt', 'csv', 'tsv', 'json', 'jsonl']);

export function isTextFormat(format: FileFormat): format is TextFormat {
  return TEXT_FORMATS.has(format);
}

/**
 * Read plain text, csv or json in this process, waiting for the sink between slices. csv and json are never held as a
 * whole.
 * @throws ExtractError; errors of the source and of the sink
 */
export async function readInWorker(
  file: { format: TextFormat; charset: string | null; source: AsyncIterable<Uint8Array>; sizeBytes: number },
  sink: BlockSink,
): Promise<ReadResult> {
  const { format, charset, sizeBytes } = file;
  const source = ofSize(file.source, sizeBytes);
  switch (format) {
    case 'csv':
    case 'tsv':
      await readCsv(decodeWindows(source, charset), sink, format === 'tsv' ? '\t' : null);
      break;
    case 'json':
    case 'jsonl':
      await readJson(decodeWindows(source, charset), sink, format);
      break;
    default: {
      const { text } = decodeText(await collectBytes(source, sizeBytes), charset);
      for (const block of readText(text)) {
        sink.add(block);
        await sink.flush();
      }
    }
  }
  return resultOf(format);
}

/** Check the size of a stream. @throws ExtractError if there are more or fewer bytes than recorded */
export async function* ofSize(source: AsyncIterable<Uint8Array>, sizeBytes: number): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const chunk of source) {
    read += chunk.length;
    if (read > sizeBytes) throw wrongSize();
    yield chunk;
  }
  if (read !== sizeBytes) throw wrongSize();
}

export async function collectBytes(
  source: AsyncIterable<Uint8Array>,
  sizeBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(sizeBytes);
  let filled = 0;
  for await (const chunk of source) {
    bytes.set(chunk, filled);
    filled += chunk.length;
  }
  return bytes;
}
