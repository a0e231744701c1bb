import { UpstreamFault } from './upstream-fault.ts';

/** Create the fault for a 200 with an unexpected body, from the vendor or a proxy in between. */
export function badReply(code: string, message: string): UpstreamFault {
  return new UpstreamFault({ kind: 'transient', code, message: `unusable answer: ${message}` });
}

/**
 * Parse a body as JSON without checking its shape.
 * @throws UpstreamFault `bad_json` for HTML, or an empty or truncated body
 */
export function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(body));
  } catch {
    throw badReply('bad_json', body.byteLength === 0 ? 'the body is empty' : 'the body is not JSON');
  }
}

/** Decode UTF-8 from a view of the bytes without copying. Node's own decoder is fast on plain ASCII. */
function textOf(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
}

/** Return `value[key]` if `value` is an object, else undefined. */
export function field(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
