/** Fake API in a separate process. It answers every search after the same delay. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const SEARCH_MS = 10;
const RESULTS = 10;
const text = 'The ferry leaves the harbour at seven. '.repeat(40);
const results = Array.from({ length: RESULTS }, (_, n) => ({
  ...{ id: `doc_${n}_1_0`, document_id: `doc_${n}`, chunk_index: 0, text, score: 0.9 },
  scores: { vector_score: 0.9, bm25_score: 1, rrf_score: 0.03, rerank_score: null },
  metadata: { team: 'a' },
  citation: {
    ...{ file_name: 'ferry.txt', source_path: null, url: `http://127.0.0.1/documents/doc_${n}` },
    locator: { page: 1, heading_path: ['Boats'], start: 0, end: text.length },
  },
}));
const SEARCH = JSON.stringify({ object: 'list', bucket_id: 'bkt_1', model: 'm', results, usage: {}, warnings: [] });
const documents = results.map(({ document_id: id }) => ({
  id,
  content_type: 'text/plain',
  size_bytes: 1,
  chunks_count: 1,
}));
const DOCUMENTS = JSON.stringify({ data: documents });
const ME = JSON.stringify({ org: { id: 'o', name: 'o' }, kind: 'key', user_id: null, scopes: [], auth_level: 5 });
const OPENAPI = JSON.stringify({ paths: { '/v2/buckets/{bucket}/search': { post: {} } } });

const server = createServer(async (req, res) => {
  req.resume();
  const isSearch = req.url?.endsWith('/search');
  if (isSearch) await delay(SEARCH_MS);
  res.setHeader('Content-Type', 'application/json');
  res.end(isSearch ? SEARCH : req.url?.startsWith('/v1/documents') ? DOCUMENTS : req.url === '/v1/me' ? ME : OPENAPI);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
