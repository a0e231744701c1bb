import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { type ParseError, parse } from 'jsonc-parser';
import { z } from 'zod';
import { textsOf } from '../embedding/embed-input.ts';
import type { OutputType } from '../embedding/output-types.ts';
import { EmbeddingsRequest } from '../embedding/schema.ts';
import type { TaskType } from '../models/task-types.ts';
import { mostTelling, PARSE_OPTIONS, placeOf } from '../platform/zod-faults.ts';
import { parseWithNulls } from '../platform/zod-nulls.ts';
import { ENDPOINT } from './batch-schema.ts';

/** Input line: `custom_id`, method, path and body of one request. */
const Line = z.object({
  custom_id: z.string().min(1).max(512),
  method: z.literal('POST'),
  url: z.literal(ENDPOINT),
  body: EmbeddingsRequest,
});

/** Model, dimensions and task type of a request. Requests with equal values are embedded together. */
export interface RequestModel {
  readonly model: string | null;
  readonly dimensions: number | null;
  readonly taskType: TaskType | null;
}

/** Fault that prevents a line's request from running. */
export interface LineFault {
  readonly code: string;
  readonly message: string;
}

export interface ParsedLine {
  /** Line number, counted from 1. */
  readonly line: number;
  /** Start of the line within its block. */
  readonly start: number;
  readonly length: number;
  /** Null if the line has none that is readable. */
  readonly customId: string | null;
  readonly request: ParsedRequest | LineFault;
}

export interface ParsedRequest extends RequestModel {
  /** SHA-256 and length in UTF-16 code units of each text. */
  readonly texts: readonly { readonly hash: string; readonly length: number }[];
  readonly isList: boolean;
  readonly isBase64: boolean;
  readonly outputType: OutputType | null;
}

export interface ParseRequest {
  readonly bytes: Uint8Array;
  readonly firstLine: number;
}

export interface ParseReply {
  readonly lines: readonly ParsedLine[];
  /** Number of lines in the block, including blank ones. */
  readonly count: number;
}

const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = '\ufeff';

/** Parse the lines of a block, skipping blank ones. Runs on a thread. */
export function parseLines({ bytes, firstLine }: ParseRequest): ParseReply {
  const block = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const lines: ParsedLine[] = [];
  let count = 0;
  for (let start = 0; start < block.length; count++) {
    const newline = block.indexOf(NEWLINE, start);
    const end = newline === -1 ? block.length : newline;
    const line = firstLine + count;
    const parsed = parseLine(block.subarray(start, end), line);
    if (parsed !== null) lines.push({ line, start, length: end - start, ...parsed });
    start = end + 1;
  }
  return { lines, count };
}

/** Parse a line. Return null if it is blank. */
function parseLine(bytes: Buffer, line: number): Pick<ParsedLine, 'customId' | 'request'> | null {
  const refuse = (code: string, message: string, customId: string | null = null) => ({
    customId,
    request: { code, message: `line ${line}${message}` },
  });
  if (!isUtf8(bytes)) return refuse('invalid_utf8', ': is not valid UTF-8');
  const text = bytes.toString('utf8');
  if (text.trim() === '' || text === BYTE_ORDER_MARK) return null;
  let value: unknown;
  try {
    value = parseJsonLine(text);
  } catch {
    return refuse('invalid_json', `, column ${faultColumn(text)}: is not valid JSON`);
  }
  const parsed = parseWithNulls(Line, value, PARSE_OPTIONS);
  if (parsed.success) return { customId: parsed.data.custom_id, request: requestOf(parsed.data.body) };
  const id = Line.shape.custom_id.safeParse((value as { custom_id?: unknown } | null)?.custom_id);
  const { path, message } = mostTelling(parsed.error.issues[0] as z.core.$ZodIssue);
  const place = placeOf(path);
  return refuse('invalid_request', `: ${place === null ? '' : `${place}: `}${message}`, id.data ?? null);
}

/** Parse the JSON of a line. The first line may start with a byte order mark. */
export function parseJsonLine(text: string): unknown {
  return JSON.parse(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);
}

/** Return the column, counted from 1, of the first character that can't be part of JSON. */
function faultColumn(text: string): number {
  const errors: ParseError[] = [];
  try {
    parse(text, errors, { disallowComments: true });
  } catch {
    return 1; // too deeply nested to locate
  }
  return (errors[0]?.offset ?? 0) + 1;
}

function requestOf(body: z.output<typeof EmbeddingsRequest>): ParsedRequest {
  return {
    model: body.model ?? null,
    dimensions: body.dimensions ?? null,
    taskType: body.task_type ?? null,
    texts: textsOf(body.input).map((text) => ({ hash: hash('sha256', text, 'base64url'), length: text.length })),
    isList: typeof body.input !== 'string',
    isBase64: body.encoding_format === 'base64',
    outputType: body.output_dtype ?? null,
  };
}
