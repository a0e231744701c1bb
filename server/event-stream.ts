import { Readable } from 'node:stream';
import type { RouteReply } from './route.ts';

/** Interval for checking the caller's rights while a response is being sent. */
const RECHECK_MS = 500;

/**
 * Create a reply of server-sent events. It ends when the caller's rights change or the client disconnects. This also
 * ends the generator.
 */
export function eventStreamReply(events: AsyncIterable<string>, recheck: () => Promise<boolean>): RouteReply {
  const body = Readable.from(whileAllowed(events, recheck), { objectMode: false });
  return { body, type: 'text/event-stream', headers: { 'X-Accel-Buffering': 'no', 'Cache-Control': 'no-store' } };
}

async function* whileAllowed(
  events: AsyncIterable<string>,
  recheck: () => Promise<boolean>,
): AsyncGenerator<string, void> {
  let checkedAtMs = performance.now();
  for await (const event of events) {
    if (performance.now() - checkedAtMs >= RECHECK_MS) {
      if (!(await recheck())) return;
      checkedAtMs = performance.now();
    }
    yield event;
  }
}

/** Render a server-sent event. JSON text contains no line break, which would end the field. */
export function renderEvent(data: unknown, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}
