import type { MakeRequest, Reply } from './client.ts';
import { BUILT_IN, CALIBRATED, UNCALIBRATED } from './installation.ts';
import { uniqueTexts } from './texts.ts';

export type TargetName = 'service' | 'upstream' | 'proxy' | 'peer';

/** Row of the table: a load on one target, and limits on its cost. */
export interface Row {
  /** Unique id. */
  readonly id: string;
  readonly group: string;
  readonly name: string;
  readonly target: TargetName;
  readonly concurrency: number;
  readonly makeRequest: MakeRequest;
  /** Row of the bare upstream to compare the latency with. */
  readonly floor?: string;
  /** Limits by design: server CPU per request, and added median latency. */
  readonly cpuMsMax?: number;
  readonly addedMsMax?: number;
  /** Rows of the bare proxy to compare this row's CPU per request with, and limit on the multiple of the first. */
  readonly cpuFloor?: string;
  readonly cpuFloorOfClient?: string;
  readonly cpuTimesMax?: number;
  /** Check a response. @throws Error for a response that the row doesn't expect */
  readonly check?: (reply: Reply) => void;
}

const CACHED_TEXTS = 64;
const MIXED_CONCURRENCY = 8;
/** Goal: CPU for a text without a map as a multiple of that of the bare proxy, at 16 in flight. */
const CPU_TIMES_MAX = 2;

export const FLOORS: readonly Row[] = [
  {
    ...{ id: 'healthz', group: 'floors', name: 'GET /healthz of the service', target: 'service', concurrency: 16 },
    makeRequest: () => ({ path: '/healthz', body: null }),
  },
  bare('bare 1 x16', 1, 16),
  bare('bare 1 x1', 1, 1),
  bare('bare 100 x4', 100, 4),
  bare('bare 100 x1', 100, 1),
  bare('bare numbers 100 x1', 100, 1, 'float'),
  proxy('proxy 1 x16', 16),
  proxy('proxy 1 x1', 1),
  proxy('proxy numbers 1 x16', 16, 'float'),
  proxy('proxy numbers 1 x1', 1, 'float'),
];

/**
 * Create a row that sends one text through the bare proxy. The response is either in base64, as the service requests
 * it, or in numbers, as the client gets them without naming a format.
 */
function proxy(id: string, concurrency: number, format: 'base64' | 'float' = 'base64'): Row {
  return {
    ...{ id, group: 'floors', target: 'proxy', concurrency },
    name: `bare proxy, 1 text${format === 'float' ? ' as numbers' : ''}`,
    makeRequest: postToVendor(1, format),
  };
}

/** Create a row that calls the upstream directly, as the service does. */
function bare(id: string, texts: number, concurrency: number, format: 'base64' | 'float' = 'base64'): Row {
  return {
    ...{ id, group: 'floors', target: 'upstream', concurrency },
    name: `bare upstream, ${plural(texts)}${format === 'float' ? ' as numbers' : ''}`,
    makeRequest: postToVendor(texts, format),
  };
}

/** Ids of the rows of one text at one in flight, projected and not, whose added latencies are compared. */
export const ONE_TEXT = { projected: `${CALIBRATED}, 1 text x1`, plain: `${UNCALIBRATED}, 1 text x1` } as const;
/** Goal: latency added to a projected text as a multiple of that added without a map. */
export const PROJECTED_TIMES_MAX = 1.5;

export const GATEWAY: readonly Row[] = [
  ...ofModel(CALIBRATED, 'calibrated: projected into the canonical space', /^canon-v1; /),
  ...ofModel(UNCALIBRATED, 'not calibrated', /^uncalibrated$/, CPU_TIMES_MAX),
];

