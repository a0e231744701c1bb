import { UpstreamFault } from './upstream-fault.ts';

/** A 200 whose body is not what was asked for: the vendor hiccuped, or something stands between us and it. */
export function badReply(code: string, message: string): UpstreamFault {
  return new UpstreamFault({ kind: 'transient', code, message: `unusable answer: ${message}` });
}

/**
 * @returns the body's JSON; the shape is not checked
 * @throws UpstreamFault `bad_json` for HTML, an empty or a cut-off body
 */
export function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(body));
  } catch {
    throw badReply('bad_json', body.byteLength === 0 ? 'the body is empty' : 'the body is not JSON');
  }
}

/** A view over the same bytes, not a copy, and Node's own UTF-8 decoder, which is quick on plain ASCII. */
function textOf(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
}

/** `value[key]` where value is an object, else undefined. */
export function field(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
