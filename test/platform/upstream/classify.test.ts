import { describe, expect, it } from 'vitest';
import { protocolOf } from '../../../src/embedding/providers/protocols/protocol-of.ts';
import { PROTOCOLS, type ProtocolName } from '../../../src/embedding/providers/provider.ts';
import { Secret } from '../../../src/platform/secret.ts';
import type { FaultKind } from '../../../src/platform/upstream/upstream-fault.ts';
import { safeMessage } from '../../../src/platform/upstream/vendor-message.ts';

function faultOf(name: ProtocolName, status: number, body: unknown = '', key: string | null = null) {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return protocolOf(name).faultOf(status, {}, bytes, key === null ? null : new Secret(key));
}

const BY_STATUS: readonly [FaultKind, readonly number[]][] = [
  ['transient', [408, 409, 425, 429, 500, 502, 503, 504, 520, 524, 529]],
  ['refused', [401, 402, 403]],
  ['rejected', [400, 413, 422]],
  ['unavailable', [301, 302, 307, 404, 405, 410, 415, 418, 431, 451, 501, 505]],
];

describe.each(PROTOCOLS)('an error status of protocol %s', (name) => {
  it.each(BY_STATUS)('an answer is classified as %s for the statuses %j, whatever its body', (kind, statuses) => {
    for (const status of statuses) {
      for (const body of ['', '<html>', '{}', '[]', 'null', '{"error":', { error: null }, { detail: [] }]) {
        expect(faultOf(name, status, body)).toMatchObject({
          name: 'UpstreamFault',
          kind,
          status,
          message: `HTTP ${status}`,
        });
      }
    }
  });
});

const OPENAI = (error: object) => ({
  error: { message: 'Something.', type: 'invalid_request_error', param: null, ...error },
});
const GEMINI = (error: object) => ({
  error: { code: 400, message: 'Something.', status: 'INVALID_ARGUMENT', ...error },
});
const INFO = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', domain: 'googleapis.com' };

const BY_BODY: readonly [string, ProtocolName, number, unknown, FaultKind, string | null][] = [
  [
    'a spent quota',
    'openai',
    429,
    OPENAI({ code: 'insufficient_quota', type: 'insufficient_quota' }),
    'refused',
    'insufficient_quota',
  ],
  [
    'a spent quota given by type alone',
    'openai',
    429,
    OPENAI({ code: null, type: 'insufficient_quota' }),
    'refused',
    'insufficient_quota',
  ],
  [
    'a rate limit',
    'openai',
    429,
    OPENAI({ code: 'rate_limit_exceeded', type: 'tokens' }),
    'transient',
    'rate_limit_exceeded',
  ],
  ['a wrong key', 'openai', 401, OPENAI({ code: 'invalid_api_key' }), 'refused', 'invalid_api_key'],
  ['a missing model', 'openai', 404, OPENAI({ code: 'model_not_found' }), 'unavailable', 'model_not_found'],
  ['a model not in the plan', 'openai', 403, OPENAI({ code: 'model_not_found' }), 'unavailable', 'model_not_found'],
  ['a text that is too long', 'openai', 400, OPENAI({ param: 'input' }), 'rejected', 'invalid_request_error'],
  [
    'a dimension that the model has not',
    'openai',
    400,
    OPENAI({ param: 'dimensions' }),
    'unavailable',
    'invalid_request_error',
  ],
  [
    'a wrong key',
    'gemini',
    400,
    GEMINI({ details: [{ ...INFO, reason: 'API_KEY_INVALID' }] }),
    'refused',
    'INVALID_ARGUMENT',
  ],
  [
    'a wrong key in a list',
    'gemini',
    400,
    [GEMINI({ details: [{ ...INFO, reason: 'API_KEY_INVALID' }] })],
    'refused',
    'INVALID_ARGUMENT',
  ],
  [
    'a country that is not served',
    'gemini',
    400,
    GEMINI({ status: 'FAILED_PRECONDITION' }),
    'refused',
    'FAILED_PRECONDITION',
  ],
  ['an argument', 'gemini', 400, GEMINI({}), 'rejected', 'INVALID_ARGUMENT'],
  [
    'an empty account',
    'jina',
    403,
    { code: 'AUTHZ_INSUFFICIENT_BALANCE', message: 'x' },
    'refused',
    'AUTHZ_INSUFFICIENT_BALANCE',
  ],
  [
    'an empty account in its detail',
    'jina',
    403,
    { detail: { code: 'AUTHZ_INSUFFICIENT_BALANCE' } },
    'refused',
    'AUTHZ_INSUFFICIENT_BALANCE',
  ],
  [
    'a missing model',
    'jina',
    400,
    { code: 'INPUT_MODEL_NOT_FOUND', message: 'x' },
    'unavailable',
    'INPUT_MODEL_NOT_FOUND',
  ],
  [
    'too much at once',
    'jina',
    429,
    { code: 'RATE_CONCURRENCY_LIMIT_EXCEEDED' },
    'transient',
    'RATE_CONCURRENCY_LIMIT_EXCEEDED',
  ],
  ['a blocked input', 'cohere', 498, { message: 'blocked input' }, 'rejected', null],
  ['an invalid token', 'cohere', 498, { message: 'invalid api token' }, 'refused', null],
  ['a cancelled call', 'cohere', 499, { message: 'request cancelled' }, 'transient', null],
  [
    'a text that is too long',
    'tei',
    413,
    { error: '`inputs` must have less than 512 tokens. Given: 785', error_type: 'Validation' },
    'rejected',
    'Validation',
  ],
  [
    'too many texts',
    'tei',
    413,
    { error: 'batch size 66 > maximum allowed batch size 32', error_type: 'Validation' },
    'unavailable',
    'Validation',
  ],
  ['a full queue', 'tei', 429, { error: 'Model is overloaded', error_type: 'Overloaded' }, 'transient', 'Overloaded'],
  ['a failed backend', 'tei', 424, { error: 'Inference failed', error_type: 'Backend' }, 'transient', 'Backend'],
  ['a failed backend elsewhere', 'openai', 424, {}, 'unavailable', null],
  [
    'a text that is too long',
    'ollama',
    400,
    { error: 'the input length exceeds the context length' },
    'rejected',
    null,
  ],
  [
    'a text that is too long for an older one',
    'ollama',
    500,
    { error: 'the input length exceeds the context length' },
    'rejected',
    null,
  ],
  ['a crash', 'ollama', 500, { error: 'do embedding request: EOF' }, 'transient', null],
  ['a missing model', 'ollama', 404, { error: "model 'm' not found" }, 'unavailable', null],
  ['a full queue', 'ollama', 503, { error: 'server busy' }, 'transient', null],
  ['a bad value', 'voyage', 400, { detail: 'Value error' }, 'rejected', null],
];

