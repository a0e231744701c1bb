import { freeMemory, ownsMemory } from '../../../platform/free-memory.ts';
import type { Threads } from '../../../platform/threads.ts';
import { type FaultFields, UpstreamFault } from '../../../platform/upstream/upstream-fault.ts';
import type { UpstreamHeaders } from '../../../platform/upstream/upstream-message.ts';
import type { ProtocolName } from '../provider.ts';
import { parseOpenAiShape } from './openai.ts';
import type { ParsedVectors } from './protocol.ts';
import { protocolOf } from './protocol-of.ts';

/**
 * Maximum body to parse inline; longer ones go to a thread (0.5 ms). Measured per megabyte: base64 1.3 ms, decimal
 * numbers 2.2 ms.
 */
const INLINE_BASE64_BYTES_MAX = 2_500_000;
const INLINE_NUMBERS_BYTES_MAX = 200_000;
/** Number of bytes within which the first vector of an OpenAI-shaped response starts on all known servers. */
const HEAD_BYTES = 1024;

/** Answer of an upstream, in a form that can be sent to a thread. */
export interface ReplyToParse {
  readonly protocol: ProtocolName;
  readonly headers: UpstreamHeaders;
  readonly body: Uint8Array;
  readonly count: number;
  readonly dimensions: number;
}

/** Result of parsing. A fault is its fields, since errors lose their class between threads. */
export type ParsedOrFault = ParsedVectors | { readonly fault: FaultFields };

/** Parse an answer on the calling thread. */
export function parseReply(reply: ReplyToParse): ParsedOrFault {
  try {
    return protocolOf(reply.protocol).parse(reply, reply);
  } catch (error) {
    if (!(error instanceof UpstreamFault)) throw error;
    const { kind, status, code, retryAfterMs, message } = error;
    return { fault: { kind, status, code, retryAfterMs, message } };
  }
}

/**
 * Parse a 2xx answer on the calling thread if that takes at most a few milliseconds, else on a worker thread. Do not
 * use the body afterwards, because its memory may have moved to the worker.
 *
 * @throws UpstreamFault of kind `transient`; the signal's reason if it is aborted while the thread works
 */
export async function parseOn(threads: Threads, reply: ReplyToParse, signal?: AbortSignal): Promise<ParsedVectors> {
  if (isQuick(reply)) {
    const parsed = protocolOf(reply.protocol).parse(reply, reply);
    if (ownsMemory(reply.body)) freeMemory(reply.body);
    return parsed;
  }
  const body = ownMemory(reply.body);
  const { protocol, headers, count, dimensions } = reply;
  let outcome: ParsedOrFault;
  try {
    outcome = await threads.run<ParsedOrFault>(
      new URL(import.meta.url),
      'parseReply',
      { protocol, headers: { ...headers }, body, count, dimensions } satisfies ReplyToParse,
      { transfer: [body.buffer], ...(signal ? { signal } : {}) },
    );
  } catch (error) {
    // The pool rejects with its own abort error instead of the signal's reason.
    signal?.throwIfAborted();
    throw error;
  }
  if ('fault' in outcome) throw new UpstreamFault(outcome.fault);
  return outcome;
}

/** Return true if parsing takes at most about 4 ms, so that a thread isn't worthwhile. */
export function isQuick({ protocol, body }: Pick<ReplyToParse, 'protocol' | 'body'>): boolean {
  if (body.byteLength <= INLINE_NUMBERS_BYTES_MAX) return true;
  if (body.byteLength > INLINE_BASE64_BYTES_MAX) return false;
  if (protocolOf(protocol).parse !== parseOpenAiShape) return false;
  // We ask for base64, but not every server supports it.
  const head = Buffer.from(body.buffer, body.byteOffset, Math.min(HEAD_BYTES, body.byteLength)).toString('latin1');
  return /"embedding"\s*:\s*"/.test(head);
}

/**
 * Return bytes that can be transferred to a thread. Copy them if they share memory: small Buffers lie in a pool, and a
 * view may cover part of a buffer.
 */
function ownMemory(body: Uint8Array): Uint8Array<ArrayBuffer> {
  return ownsMemory(body) ? new Uint8Array(body.buffer) : new Uint8Array(body);
}
