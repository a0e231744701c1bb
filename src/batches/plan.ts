import { hash } from 'node:crypto';
import type { OutputType } from '../embedding/output-types.ts';
import { yieldToEventLoop } from '../platform/event-loop.ts';
import { ownsMemory } from '../platform/free-memory.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Threads } from '../platform/threads.ts';
import { type BatchError, REQUESTS_MAX, TEXTS_MAX } from './batch-schema.ts';
import {
  type LineFault,
  type ParsedLine,
  type ParsedRequest,
  type ParseReply,
  type ParseRequest,
  parseLines,
  type RequestModel,
} from './parse-lines.ts';
import { BLOCK_BYTES, LINE_BYTES_MAX, readBlocks } from './read-blocks.ts';

const CHUNK_TEXTS = 100;
/** Size of a full chunk, in UTF-16 code units of its texts. */
const CHUNK_UNITS = 1024 * 1024;
const ERRORS_SHOWN_MAX = 100;
/** Maximum size of a block to parse on the event loop. */
const INLINE_BYTES_MAX = 4 * BLOCK_BYTES;
const PARSE_MODULE = new URL('./parse-lines.ts', import.meta.url);

/** Text to embed once, even if several requests contain it. */
export interface PlannedText {
  readonly chunk: number;
  /** Position among the texts of its chunk. */
  readonly row: number;
  /** Byte range in the input of the first line that contains it. */
  readonly offset: number;
  readonly length: number;
  /** Position among the texts of that line. */
  readonly place: number;
}

export interface PlannedRequest {
  readonly line: number;
  readonly customId: string;
  /** Text numbers, in the order of the request. */
  readonly texts: readonly number[];
  readonly isList: boolean;
  readonly isBase64: boolean;
  readonly outputType: OutputType | null;
}

/** Line whose request won't run. */
export interface RefusedLine {
  readonly line: number;
  readonly customId: string | null;
  readonly fault: LineFault;
}

/** Texts to embed with one call. */
export interface PlannedChunk {
  readonly number: number;
  readonly group: number;
  /** Text numbers. */
  readonly texts: readonly number[];
  /** SHA-256 over its texts, so that a stored chunk is only used for equal texts. */
  readonly hash: string;
}

/** Work of a batch. It depends only on the bytes of the input, so every attempt computes the same plan. */
export interface Plan {
  readonly lines: readonly (PlannedRequest | RefusedLine)[];
  readonly groups: readonly RequestModel[];
  readonly texts: readonly PlannedText[];
  readonly chunks: readonly PlannedChunk[];
}

/** Error for an input that invalidates the whole batch. */
export class InvalidInput extends Error {
  readonly errors: readonly BatchError[];

  constructor(errors: readonly BatchError[]) {
    super(errors[0]?.message);
    this.errors = errors;
  }
}

/**
 * Stream an input and plan its requests.
 * @throws InvalidInput; AppError `object_not_found` (404), `objects_unavailable` (503)
 */
export async function planInput(
  { objects, threads }: { readonly objects: Objects; readonly threads: Threads },
  inputKey: string,
  signal: AbortSignal,
): Promise<Plan> {
  const planner = new Planner();
  let firstLine = 1;
  for await (const { offset, bytes } of readBlocks(objects.stream(inputKey, { signal }))) {
    if (bytes === null) {
      const message = `line ${firstLine}: is longer than ${LINE_BYTES_MAX} bytes`;
      const request = { code: 'line_too_long', message };
      planner.add({ line: firstLine++, start: 0, length: 0, customId: null, request }, offset);
      continue;
    }
    const reply = await parseBlock(threads, { bytes, firstLine }, signal);
    for (const line of reply.lines) planner.add(line, offset);
    firstLine += reply.count;
  }
  return planner.finish();
}

/** Parse a block. Use a thread for long lines, which would block the event loop. */
async function parseBlock(threads: Threads, request: ParseRequest, signal: AbortSignal): Promise<ParseReply> {
  const { bytes } = request;
  if (bytes.length <= INLINE_BYTES_MAX) {
    await yieldToEventLoop();
    return parseLines(request);
  }
  const transfer = ownsMemory(bytes) ? [bytes.buffer] : [];
  return threads.run<ParseReply>(PARSE_MODULE, 'parseLines', request, { signal, transfer });
}