describe('an error body', () => {
  it.each(BY_BODY)(
    'an error body about %s, from %s with status %i, is classified',
    (_what, name, status, body, kind, code) => {
      expect(faultOf(name, status, body)).toMatchObject({ kind, code, status });
    },
  );

  it.each<[ProtocolName, unknown, string]>([
    ['openai', OPENAI({ message: 'Too long.' }), 'Too long.'],
    ['openai', { object: 'error', message: 'Too long.', code: 400 }, 'Too long.'],
    ['openai', { error: 'Too long.' }, 'Too long.'],
    ['gemini', GEMINI({ message: 'Too long.' }), 'Too long.'],
    ['voyage', { detail: 'Too long.' }, 'Too long.'],
    ['voyage', { detail: [{ loc: ['body'], msg: 'Too long.', input: 'the caller’s own words' }] }, 'Too long.'],
    ['jina', { detail: { message: 'Too long.' } }, 'Too long.'],
    ['cohere', { message: 'Too long.' }, 'Too long.'],
    ['tei', { error: 'Too long.', error_type: 'Validation' }, 'Too long.'],
    ['ollama', { error: 'Too long.' }, 'Too long.'],
    ['tei', 'Too\n\u0000 long.', 'Too long.'],
  ])('the message is read from an error body of %s: %j', (name, body, message) => {
    expect(faultOf(name, 400, body).message).toBe(`HTTP 400: ${message}`);
  });

  it('the wait that a vendor asks for is read from the header, else from the body', () => {
    const body = Buffer.from(
      JSON.stringify(GEMINI({ details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }] })),
    );
    expect(protocolOf('gemini').faultOf(429, {}, body).retryAfterMs).toBe(7000);
    expect(protocolOf('gemini').faultOf(429, { 'retry-after': '2' }, body).retryAfterMs).toBe(2000);
    expect(protocolOf('gemini').faultOf(429, {}, Buffer.from('')).retryAfterMs).toBeNull();
  });

  it('an error body of many megabytes is cut before it is read', () => {
    const fault = faultOf('openai', 500, `{"error":{"message":"${'x '.repeat(5_000_000)}"}}`);
    expect(fault.kind).toBe('transient');
    expect(fault.message.length).toBeLessThan(330);
  });
});

describe('a vendor’s message', () => {
  const key = 'plain words as a key';

  it('a vendor’s message is cut to 300 characters', () => {
    expect(safeMessage('so long '.repeat(100), null)).toHaveLength(300);
    expect(safeMessage(`${'a'.repeat(298)}😀😀`, null).isWellFormed()).toBe(true);
  });

  it.each([
    `Incorrect key ${key}, ${key}`,
    'Authorization: Bearer abc.def-123 is bad',
    'Incorrect API key provided: sk-proj-abcdEFGH1234. You can find',
    'Incorrect API key provided: sk-pr***********cret. You can find',
    'no such key pa-1234567890abcdef',
    'jina_0123456789abcdef is unknown',
    'AIzaSyA-1234567890abcdefghij is unknown',
    'unknown: 0123456789abcdef0123456789abcdef',
    'api_key="s3cr3t" is wrong',
  ])('a credential is removed from a vendor’s message: %s', (text) => {
    const safe = safeMessage(text, new Secret(key));
    expect(safe).toContain('***');
    for (const part of [key, 'abc.def', 'abcdEFGH', 'cret.', '1234567890', '0123456789', 's3cr3t']) {
      expect(safe).not.toContain(part);
    }
  });

  it('a vendor’s message keeps names of models, names of fields and numbers', () => {
    const text = "The model 'text-embedding-3-small' has at most 8192 tokens; you sent 9000 (input[3]), user's limit";
    expect(safeMessage(text, null)).toBe(text);
  });

  it('long quotations are removed from a vendor’s message', () => {
    const own = 'words of the caller that nobody else should read '.repeat(5);
    for (const mark of ['"', "'", '`']) {
      expect(safeMessage(`${mark}${own}${mark} is too long`, null)).toBe(`${mark}…${mark} is too long`);
    }
  });
});
