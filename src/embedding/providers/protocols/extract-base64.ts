import type { ExpectedVectors } from './protocol.ts';
import { base64SizeOf } from './vectors.ts';

const MEMBER = Buffer.from('"embedding"');
const QUOTE = 0x22;
const COLON = 0x3a;

/** Parsed response with a number in place of each base64 string. */
export interface ExtractedBase64 {
  readonly answer: unknown;
  /** Return the base64 string that a number replaces, or any other value unchanged. */
  readonly base64Of: (embedding: unknown) => unknown;
}

/**
 * Parse an OpenAI-shaped response without its base64 strings, which are most of it. This takes a tenth of the memory
 * and a third of the time of JSON-parsing the whole response. JSON strings escape inner quotes. Therefore
 * `"embedding":"` is either a member name and the start of its value, or the end of a longer name. Only
 * `data[i].embedding` is read afterwards.
 *
 * @returns null if the response isn't JSON, or lacks a base64 string of the right length for each expected vector; the
 *   JSON parser then finds the fault
 */
export function extractBase64(bytes: Uint8Array, { count, dimensions }: ExpectedVectors): ExtractedBase64 | null {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { digits, padding } = base64SizeOf(dimensions);
  const starts: number[] = [];
  const ends: number[] = [];
  let withoutBase64 = '';
  let copied = 0;
  let from = 0;
  for (let at = body.indexOf(MEMBER); at !== -1; at = body.indexOf(MEMBER, from)) {
    const colon = skipSpace(body, at + MEMBER.length);
    from = colon;
    // This is a value, not a name: each item has `"object":"embedding"`.
    if (body[colon] !== COLON) continue;
    const open = skipSpace(body, colon + 1);
    if (body[open] !== QUOTE) return null;
    const end = body.indexOf(QUOTE, open + 1);
    const length = end - open - 1;
    if (length !== digits && length !== digits + padding) return null;
    if (starts.push(open + 1) > count) return null;
    ends.push(end);
    withoutBase64 += body.toString('utf8', copied, open) + String(starts.length - 1);
    copied = end + 1;
    from = copied;
  }
  if (starts.length !== count) return null;
  withoutBase64 += body.toString('utf8', copied);
  let answer: unknown;
  try {
    answer = JSON.parse(withoutBase64);
  } catch {
    return null;
  }
  const base64Of = (embedding: unknown) =>
    typeof embedding === 'number' ? body.toString('latin1', starts[embedding], ends[embedding]) : embedding;
  return { answer, base64Of };
}

/** Skip the white space of JSON: space, tab, line feed, carriage return. */
function skipSpace(body: Buffer, from: number): number {
  let at = from;
  while (body[at] === 0x20 || body[at] === 0x09 || body[at] === 0x0a || body[at] === 0x0d) at++;
  return at;
}
