import { expect, it } from 'vitest';
import type { ProtocolName } from '../../../src/platform/vendor-fields.ts';
import type { FakeUpstream } from '../../support/fake-upstream.ts';
import { bedrockAt, rules, settingsFrom, startTokenServer, TOKENS, vertexAt } from './cloud-under-test.ts';
import { callOf, startProvider, startUpstream } from './provider-under-test.ts';

/** Errors of the vendors by their documentation, and what they mean: try again, the input, our settings, our account. */
const ERRORS: readonly (readonly [ProtocolName, string, number, object, string | null, string])[] = [
  [
    'azure',
    'too long',
    400,
    { error: { code: 'BadRequest', message: "This model's maximum context length is 8192 tokens" } },
    null,
    'rejected',
  ],
  [
    'azure',
    'no deployment',
    404,
    { error: { code: 'DeploymentNotFound', message: 'The API deployment does not exist' } },
    null,
    'http_404',
  ],
  [
    'azure',
    'no embeddings',
    400,
    { error: { code: 'OperationNotSupported', message: 'The embeddings operation does not work' } },
    null,
    'http_400',
  ],
  [
    'vertex',
    'too long',
    400,
    {
      error: {
        code: 400,
        status: 'INVALID_ARGUMENT',
        message: 'The input token count is 3000 but the model supports up to 2048.',
      },
    },
    null,
    'rejected',
  ],
  [
    'vertex',
    'no permission',
    403,
    { error: { code: 403, status: 'PERMISSION_DENIED', message: 'Permission denied' } },
    null,
    'refused',
  ],
  [
    'vertex',
    'no billing',
    400,
    { error: { code: 400, status: 'FAILED_PRECONDITION', message: 'billing' } },
    null,
    'refused',
  ],
  [
    'bedrock',
    'too long',
    400,
    { message: '400 Bad Request: Too many input tokens. Max input tokens: 8192' },
    'ValidationException',
    'rejected',
  ],
  [
    'bedrock',
    'no model',
    400,
    { message: 'The provided model identifier is invalid.' },
    'ValidationException',
    'http_400',
  ],
  [
    'bedrock',
    'no access',
    403,
    { message: "You don't have access to the model with the specified model ID." },
    'AccessDeniedException',
    'http_403',
  ],
  [
    ...(['bedrock', 'a wrong key', 403] as const),
    { Message: 'Authentication failed: Please make sure your API Key is valid.' },
    'AccessDeniedException',
    'refused',
  ],
  [
    'bedrock',
    'bad signature',
    400,
    { message: 'Authorization header requires existence of a date' },
    'IncompleteSignature',
    'refused',
  ],
  [
    'mistral',
    'no model',
    400,
    { object: 'error', message: 'Invalid model: x', type: 'invalid_model', code: '1500' },
    null,
    'http_400',
  ],
  [
    'mistral',
    'bad text',
    422,
    { detail: [{ loc: ['body', 'input'], msg: 'Input should be a valid string' }] },
    null,
    'rejected',
  ],
  ['nim', 'too long', 400, { error: 'Input length 600 exceeds maximum allowed token size 512' }, null, 'rejected'],
  ['nomic', 'no account', 402, { detail: 'payment required' }, null, 'refused'],
  ['mixedbread', 'bad text', 422, { message: 'input is invalid' }, null, 'rejected'],
];

function startOne(protocol: ProtocolName, upstream: FakeUpstream, keyFile: string) {
  if (protocol === 'vertex') return startProvider(vertexAt(upstream, keyFile));
  if (protocol === 'bedrock') return startProvider(bedrockAt(upstream, { api_key: 'a-key' }));
  const base_url = upstream.baseUrl(protocol);
  return startProvider(settingsFrom({ protocol, base_url, api_key: 'a-key', ...rules }));
}

it.each(ERRORS)('%s: %s has its own meaning', async (protocol, _, status, body, type, meaning) => {
  const tokenServer = await startTokenServer();
  const upstream = await startUpstream({ apiKeys: ['a-key', ...TOKENS] });
  const { provider } = startOne(protocol, upstream, tokenServer.keyFile());
  const headers: Record<string, string> =
    type === null ? {} : { 'x-amzn-errortype': `${type}:http://internal.amazon.com/` };
  upstream.next({ kind: 'status', status, body, headers });
  const failed = await provider.embed(callOf(['one'])).catch((error) => error);
  const expected =
    meaning === 'rejected'
      ? { code: 'upstream_rejected', status: 400 }
      : { code: 'provider_unavailable', details: { cause: meaning } };
  expect(failed).toMatchObject(expected);
  // None of these errors is tried again.
  expect(upstream.calls).toHaveLength(1);
});

it.each(['azure', 'vertex', 'bedrock', 'mistral', 'nomic', 'mixedbread', 'nim'] as const)(
  '%s: a call is tried again after the wait of Retry-After, and after a failure',
  async (protocol) => {
    const tokenServer = await startTokenServer();
    const upstream = await startUpstream({ apiKeys: ['a-key', ...TOKENS] });
    const { provider } = startOne(protocol, upstream, tokenServer.keyFile());
    const type = { 'x-amzn-errortype': 'ThrottlingException' };
    const limited = { kind: 'status', status: 429, body: { message: 'slow down' } } as const;
    upstream.next({ ...limited, headers: { 'retry-after': '0', ...type } }, { kind: 'status', status: 503 });
    expect((await provider.embed(callOf(['one']))).vectors).toHaveLength(8);
    expect(upstream.calls).toHaveLength(3);
    upstream.next({ ...limited, headers: { 'retry-after': '3600', ...type } });
    const failed = await provider.embed(callOf(['two'])).catch((error) => error);
    expect(failed).toMatchObject({ details: { cause: 'http_429' }, retryAfterSeconds: 3600 });
    expect(upstream.calls).toHaveLength(4);
  },
);
