import { expect, it } from 'vitest';
import { callFor, startTokenServer, TOKENS, vertexAt } from './cloud-under-test.ts';
import { startProvider, startUpstream, texts } from './provider-under-test.ts';

it('Vertex AI gets an access token, which all calls share until it is about to expire', async () => {
  const tokenServer = await startTokenServer();
  const upstream = await startUpstream({ apiKeys: TOKENS });
  const { provider } = startProvider(vertexAt(upstream, tokenServer.keyFile()));
  const calls = texts(4).map((text) => provider.embed(callFor('vertex', 'text-embedding-005', [text])));
  await Promise.all(calls);
  await provider.embed(callFor('vertex', 'text-embedding-005', ['later']));
  expect(tokenServer.tokens).toHaveLength(1);
  expect(new Set(upstream.calls.map(({ apiKey }) => apiKey))).toEqual(new Set(tokenServer.tokens));
});

it('a token that is about to expire is replaced, and so is one that Vertex AI refuses', async () => {
  const tokenServer = await startTokenServer();
  tokenServer.expiresInSeconds = 1;
  const upstream = await startUpstream({ apiKeys: TOKENS });
  const { provider } = startProvider(vertexAt(upstream, tokenServer.keyFile()));
  for (const text of texts(2)) await provider.embed(callFor('vertex', 'text-embedding-005', [text]));
  expect(upstream.calls.map(({ apiKey }) => apiKey)).toEqual(['ya29.token-1', 'ya29.token-2']);
  tokenServer.expiresInSeconds = 3600;
  const settings = vertexAt(upstream, tokenServer.keyFile());
  const twice = { ...settings, endpoints: [...settings.endpoints, ...settings.endpoints] };
  const { provider: other } = startProvider(twice);
  upstream.next({ kind: 'status', status: 401, body: { error: { code: 401, status: 'UNAUTHENTICATED' } } });
  await other.embed(callFor('vertex', 'text-embedding-005', ['again']));
  expect(tokenServer.tokens).toHaveLength(4);
});

it.each([
  ['another private key', { private_key_id: 'key-2' }, 'invalid_grant'],
  [
    'a broken private key',
    { private_key: '-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----' },
    'bad_private_key',
  ],
])('a service account with %s is refused before any text is sent', async (_, changes, code) => {
  const tokenServer = await startTokenServer();
  const upstream = await startUpstream({ apiKeys: TOKENS });
  const { provider, logs } = startProvider(vertexAt(upstream, tokenServer.keyFile(changes)));
  const failed = await provider.embed(callFor('vertex', 'text-embedding-005', ['one'])).catch((error) => error);
  expect(failed).toMatchObject({ code: 'provider_unavailable', details: { cause: 'refused' } });
  expect(`${failed.cause.code} ${failed.cause.message}`).toContain(code);
  expect(`${JSON.stringify(failed)} ${JSON.stringify(logs.lines)}`).not.toContain('PRIVATE KEY');
  expect(upstream.calls).toEqual([]);
});

it('a token server that is overloaded is asked again', async () => {
  const tokenServer = await startTokenServer();
  tokenServer.refusal = { status: 503, error: 'backend_error' };
  const upstream = await startUpstream({ apiKeys: TOKENS });
  const settings = vertexAt(upstream, tokenServer.keyFile());
  const { provider } = startProvider(settings);
  const failed = await provider.embed(callFor('vertex', 'text-embedding-005', ['one'])).catch((error) => error);
  expect(failed).toMatchObject({ details: { cause: 'http_503' } });
  tokenServer.refusal = null;
  expect((await provider.embed(callFor('vertex', 'text-embedding-005', ['one']))).vectors).toHaveLength(8);
});

it.each([
  ['text-embedding-005', 1, 'RETRIEVAL_QUERY', texts(3)],
  ['gemini-embedding-001', 3, 'RETRIEVAL_QUERY', ['text 0']],
  ['gemini-embedding-2', 3, null, ['text 0']],
  ['multimodalembedding', 3, null, ['text 0']],
])('Vertex AI gets the form of %s', async (name, calls, taskType, sent) => {
  const tokenServer = await startTokenServer();
  const upstream = await startUpstream({ apiKeys: TOKENS });
  const { provider } = startProvider(vertexAt(upstream, tokenServer.keyFile()));
  const { vectors, tokens } = await provider.embed(callFor('vertex', name, texts(3), { taskType: 'retrieval_query' }));
  expect(vectors).toEqual(Float32Array.from(texts(3).flatMap((text) => [...upstream.vectorOf(name, text)])));
  expect(tokens).toEqual([6, 6, 6]);
  expect(upstream.calls).toHaveLength(calls);
  expect(upstream.calls[0]).toMatchObject({ model: name, taskType, texts: sent });
  expect(upstream.violations).toEqual([]);
});
