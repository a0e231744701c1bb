import { performance } from 'node:perf_hooks';
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { type Block, type BlockDraft, TextAssembler } from './blocks.ts';
import { decodeText } from './decode-text.ts';
import { type DetectedFormat, type DocumentFormat, detectFormat, HEAD_BYTES } from './detect-format.ts';
import { ExtractError, tooSlow, wrongSize } from './errors.ts';
import { DEFAULT_EXTRACT_LIMITS, type ExtractLimits } from './limits.ts';
import { readMarkdown } from './read-markdown.ts';
import { readText } from './read-text.ts';
import { runChild } from './run-child.ts';

export interface StoredFile {
  /** Called once; the stream is destroyed when it is not read to its end. */
  readonly open: () => Readable;
  readonly sizeBytes: number;
  /** Only a hint at the kind of text; never used as a path. */
  readonly fileName: string;
  readonly contentType?: string | null;
}

export interface ExtractedDocument {
  readonly format: DocumentFormat;
  /** The text that all character ranges refer to. */
  readonly text: string;
  readonly blocks: Block[];
  /** Null in formats without pages. */
  readonly pages: number | null;
  /** Pages, from 1, without any text (candidates for OCR). */
  readonly emptyPages: number[];
  /** Pages, from 1, that could not be read. */
  readonly failedPages: number[];
  /** Largest resident memory of the child; null where there was none or the system does not tell. */
  readonly peakMemoryBytes: number | null;
}

/** Between two looks at the clock and the signal, and turns of the event loop. */
const PAUSE_CHARS = 256 * 1024;

/**
 * Bytes of a stored file to text and blocks. txt and md are read here in slices that let the event loop turn; html
 * and pdf each in a child process.
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
  const { signal, inTurn = (run) => run() } = file;
  signal?.throwIfAborted();
  if (file.sizeBytes === 0) throw new ExtractError('corrupt', 'the file is empty');
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
    const detected = await detectFormat({ head, fileName: file.fileName, contentType: file.contentType ?? null });
    refuseLarge(detected.format, file.sizeBytes, limits);
    const assembler = new TextAssembler(limits);
    if (detected.format === 'html' || detected.format === 'pdf') {
      const { format, charset } = detected;
      const { pagesMax, textCharsMax } = limits;
      const task = { format, charset, sizeBytes: file.sizeBytes, pagesMax, textCharsMax };
      clearTimeout(stalled);
      const result = await inTurn(() => {
        signal?.throwIfAborted();
        stalled = watchForStall();
        const onBlocks = (blocks: BlockDraft[]) => {
          for (const block of blocks) assembler.add(block);
        };
        return runChild(task, whole, { limits, signal, onBlocks });
      });
      return { format, ...assembler.finish(), ...result };
    }
    const deadlineMs = Math.max(1, limits.deadlineMs - (performance.now() - startedAt));
    await assembleText(detected, await collectBytes(whole, file.sizeBytes), { assembler, deadlineMs, signal });
    return { format: detected.format, ...assembler.finish(), ...WITHOUT_PAGES };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(stalled);
    signal?.removeEventListener('abort', onAbort);
    stream.destroy();
  }
}

const WITHOUT_PAGES = { pages: null, emptyPages: [], failedPages: [], peakMemoryBytes: null };

async function assembleText(
  detected: DetectedFormat,
  bytes: Uint8Array,
  { assembler, deadlineMs, signal }: { assembler: TextAssembler; deadlineMs: number; signal: AbortSignal | undefined },
): Promise<void> {
  const startedAt = performance.now();
  const { text } = decodeText(bytes, detected.charset);
  const drafts: Iterable<BlockDraft> = detected.format === 'md' ? readMarkdown(text) : readText(text);
  let sincePause = 0;
  for (const draft of drafts) {
    assembler.add(draft);
    // Every block costs something, empty ones too.
    sincePause += draft.text.length + 64;
    if (sincePause < PAUSE_CHARS) continue;
    sincePause = 0;
    await setImmediate();
    signal?.throwIfAborted();
    if (performance.now() - startedAt > deadlineMs) throw tooSlow(deadlineMs);
  }
}

function refuseLarge(format: DocumentFormat, sizeBytes: number, limits: ExtractLimits): void {
  const bytesMax =
    format === 'pdf' ? limits.pdfBytesMax : format === 'html' ? limits.htmlBytesMax : limits.textBytesMax;
  if (sizeBytes <= bytesMax) return;
  throw new ExtractError(
    'too_large',
    `the file has ${sizeBytes} bytes; at most ${bytesMax} are read of a ${format} file`,
  );
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

async function collectBytes(source: AsyncIterable<Uint8Array>, sizeBytes: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(sizeBytes);
  let filled = 0;
  for await (const chunk of source) {
    if (filled + chunk.length > sizeBytes) throw wrongSize();
    bytes.set(chunk, filled);
    filled += chunk.length;
  }
  if (filled !== sizeBytes) throw wrongSize();
  return bytes;
}
