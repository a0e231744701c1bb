import { expect, test } from 'vitest';
import { inCommandWords } from '../../src/cli/command-words.ts';
import { nameFault } from '../../src/cli/name-fault.ts';
import { parseDuration } from '../../src/platform/duration.ts';
import { AppError, conflict, invalidRequest, notFound } from '../../src/platform/errors.ts';

const SHAPE = {
  name: 'service thing do',
  args: { query: {} },
  flags: { name: {}, 'top-k': {}, 'chunk-size': {}, confirm: {}, expires: {} },
};
const worded = (error: AppError, flags: Record<string, object> = SHAPE.flags) =>
  inCommandWords(error, { ...SHAPE, flags }, 'service');

test.each([
  ['name: must not be empty', 'name', '--name: must not be empty'],
  ['query[3] has about 900 tokens', 'query[3]', 'QUERY[3] has about 900 tokens'],
  ['top_k must be a number', 'top_k', '--top-k must be a number'],
  ['--top-k: must be at most half of chunk_size', 'chunk_size', '--top-k: must be at most half of --chunk-size'],
  // A field that the command does not have, a word that only begins like the field, and names of other things.
  ['owner: must be a name', 'owner', 'owner: must be a name'],
  ['names are taken', 'name', 'names are taken'],
  ['name the thing', 'name', 'name the thing'],
  ['--filter: "top_k" is no key; keys: top_k, a.top_k', 'filter', '--filter: "top_k" is no key; keys: top_k, a.top_k'],
  ['no such model; GET /v1/models lists the models', null, 'no such model; "service models list" lists the models'],
  ['see GET /v1/metadata/reserved-keys', null, 'see "service metadata keys"'],
  ['use POST /v1/embed/jobs for more', null, 'use "service bulk submit" for more'],
])('a refused request is worded for the command: %s', (message, param, expected) => {
  expect(worded(invalidRequest(message, param))).toBe(expected);
});

test('a duration without a name gets that of its flag', () => {
  const refused = () => parseDuration('soon', 'expires');
  expect(refused).toThrow(AppError);
  try {
    refused();
  } catch (error) {
    expect(worded(error as AppError)).toBe('--expires: a duration is a whole number and a unit: 45s, 30m, 1h, 90d, 2w');
  }
});

test('an error of a state names the flag or the command', () => {
  const error = conflict('the job is extracting; cancel it with force=true', 'job_in_progress');
  expect(worded(error, { force: {} })).toBe('the job is extracting; cancel it with --force');
  expect(worded(error)).toBe('the job is extracting; cancel it with "service jobs cancel --force"');
  expect(worded(notFound('bucket', 'top_k'))).toBe('bucket not found: top_k');
});

test('an error of an operation keeps all but its message where a command names the field', () => {
  const details = { fields: 1 };
  const given = { code: 'model_unknown', status: 400, message: 'email: is taken', param: 'email', details };
  const named = nameFault(new AppError(given), { email: '--user' });
  expect(named).toMatchObject({ ...given, message: '--user: is taken' });
  expect(nameFault(new AppError(given), {})).toMatchObject(given);
  const missing = notFound('user', 'x');
  expect(nameFault(missing, { user: '--user' })).toBe(missing);
});
