import { performance } from 'node:perf_hooks';
import type { Readable } from 'node:stream';
import { type Block, type BlockDraft, TextAssembler } from './blocks.ts';
import type { ChildTask } from './child-protocol.ts';
import { detectFormat, type FileFormat, HEAD_BYTES } from './detect-format.ts';
import { ExtractError, tooSlow } from './errors.ts';
import { DEFAULT_EXTRACT_LIMITS, type ExtractLimits } from './limits.ts';
import { isTextFormat, readInWorker } from './read-in-worker.ts';
import type { ReadResult } from './reader.ts';
import { recogniseType } from './recognise-type.ts';
import { runChild } from './run-child.ts';

export interface StoredFile {
  /** Called once; the stream is destroyed when it is not read to its end. */
  readonly open: () => Readable;
  readonly sizeBytes: number;
  /** Only a hint at the kind of text; never used as a path. */
  readonly fileName: string;
  readonly contentType?: string | null;
}

export interface ExtractedDocument extends ReadResult {
  /** The text that all character ranges refer to. */
  readonly text: string;
  readonly blocks: Block[];
  /** Largest resident memory of the child; null where there was none or the system does not tell. */
  readonly peakMemoryBytes: number | null;
}

/**
 * Bytes of a stored file to text and blocks. Plain text, csv and json are read here, in slices that let the event loop
 * turn; every other format in a child process of its own.
 *
 * @throws ExtractError with the category to record in the job; the signal's reason when aborted; errors of the stream
 */
export async function extractDocument(
  file: StoredFile & {
    signal?: AbortSignal | undefined;
    limits?: Partial<ExtractLimits>;
    /** Waits for a turn to run a child process; the waiting does not count against the deadline. */
    inTurn?: <T>(run: () => Promise<T>) => Promise<T>;
  },
): Promise<ExtractedDocument> {
  const limits = { ...DEFAULT_EXTRACT_LIMITS, ...file.limits };
  const { signal, sizeBytes, inTurn = (run) => run() } = file;
  signal?.throwIfAborted();
  if (sizeBytes === 0) throw new ExtractError('corrupt', 'the file is empty');
  const startedAt = performance.now();
  const stream = file.open();
  stream.on('error', () => {}); // Seen by whoever reads the stream; nobody does once the document is read.
  const onAbort = () => stream.destroy(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  // For a store that stalls; the work on the bytes has its own clocks.
  const watchForStall = () => setTimeout(() => stream.destroy(tooSlow(limits.deadlineMs)), limits.deadlineMs);
  let stalled = watchForStall();
  try {
    const { head, whole } = await peek(stream);
    const { fileName, contentType = null } = file;
    const detected = await detectFormat({ head, fileName, contentType }, recogniseType);
    const { format, charset } = detected;
    refuseLarge(format, sizeBytes, limits);
    const assembler = new TextAssembler(limits);
    if (isTextFormat(format)) {
      const deadlineMs = Math.max(1, limits.deadlineMs - (performance.now() - startedAt));
      const add = (block: BlockDraft) => assembler.add(block);
      const result = await readInWorker({ format, charset, source: whole, sizeBytes }, { add, deadlineMs, signal });
      return { ...assembler.finish(), ...result, peakMemoryBytes: null };
    }
    clearTimeout(stalled);
    const result = await inTurn(() => {
      signal?.throwIfAborted();
      stalled = watchForStall();
      const onBlocks = (blocks: BlockDraft[]) => {
        for (const block of blocks) assembler.add(block);
      };
      return runChild(taskOf({ format, charset }, sizeBytes, limits), whole, { limits, signal, onBlocks });
    });
    return { ...assembler.finish(), ...result };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(stalled);
    signal?.removeEventListener('abort', onAbort);
    stream.destroy();
  }
}

function taskOf(detected: Pick<ChildTask, 'format' | 'charset'>, sizeBytes: number, limits: ExtractLimits): ChildTask {
  const { pagesMax, textCharsMax, htmlBytesMax, unpackedBytesMax, entriesMax } = limits;
  return { ...detected, sizeBytes, pagesMax, textCharsMax, htmlBytesMax, unpackedBytesMax, entriesMax };
}

function refuseLarge(format: FileFormat, sizeBytes: number, limits: ExtractLimits): void {
  const bytesMax = bytesMaxOf(format, limits);
  if (sizeBytes <= bytesMax) return;
  throw new ExtractError(
    'too_large',
    `the file has ${sizeBytes} bytes; at most ${bytesMax} are read of a ${format} file`,
  );
}

function bytesMaxOf(format: FileFormat, limits: ExtractLimits): number {
  switch (format) {
    case 'pdf':
      return limits.pdfBytesMax;
    case 'html':
      return limits.htmlBytesMax;
    case 'zip':
    case 'cfb':
      return limits.officeBytesMax;
    case 'rtf':
      return limits.rtfBytesMax;
    case 'eml':
      return limits.mailBytesMax;
    case 'txt':
    case 'md':
      return limits.textBytesMax;
    default:
      return limits.dataBytesMax;
  }
}

/** The first bytes of a stream, and an iterator over all of it, these bytes included. */
async function peek(stream: Readable): Promise<{ head: Uint8Array; whole: AsyncIterable<Uint8Array> }> {
  const iterator = (stream as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let length = 0;
  while (length < HEAD_BYTES) {
    const { done, value } = await iterator.next();
    if (done) break;
    first.push(value);
    length += value.length;
  }
  async function* whole(): AsyncGenerator<Uint8Array> {
    yield* first.splice(0);
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { head: Buffer.concat(first).subarray(0, HEAD_BYTES), whole: whole() };
}
