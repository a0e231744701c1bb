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

export interface RerankCallSeen {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly query: string;
  readonly texts: readonly string[];
}

export interface FakeReranker {
  readonly url: string;
  readonly calls: RerankCallSeen[];
  /** Score of a text. By default a shorter text has a higher score. */
  scoreOf: (text: string, query: string) => number;
  /** Replacement of the normal answer, or null. */
  misbehave: ((response: ServerResponse) => void | Promise<void>) | null;
  close(): Promise<void>;
}

/** Start an HTTP fake of a reranker of one protocol. Like real rerankers it answers with the best text first. */
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
    const sent = parsed.data as { query: string; documents?: string[]; texts?: string[] };
    const given = sent.documents ?? sent.texts ?? [];
    fake.calls.push({
      ...{ path: request.url, authorization: request.headers.authorization, query: sent.query, texts: given },
    });
    if (fake.misbehave !== null) return void (await fake.misbehave(response));
    const ranked = given
      .map((text, index) => ({ index, score: fake.scoreOf(text, sent.query) }))
      .sort((a, b) => b.score - a.score);
    const results = ranked.map(({ index, score }) =>
      protocol === 'tei' ? { index, score } : { index, relevance_score: score },
    );
    const answers = { cohere: { id: 'x', results }, jina: { results }, voyage: { object: 'list', data: results } };
    const answer = protocol === 'tei' ? results : answers[protocol];
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });
  const fake: FakeReranker = {
    url: '',
    calls: [],
    scoreOf: (text) => 1 / (1 + text.length),
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

/** Delay an answer for longer than any deadline of a test. */
export async function stall(response: ServerResponse): Promise<void> {
  await delay(60_000, undefined, { ref: false });
  response.end();
}
