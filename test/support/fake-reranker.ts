import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';

type Protocol = 'cohere' | 'jina' | 'voyage' | 'tei';

const texts = z.array(z.string().min(1)).min(1);
/** Request bodies of each protocol. Anything else is refused. */
const BODIES = {
  cohere: z.strictObject({ model: z.string(), query: z.string().min(1), documents: texts }),
  jina: z.strictObject({
    model: z.string(),
    query: z.string().min(1),
    documents: texts,
    return_documents: z.literal(false),
    truncation: z.literal(false).optional(),
  }),
  voyage: z.strictObject({
    model: z.string(),
    query: z.string().min(1),
    documents: texts,
    return_documents: z.literal(false),
    truncation: z.boolean(),
  }),
  tei: z.strictObject({
    query: z.string().min(1),
    texts,
    raw_scores: z.literal(false),
    return_text: z.literal(false),
    truncate: z.boolean(),
  }),
};

interface Sent {
  readonly query: string;
  readonly documents?: string[];
  readonly texts?: string[];
  readonly truncation?: boolean;
  readonly truncate?: boolean;
}

export interface RerankCallSeen {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly query: string;
  readonly texts: readonly string[];
  /** True if texts that are too long may be truncated. */
  readonly truncates: boolean;
}

export interface FakeReranker {
  readonly url: string;
  readonly calls: RerankCallSeen[];
  /** Score of a text. By default, shorter texts have higher scores. */
  scoreOf: (text: string, query: string) => number;
  /** Tokens of each answer; null to report none. */
  tokens: number | null;
  /** Replacement of the normal answer, or null. */
  misbehave: ((response: ServerResponse) => void | Promise<void>) | null;
  close(): Promise<void>;
}

/** Start an HTTP fake of a reranker of one protocol. Like real rerankers, it returns the best text first. */
export async function startFakeReranker(protocol: Protocol): Promise<FakeReranker> {
  const path = protocol === 'cohere' ? '/v2/rerank' : '/rerank';
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    const parsed = BODIES[protocol].safeParse(JSON.parse(body));
    if (request.url !== path || !parsed.success) {
      response.writeHead(422).end(JSON.stringify({ message: parsed.error?.message ?? 'no such path' }));
      return;
    }
    const sent = parsed.data as Sent;
    const given = sent.documents ?? sent.texts ?? [];
    fake.calls.push({
      ...{ path: request.url, authorization: request.headers.authorization, query: sent.query, texts: given },
      truncates: sent.truncation ?? sent.truncate ?? true,
    });
    if (fake.misbehave !== null) return void (await fake.misbehave(response));
    const ranked = given
      .map((text, index) => ({ index, score: fake.scoreOf(text, sent.query) }))
      .sort((a, b) => b.score - a.score);
    const results = ranked.map(({ index, score }) =>
      protocol === 'tei' ? { index, score } : { index, relevance_score: score },
    );
    const { tokens } = fake;
    const usage = tokens === null ? {} : { usage: { total_tokens: tokens } };
    const answers = {
      cohere: { id: 'x', results, ...(tokens === null ? {} : { meta: { tokens: { input_tokens: tokens } } }) },
      jina: { results, ...usage },
      voyage: { object: 'list', data: results, ...usage },
      tei: results,
    };
    const answer = answers[protocol];
    if (protocol === 'tei' && tokens !== null) response.setHeader('x-compute-tokens', String(tokens));
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });
  const fake: FakeReranker = {
    url: '',
    calls: [],
    scoreOf: (text) => 1 / (1 + text.length),
    tokens: null,
    misbehave: null,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(fake, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

/** Delay a response for longer than any test deadline. */
export async function stall(response: ServerResponse): Promise<void> {
  await delay(60_000, undefined, { ref: false });
  response.end();
}
