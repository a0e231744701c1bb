import { setTimeout as delay } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { badReply } from '../../platform/upstream/parse-json.ts';
import type { ChatPart, EndReason } from './chat-model.ts';
import type { ChatProtocol } from './protocols.ts';

/** Maximum length of an answer on the wire. An event of a few characters takes about 300 bytes. */
const BYTES_MAX = 16 * 1024 * 1024;
/** Maximum characters per requested token. A vendor that sends more ignores the limit. */
const CHARS_PER_TOKEN_MAX = 20;

/** Time limit for the end of a response after its last event. A connection can be reused only after that end. */
const END_MS = 100;

/**
 * Parse an answer that arrives as server-sent events.
 *
 * @throws UpstreamFault if the answer is cut off, too long, or malformed
 */
export async function* readParts(
  protocol: Pick<ChatProtocol, 'read'>,
  body: AsyncIterable<Uint8Array>,
  outputTokensMax: number,
): AsyncGenerator<ChatPart, void> {
  const events = eventsOf(body);
  try {
    yield* partsOf(protocol, events, outputTokensMax);
  } finally {
    // End the response without waiting for a pending read.
    events.return().catch(() => undefined);
  }
}

async function* partsOf(
  protocol: Pick<ChatProtocol, 'read'>,
  events: AsyncGenerator<string, void>,
  outputTokensMax: number,
): AsyncGenerator<ChatPart, void> {
  let reason: EndReason | null = null;
  let chars = 0;
  const usage: { input: number | null; output: number | null } = { input: null, output: null };
  for (let next = await events.next(); !next.done; next = await events.next()) {
    const event = protocol.read(next.value);
    usage.input = event.inputTokens ?? usage.input;
    usage.output = event.outputTokens ?? usage.output;
    // Keep a refusal, whatever later events say.
    if (event.reason !== undefined && reason !== 'refusal') reason = event.reason;
    if (event.text !== undefined) {
      chars += event.text.length;
      yield { kind: 'text', text: event.text };
    }
    const isTooLong = chars > outputTokensMax * CHARS_PER_TOKEN_MAX;
    if (!event.isLast && !isTooLong) continue;
    if (event.isLast) await Promise.race([events.next().catch(() => undefined), delay(END_MS)]);
    yield { kind: 'end', reason: isTooLong ? 'length' : (reason ?? 'stop'), usage };
    return;
  }
  // Some servers close the connection after the finish reason, without a final event.
  if (reason === null) throw badReply('cut_off', 'the answer was cut off');
  yield { kind: 'end', reason, usage };
}

/** Yield the data of each server-sent event. */
async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const arrived: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => arrived.push(data) });
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const part of body) {
    bytes += part.byteLength;
    if (bytes > BYTES_MAX) throw badReply('body_too_large', `the answer is longer than ${BYTES_MAX} bytes`);
    parser.feed(decoder.decode(part, { stream: true }));
    yield* arrived.splice(0);
  }
  parser.reset({ consume: true });
  yield* arrived.splice(0);
}