function ofModel(model: string, group: string, projection: RegExp, cpuTimesMax?: number): Row[] {
  const times = cpuTimesMax === undefined ? {} : { cpuTimesMax };
  const row = (
    name: string,
    texts: number,
    concurrency: number,
    dimensions: number | undefined,
    more: Partial<Row>,
  ) => ({
    ...{ id: `${model}, ${name} x${concurrency}`, group, name, target: 'service' as const, concurrency },
    makeRequest: post(() => ({ input: uniqueTexts(texts), model, dimensions })),
    check: checkAnswer(texts, dimensions ?? 1536, projection),
    ...more,
  });
  const cached = uniqueTexts(CACHED_TEXTS);
  let sent = 0;
  const hit = () => ({ input: cached[sent++ % CACHED_TEXTS], model });
  return [
    row('1 text', 1, 16, undefined, {
      floor: 'bare 1 x16',
      cpuMsMax: 0.4,
      cpuFloor: 'proxy 1 x16',
      cpuFloorOfClient: 'proxy numbers 1 x16',
      ...times,
    }),
    row('1 text', 1, 1, undefined, {
      floor: 'bare 1 x1',
      addedMsMax: 1,
      cpuFloor: 'proxy 1 x1',
      cpuFloorOfClient: 'proxy numbers 1 x1',
    }),
    row('1 text, cached', 1, 16, undefined, { makeRequest: post(hit), cpuMsMax: 0.25 }),
    row('100 texts to 1,024', 100, 4, 1024, { floor: 'bare 100 x4', cpuMsMax: 14 }),
    row('100 texts', 100, 4, undefined, { floor: 'bare 100 x4', cpuMsMax: 20 }),
    row('100 texts to 1,024', 100, 1, 1024, { floor: 'bare 100 x1', addedMsMax: 15 }),
    row('100 texts', 100, 1, undefined, { floor: 'bare 100 x1', addedMsMax: 15 }),
    {
      ...{ id: `${model}, mixed`, group, name: 'mixed: 3 of 1 text, 1 cached, 1 of 100', target: 'service' },
      concurrency: MIXED_CONCURRENCY,
      makeRequest: post(() => {
        const kind = sent++ % 5;
        return kind === 4 ? hit() : { input: uniqueTexts(kind === 3 ? 100 : 1), model };
      }),
    },
  ];
}

/** Rows of the built-in model, which calls no upstream. */
export const BUILT_IN_ROWS: readonly Row[] = (
  [
    ['1 text to 1,024', 1, 16, 1024],
    ['1 text to 1,024', 1, 1, 1024],
    ['100 texts to 1,024', 100, 4, 1024],
    ['100 texts to 1,536', 100, 4, 1536],
  ] as const
).map(([name, texts, concurrency, dimensions]) => ({
  ...{ id: `built-in, ${name} x${concurrency}`, group: 'built-in model', name, target: 'service', concurrency },
  makeRequest: post(() => ({ input: uniqueTexts(texts), model: BUILT_IN, dimensions })),
  check: checkAnswer(texts, dimensions, /^uncalibrated$/),
}));

export const PEER: readonly Row[] = (
  [
    [1, 16],
    [1, 1],
    [100, 4],
    [100, 1],
  ] as const
).map(([texts, concurrency]) => ({
  ...{ id: `peer, ${texts} x${concurrency}`, group: 'peer', name: plural(texts), target: 'peer', concurrency },
  floor: `bare ${texts} x${concurrency}`,
  // By default, the peer forwards the client's format. The service responds with numbers, so compare numbers.
  makeRequest: postToVendor(texts, 'float'),
  check: checkAnswer(texts, 1536, null),
}));

function post(body: () => object, path = '/v1/embeddings'): MakeRequest {
  return () => ({ path, body: JSON.stringify(body()) });
}

/** Create requests as for the vendor itself, whose base URL includes the version. */
function postToVendor(texts: number, format: 'base64' | 'float'): MakeRequest {
  const model = 'text-embedding-3-small';
  return post(() => ({ input: uniqueTexts(texts), model, encoding_format: format }), '/embeddings');
}

function plural(texts: number): string {
  return texts === 1 ? '1 text' : `${texts} texts`;
}

/** Return a check of a response. @param projection expected `X-Service-Projection`, or null for another server */
function checkAnswer(texts: number, dimensions: number, projection: RegExp | null): (reply: Reply) => void {
  return ({ body, headers }) => {
    const { data } = JSON.parse(body.toString()) as { data: { embedding: number[] }[] };
    if (data.length !== texts || data.some(({ embedding }) => embedding.length !== dimensions)) {
      throw new Error(`${data.length} vectors of ${data[0]?.embedding.length}, not ${texts} of ${dimensions}`);
    }
    const header = String(headers['x-service-projection']);
    if (projection !== null && !projection.test(header)) throw new Error(`X-Service-Projection is ${header}`);
  };
}