interface OpenChunk {
  readonly number: number;
  readonly group: number;
  readonly texts: number[];
  readonly hashes: string[];
  units: number;
}

/** Requests that are embedded together. */
interface Group {
  readonly number: number;
  readonly model: RequestModel;
  /** Text numbers by text hash. */
  readonly known: Map<string, number>;
  open: OpenChunk | null;
}

class Planner {
  readonly #lines: (PlannedRequest | RefusedLine)[] = [];
  readonly #groups = new Map<string, Group>();
  readonly #texts: PlannedText[] = [];
  readonly #chunks: OpenChunk[] = [];
  readonly #lineOfId = new Map<string, number>();
  readonly #errors: BatchError[] = [];
  #textsAsked = 0;

  /** @param offset position of the line's block in the input */
  add({ line, customId, request, start, length }: ParsedLine, offset: number): void {
    if (this.#lines.length === REQUESTS_MAX) {
      const message = `line ${line}: a batch takes up to ${REQUESTS_MAX} requests`;
      throw new InvalidInput([{ code: 'request_limit_exceeded', message, param: null, line }]);
    }
    if (customId !== null) this.#refuseDuplicate(customId, line);
    if ('code' in request || customId === null) {
      this.#lines.push({ line, customId, fault: request as LineFault });
      return;
    }
    this.#textsAsked += request.texts.length;
    if (this.#textsAsked > TEXTS_MAX) {
      const message = `line ${line}: a batch takes up to ${TEXTS_MAX} texts in all its requests`;
      throw new InvalidInput([{ code: 'text_limit_exceeded', message, param: 'body.input', line }]);
    }
    const texts = this.#number(request, { offset: offset + start, length });
    const { isList, isBase64, outputType } = request;
    this.#lines.push({ line, customId, texts, isList, isBase64, outputType });
  }

  finish(): Plan {
    if (this.#errors.length > 0) throw new InvalidInput(this.#errors);
    if (this.#lines.length === 0) {
      throw new InvalidInput([{ code: 'empty_file', message: 'the input has no requests', param: null, line: null }]);
    }
    return {
      lines: this.#lines,
      groups: [...this.#groups.values()].map(({ model }) => model),
      texts: this.#texts,
      chunks: this.#chunks.map(({ number, group, texts, hashes }) => ({
        number,
        group,
        texts,
        hash: hash('sha256', hashes.join(' '), 'base64url'),
      })),
    };
  }

  #refuseDuplicate(customId: string, line: number): void {
    const first = this.#lineOfId.get(customId);
    if (first === undefined) {
      this.#lineOfId.set(customId, line);
      return;
    }
    if (this.#errors.length === ERRORS_SHOWN_MAX) return;
    const message = `line ${line}: has the same custom_id as line ${first}; each request needs its own`;
    this.#errors.push({ code: 'duplicate_custom_id', message, param: 'custom_id', line });
  }

  /** Number the texts of a request. A text that already occurs in its group keeps its number. */
  #number(request: ParsedRequest, at: { readonly offset: number; readonly length: number }): number[] {
    const { model, dimensions, taskType } = request;
    const key = JSON.stringify([model, dimensions, taskType]);
    const group: Group = this.#groups.get(key) ?? {
      number: this.#groups.size,
      model: { model, dimensions, taskType },
      known: new Map(),
      open: null,
    };
    this.#groups.set(key, group);
    return request.texts.map((text, place) => {
      const earlier = group.known.get(text.hash);
      if (earlier !== undefined) return earlier;
      group.open ??= this.#openChunk(group.number);
      const chunk = group.open;
      const number = this.#texts.length;
      this.#texts.push({ chunk: chunk.number, row: chunk.texts.length, place, ...at });
      group.known.set(text.hash, number);
      chunk.texts.push(number);
      chunk.hashes.push(text.hash);
      chunk.units += text.length;
      if (chunk.texts.length === CHUNK_TEXTS || chunk.units >= CHUNK_UNITS) group.open = null;
      return number;
    });
  }

  #openChunk(group: number): OpenChunk {
    const chunk = { number: this.#chunks.length, group, texts: [], hashes: [], units: 0 };
    this.#chunks.push(chunk);
    return chunk;
  }
}
