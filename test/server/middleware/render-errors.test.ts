import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { AppError, dependencyDown } from '../../../src/platform/errors.ts';
import { failing } from '../sample-routes.ts';
import { startTestServer } from '../support.ts';

describe('errors', () => {
  test('an unknown error shows only its request id, and is logged in full', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const secret = new Error('password=hunter2 at /var/lib', { cause: new Error('deeper') });
    const server = await startTestServer([failing(secret), failing(secret, 'embedding', '/v1/models')], { logger });
    const detail = await fetch(`${server.url}/fails`, { headers: { 'X-Request-Id': 'abc' } });
    expect([detail.status, await detail.json()]).toEqual([
      500,
      { detail: 'an internal error occurred; quote the request id abc in a report' },
    ]);
    const embedding = await fetch(`${server.url}/v1/models`, { headers: { 'X-Request-Id': 'def' } });
    expect(await embedding.json()).toEqual({
      error: {
        message: 'an internal error occurred; quote the request id def in a report',
        type: 'api_error',
        param: null,
        code: 'internal_error',
      },
      request_id: 'def',
    });
    const logged = lines.filter((line) => line.includes('hunter2'));
    expect(logged).toHaveLength(2);
    expect(logged[0]).toContain('"request_id":"abc"');
    expect(logged[0]).toContain('deeper');
  });

  test('a thrown value that is no Error is a 500', async () => {
    const server = await startTestServer([failing('a string'), failing(undefined, 'detail', '/undefined')]);
    expect((await fetch(`${server.url}/fails`)).status).toBe(500);
    expect((await fetch(`${server.url}/undefined`)).status).toBe(500);
  });

  test.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [402, 'insufficient_quota'],
    [403, 'permission_error'],
    [404, 'invalid_request_error'],
    [410, 'invalid_request_error'],
    [429, 'rate_limit_error'],
    [502, 'api_error'],
    [503, 'api_error'],
  ])('an AppError of status %i has the type %s', async (status, type) => {
    const details = { hint: 'a fact' };
    const thrown = new AppError({ code: 'some_code', status, message: 'safe words', param: 'p', details });
    const server = await startTestServer([failing(thrown, 'embedding', '/v1/models'), failing(thrown)]);
    const embedding = await fetch(`${server.url}/v1/models`);
    expect(embedding.status).toBe(status);
    const { error } = (await embedding.json()) as { error: Record<string, unknown> };
    expect(error).toMatchObject({ message: 'safe words', type, param: 'p', code: 'some_code' });
    expect(error['details']).toEqual(status < 500 ? details : undefined);
    expect(embedding.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
    expect(embedding.headers.get('retry-after')).toBe(status === 429 || status === 503 ? '1' : null);
    expect(await (await fetch(`${server.url}/fails`)).json()).toEqual({ detail: 'safe words' });
  });

  test('Retry-After is that of the error if it has one', async () => {
    const server = await startTestServer([failing(dependencyDown('postgres', 'the database is away'))]);
    const response = await fetch(`${server.url}/fails`);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await response.json()).toEqual({ detail: 'the database is away' });
  });
});
