import { Readable } from 'node:stream';
import { z } from 'zod';
import type { LiveEvent, Topic } from '../../src/appliance/live/events.ts';
import { TOPICS } from '../../src/appliance/live/events.ts';
import type { EventStream, LiveEvents } from '../../src/appliance/live/live-events.ts';
import { invalidRequest } from '../../src/platform/errors.ts';
import { defineRoute, type Route } from '../route.ts';

/** Time without an event after which to send a comment, so that no proxy closes the connection. */
const HEARTBEAT_MS = 15_000;
/** Interval for checking the caller's credential and rights. The resolver may cache them for as long. */
const RECHECK_MS = 500;
/** Time after which a browser reconnects. */
const RETRY_MS = 2_000;

const query = z.object({
  topics: z
    .string()
    .max(200)
    .default(TOPICS.join(','))
    .describe(`list of ${TOPICS.join(', ')}, separated by commas`)
    .transform((list): ReadonlySet<Topic> => new Set(list.split(',').map(toTopic))),
  last_event_id: z
    .string()
    .max(100)
    .optional()
    .describe('value of the header Last-Event-ID, for clients that cannot send the header'),
});

function toTopic(name: string): Topic {
  const topic = TOPICS.find((each) => each === name.trim());
  if (topic === undefined) throw invalidRequest(`topics: use ${TOPICS.join(', ')}`, 'topics');
  return topic;
}

/** Create the route of the stream of changes. */
export function eventRoutes(live: LiveEvents): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/events',
      operationId: 'streamEvents',
      summary: 'Changes to objects that the caller may see, as they happen (text/event-stream)',
      access: 'caller',
      streams: true,
      capacity: 'none',
      query,
      responses: { 200: { description: 'Events, until the client leaves', mediaType: 'text/event-stream' } },
      refusals: [429],
      async handle({ caller, query, lastEventId, recheck, signal }) {
        const { topics, last_event_id } = query;
        const stream = live.open(caller, { topics, lastEventId: lastEventId ?? last_event_id ?? null });
        const body = Readable.from(lines(stream, recheck, signal), { objectMode: false, highWaterMark: 16 * 1024 });
        body.once('close', () => stream.close());
        return { body, type: 'text/event-stream', headers: { 'X-Accel-Buffering': 'no' } };
      },
    }),
  ];
}

/** Render the events of a stream, until it ends, the client disconnects, or the caller's rights change. */
async function* lines(
  stream: EventStream,
  recheck: () => Promise<boolean>,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  try {
    yield `retry: ${RETRY_MS}\n\n`;
    let checkedAtMs = performance.now();
    let sentAtMs = checkedAtMs;
    while (!signal.aborted) {
      const events = await stream.take(RECHECK_MS, signal);
      if (events === null || signal.aborted) return;
      if (performance.now() - checkedAtMs >= RECHECK_MS) {
        if (!(await recheck())) return;
        checkedAtMs = performance.now();
      }
      const isQuiet = performance.now() - sentAtMs >= HEARTBEAT_MS;
      if (events.length === 0 && !isQuiet) continue;
      yield events.length === 0 ? ': \n\n' : events.map(render).join('');
      sentAtMs = performance.now();
    }
  } finally {
    stream.close();
  }
}

function render({ id, change }: LiveEvent): string {
  const name = change === null ? 'reset' : change.topic;
  // JSON text contains no line break, which would end the field.
  return `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(change ?? {})}\n\n`;
}
