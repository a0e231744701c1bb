import type { Aim, Reply } from './client.ts';
import { BUILT_IN, CALIBRATED, UNCALIBRATED } from './installation.ts';
import { uniqueTexts } from './texts.ts';

export type TargetName = 'service' | 'upstream' | 'peer';

/** One line of the table: a load on one target, and what it may cost. */
export interface Row {
  /** Unique. */
  readonly id: string;
  readonly group: string;
  readonly name: string;
  readonly target: TargetName;
  readonly inFlight: number;
  readonly aim: Aim;
  /** The row of the bare upstream that its latency is compared with. */
  readonly floor?: string;
  /** Bounds of the design: CPU of the server for a request, and latency added at the median. */
  readonly cpuMsMax?: number;
  readonly addedMsMax?: number;
  /** @throws Error for an answer that is not what the row is about */
  readonly check?: (reply: Reply) => void;
}

const CACHED_TEXTS = 64;
const MIXED_IN_FLIGHT = 8;

export const FLOORS: readonly Row[] = [
  {
    ...{ id: 'healthz', group: 'floors', name: 'GET /healthz of the service', target: 'service', inFlight: 16 },
    aim: () => ({ path: '/healthz', body: null }),
  },
  bare('bare 1 x16', 1, 16),
  bare('bare 1 x1', 1, 1),
  bare('bare 100 x4', 100, 4),
  bare('bare 100 x1', 100, 1),
  bare('bare numbers 100 x1', 100, 1, 'float'),
];

/** The upstream itself, asked as the service asks it. */
function bare(id: string, texts: number, inFlight: number, format: 'base64' | 'float' = 'base64'): Row {
  return {
    ...{ id, group: 'floors', target: 'upstream', inFlight },
    name: `bare upstream, ${plural(texts)}${format === 'float' ? ' as numbers' : ''}`,
    aim: postPlainly(texts, format),
  };
}

export const GATEWAY: readonly Row[] = [
  ...ofModel(CALIBRATED, 'calibrated: projected into the canonical space', /^canon-v1; /),
  ...ofModel(UNCALIBRATED, 'not calibrated', /^uncalibrated$/),
];

function ofModel(model: string, group: string, projection: RegExp): Row[] {
  const row = (name: string, texts: number, inFlight: number, dimensions: number | undefined, more: Partial<Row>) => ({
    ...{ id: `${model}, ${name} x${inFlight}`, group, name, target: 'service' as const, inFlight },
    aim: post(() => ({ input: uniqueTexts(texts), model, dimensions })),
    check: answers(texts, dimensions ?? 1536, projection),
    ...more,
  });
  const cached = uniqueTexts(CACHED_TEXTS);
  let turn = 0;
  const hit = () => ({ input: cached[turn++ % CACHED_TEXTS], model });
  return [
    row('1 text', 1, 16, undefined, { floor: 'bare 1 x16', cpuMsMax: 0.4 }),
    row('1 text', 1, 1, undefined, { floor: 'bare 1 x1', addedMsMax: 1 }),
    row('1 text, cached', 1, 16, undefined, { aim: post(hit), cpuMsMax: 0.25 }),
    row('100 texts to 1,024', 100, 4, 1024, { floor: 'bare 100 x4', cpuMsMax: 14 }),
    row('100 texts', 100, 4, undefined, { floor: 'bare 100 x4', cpuMsMax: 20 }),
    row('100 texts to 1,024', 100, 1, 1024, { floor: 'bare 100 x1', addedMsMax: 15 }),
    row('100 texts', 100, 1, undefined, { floor: 'bare 100 x1', addedMsMax: 15 }),
    {
      ...{ id: `${model}, mixed`, group, name: 'mixed: 3 of 1 text, 1 cached, 1 of 100', target: 'service' },
      inFlight: MIXED_IN_FLIGHT,
      aim: post(() => {
        const kind = turn++ % 5;
        return kind === 4 ? hit() : { input: uniqueTexts(kind === 3 ? 100 : 1), model };
      }),
    },
  ];
}

/** No upstream has a part in these. */
export const BUILT_IN_ROWS: readonly Row[] = (
  [
    ['1 text to 1,024', 1, 16, 1024],
    ['1 text to 1,024', 1, 1, 1024],
    ['100 texts to 1,024', 100, 4, 1024],
    ['100 texts to 1,536', 100, 4, 1536],
  ] as const
).map(([name, texts, inFlight, dimensions]) => ({
  ...{ id: `built-in, ${name} x${inFlight}`, group: 'built-in model', name, target: 'service', inFlight },
  aim: post(() => ({ input: uniqueTexts(texts), model: BUILT_IN, dimensions })),
  check: answers(texts, dimensions, /^uncalibrated$/),
}));

export const PEER: readonly Row[] = (
  [
    [1, 16],
    [1, 1],
    [100, 4],
    [100, 1],
  ] as const
).map(([texts, inFlight]) => ({
  ...{ id: `peer, ${texts} x${inFlight}`, group: 'peer', name: plural(texts), target: 'peer', inFlight },
  floor: `bare ${texts} x${inFlight}`,
  // Not told otherwise it passes on what a client's library asks for; numbers are what the service answers with.
  aim: postPlainly(texts, 'float'),
  check: answers(texts, 1536, null),
}));

function post(body: () => object, path = '/v1/embeddings'): Aim {
  return () => ({ path, body: JSON.stringify(body()) });
}

/** As to the vendor itself; the base URL has the version in it. */
function postPlainly(texts: number, format: 'base64' | 'float'): Aim {
  const model = 'text-embedding-3-small';
  return post(() => ({ input: uniqueTexts(texts), model, encoding_format: format }), '/embeddings');
}

function plural(texts: number): string {
  return texts === 1 ? '1 text' : `${texts} texts`;
}

/** @param projection what `X-Service-Projection` must say; null: not a service of ours */
function answers(texts: number, dimensions: number, projection: RegExp | null): (reply: Reply) => void {
  return ({ body, headers }) => {
    const { data } = JSON.parse(body.toString()) as { data: { embedding: number[] }[] };
    if (data.length !== texts || data.some(({ embedding }) => embedding.length !== dimensions)) {
      throw new Error(`${data.length} vectors of ${data[0]?.embedding.length}, not ${texts} of ${dimensions}`);
    }
    const said = String(headers['x-service-projection']);
    if (projection !== null && !projection.test(said)) throw new Error(`X-Service-Projection is ${said}`);
  };
}
