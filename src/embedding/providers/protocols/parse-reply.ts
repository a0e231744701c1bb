import { freeMemory, ownsMemory } from '../../../platform/free-memory.ts';
import type { Threads } from '../../../platform/threads.ts';
import { type FaultFields, UpstreamFault } from '../../../platform/upstream/upstream-fault.ts';
import type { UpstreamHeaders } from '../../../platform/upstream/upstream-message.ts';
import type { ProtocolName } from '../provider.ts';
import type { ParsedVectors } from './protocol.ts';
import { protocolOf } from './protocol-of.ts';

/** Longer bodies are read on a thread. Measured: base64 takes 1.3 ms a megabyte, decimal numbers 2.2; a thread 0.5 ms. */
const INLINE_BASE64_BYTES_MAX = 2_500_000;
const INLINE_NUMBERS_BYTES_MAX = 200_000;
/** The first vector of an OpenAI-shaped answer begins within so many bytes, as far as servers are known. */
const HEAD_BYTES = 1024;

/** Structured-cloneable. */
export interface ReplyToParse {
  readonly protocol: ProtocolName;
  readonly headers: UpstreamHeaders;
  readonly body: Uint8Array;
  readonly count: number;
  readonly dimensions: number;
}

/** Errors lose their class between threads, so that a fault travels as its fields. */
export type ParsedOrFault = ParsedVectors | { readonly fault: FaultFields };

/** Runs on a worker thread, and just as well on the calling one. */
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
 * Reads a 2xx answer here where that takes a few milliseconds, else on a thread. The body must not be used
 * afterwards: its memory may have moved to the thread.
 *
 * @throws UpstreamFault of kind `transient`; the signal's reason once it is aborted while the thread works
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
    // The pool has an abort error of its own.
    signal?.throwIfAborted();
    throw error;
  }
  if ('fault' in outcome) throw new UpstreamFault(outcome.fault);
  return outcome;
}

/** Whether reading the answer takes so little that a thread is not worth its while: at most some 4 ms. */
export function isQuick({ protocol, body }: Pick<ReplyToParse, 'protocol' | 'body'>): boolean {
  if (body.byteLength <= INLINE_NUMBERS_BYTES_MAX) return true;
  if (body.byteLength > INLINE_BASE64_BYTES_MAX) return false;
  if (protocol !== 'openai' && protocol !== 'voyage' && protocol !== 'jina') return false;
  // Base64 was asked for, but not every server knows it.
  const head = Buffer.from(body.buffer, body.byteOffset, Math.min(HEAD_BYTES, body.byteLength)).toString('latin1');
  return /"embedding"\s*:\s*"/.test(head);
}

/** Bytes that may be moved away: small Buffers live in a pool that others share, and a view may be part of more. */
function ownMemory(body: Uint8Array): Uint8Array<ArrayBuffer> {
  return ownsMemory(body) ? new Uint8Array(body.buffer) : new Uint8Array(body);
}
