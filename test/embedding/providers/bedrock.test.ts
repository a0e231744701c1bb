import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { signatureOf } from '../../support/fake-upstream/signature.ts';
import { until } from '../../support/until.ts';
import { AWS, bedrockAt, callFor, KEYS, rules, settingsFrom } from './cloud-under-test.ts';
import { callOf, modelOf, startProvider, startUpstream, texts } from './provider-under-test.ts';

it('the fake of AWS computes the signatures of the published examples', () => {
  const at = { 'x-amz-date': '20150830T123600Z' };
  const example = { ...AWS, service: 'service' };
  const vanilla = {
    ...{ method: 'GET', path: '/', body: Buffer.alloc(0) },
    headers: { host: 'example.amazonaws.com', ...at },
  };
  // get-vanilla of the test suite for Signature Version 4
  expect(signatureOf(vanilla, ['host', 'x-amz-date'], example)).toBe(
    '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  );
  const listUsers = {
    ...{ method: 'GET', path: '/', query: 'Action=ListUsers&Version=2010-05-08', body: Buffer.alloc(0) },
    headers: {
      'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
      ...{ host: 'iam.amazonaws.com', ...at },
    },
  };
  // example of docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html
  expect(signatureOf(listUsers, ['content-type', 'host', 'x-amz-date'], { ...AWS, service: 'iam' })).toBe(
    '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  );
});

it.each([
  ['an access key', AWS, KEYS],
  ['a temporary key', { ...AWS, sessionToken: 'token/of=session' }, { ...KEYS, session_token: 'token/of=session' }],
])('requests to Bedrock are signed with %s', async (_, awsKey, keys) => {
  const upstream = await startUpstream({ awsKey });
  const { provider } = startProvider(bedrockAt(upstream, keys));
  const { vectors } = await provider.embed(callFor('bedrock', 'amazon.titan-embed-text-v2:0', ['one', '둘/"é']));
  expect(vectors).toHaveLength(16);
  expect(upstream.calls.map(({ texts: sent, apiKey }) => [sent, apiKey])).toEqual([
    [['one'], AWS.accessKeyId],
    [['둘/"é'], AWS.accessKeyId],
  ]);
  expect(upstream.violations).toEqual([]);
});

it.each([
  ['a wrong secret', { ...KEYS, secret_access_key: 'another' }],
  ['another region', { ...KEYS, region: 'eu-west-1' }],
  ['no token of the session', KEYS],
])('Bedrock refuses %s, and no secret is in the error or the log', async (_, keys) => {
  const upstream = await startUpstream({ awsKey: { ...AWS, sessionToken: 'needed' } });
  const { provider, logs } = startProvider(bedrockAt(upstream, keys));
  const failure = await provider.embed(callFor('bedrock', 'cohere.embed-v4:0', ['one'])).catch((error) => error);
  expect(failure).toMatchObject({ code: 'provider_unavailable', details: { cause: 'refused' } });
  expect(failure.cause).toMatchObject({ code: 'UnrecognizedClientException', status: 403 });
  expect(`${JSON.stringify(failure)} ${JSON.stringify(logs.lines)}`).not.toMatch(/wJalr|another/);
});

it('a Bedrock API key goes into the header, and another key replaces one that is refused', async () => {
  const upstream = await startUpstream({ apiKeys: ['new-key'] });
  const at = { base_url: `${upstream.url}/bedrock`, region: 'us-east-1' };
  const endpoints = [
    { ...at, name: 'old', api_key: 'old-key' },
    { ...at, name: 'new', api_key: 'new-key' },
  ];
  const { provider, logs } = startProvider(settingsFrom({ protocol: 'bedrock', ...rules, endpoints }));
  for (const text of texts(3)) await provider.embed(callFor('bedrock', 'cohere.embed-english-v3', [text]));
  expect(upstream.calls.map(({ apiKey }) => apiKey)).toEqual(['new-key', 'new-key', 'new-key']);
  expect(JSON.stringify(logs.lines)).toContain('"endpoint":"old"');
  expect(JSON.stringify(logs.lines)).not.toContain('old-key');
});

/** Serve the credentials of a role, as the agent of a container does, and let the SDK find them. */
async function startRole(answer: (response: ServerResponse) => void): Promise<{ requests: () => number }> {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests++;
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/role`;
  const before = process.env;
  process.env = { PATH: before['PATH'], HOME: '/none', AWS_CONTAINER_CREDENTIALS_FULL_URI: uri };
  onTestFinished(async () => {
    process.env = before;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { requests: () => requests };
}

it('the role of the machine signs requests, and its credentials are asked for once', async () => {
  const upstream = await startUpstream({ awsKey: { ...AWS, sessionToken: 'token-of-role' } });
  const role = await startRole((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        ...{ AccessKeyId: AWS.accessKeyId, SecretAccessKey: AWS.secretAccessKey, Token: 'token-of-role' },
        Expiration: new Date(Date.now() + 3_600_000).toISOString(),
      }),
    ),
  );
  const { provider } = startProvider(bedrockAt(upstream, { credentials: 'aws' }));
  for (const text of texts(2)) await provider.embed(callFor('bedrock', 'cohere.embed-v4:0', [text]));
  expect(upstream.calls.map(({ apiKey }) => apiKey)).toEqual([AWS.accessKeyId, AWS.accessKeyId]);
  expect(role.requests()).toBe(1);
});

it('a machine without a role is a refusal, and no text is sent', async () => {
  const upstream = await startUpstream({ awsKey: AWS });
  await startRole((response) => response.writeHead(403).end());
  const { provider } = startProvider(bedrockAt(upstream, { credentials: 'aws' }));
  const failed = await provider.embed(callFor('bedrock', 'cohere.embed-v4:0', ['one'])).catch((error) => error);
  expect(failed).toMatchObject({ code: 'provider_unavailable', details: { cause: 'refused' } });
  expect(failed.cause).toMatchObject({ code: 'no_credentials' });
  expect(upstream.calls).toEqual([]);
});

it('a call that waits for the role of the machine can be aborted', async () => {
  const upstream = await startUpstream({ awsKey: AWS });
  const role = await startRole(() => {});
  const { provider } = startProvider(bedrockAt(upstream, { credentials: 'aws' }));
  const abort = new AbortController();
  const pending = provider.embed(callFor('bedrock', 'cohere.embed-v4:0', ['one'], { signal: abort.signal }));
  await until(async () => role.requests() === 1, { what: 'the request for credentials' });
  abort.abort(new Error('the caller left'));
  await expect(pending).rejects.toThrow('the caller left');
});

it.each([
  ['amazon.titan-embed-text-v2:0', 1, null, { inputText: 'text 0', dimensions: 256, normalize: true }],
  ['amazon.titan-embed-image-v1', 1, null, { inputText: 'text 0', embeddingConfig: { outputEmbeddingLength: 256 } }],
  [
    ...(['cohere.embed-v4:0', 96, 'search_query'] as const),
    {
      ...{ texts: texts(3), input_type: 'search_query', embedding_types: ['float'] },
      ...{ output_dimension: 256, truncate: 'NONE' },
    },
  ],
  [
    ...(['us.cohere.embed-v4:0', 96, 'search_query'] as const),
    {
      ...{ texts: texts(3), input_type: 'search_query', embedding_types: ['float'] },
      ...{ output_dimension: 256, truncate: 'NONE' },
    },
  ],
])('Bedrock gets the body of %s, with a dimension', async (name, itemsMax, taskType, body) => {
  const upstream = await startUpstream({ awsKey: AWS });
  const { provider } = startProvider(bedrockAt(upstream, KEYS));
  const model = modelOf({ id: `vendor-x/${name}`, nativeDimension: 256, upstreamDimensions: 256 });
  const { tokens } = await provider.embed(callOf(texts(3), { model, taskType: 'retrieval_query' }));
  expect(tokens).toEqual([6, 6, 6]);
  expect(upstream.calls).toHaveLength(itemsMax === 1 ? 3 : 1);
  expect(upstream.calls[0]).toMatchObject({ model: name, taskType, dimensions: 256, body });
  expect(upstream.violations).toEqual([]);
});

it('Bedrock gets at most 96 texts of Cohere in one call', async () => {
  const upstream = await startUpstream({ awsKey: AWS });
  const { provider } = startProvider(bedrockAt(upstream, KEYS));
  await provider.embed(callFor('bedrock', 'cohere.embed-multilingual-v3', texts(200)));
  expect(upstream.calls.map(({ texts: sent }) => sent.length).sort()).toEqual([8, 96, 96]);
});
