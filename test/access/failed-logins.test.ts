import { expect, test } from 'vitest';
import { FailedLogins } from '../../src/access/failed-logins.ts';

/** Settings under which a refusal over the allowance waits until it is aborted. */
const SLOW = { perMinute: 3, waitMs: 3_600_000 };

test('refusals within the allowance of their source are not delayed, and further ones are until they are aborted', async () => {
  const logins = new FailedLogins(SLOW);
  const never = () => new AbortController().signal;
  for (let i = 0; i < 3; i++) await logins.brake(['address:a'], never);
  const abort = new AbortController();
  let isDone = false;
  const delayed = logins
    .brake(['address:a'], () => abort.signal)
    .then(() => {
      isDone = true;
    });
  // Another address has its own allowance.
  await logins.brake(['address:b'], never);
  expect(isDone).toBe(false);
  abort.abort();
  await delayed;
  expect(isDone).toBe(true);
});

test('the guesses of many addresses at one key are counted together', async () => {
  const logins = new FailedLogins(SLOW);
  const abort = new AbortController();
  for (let i = 0; i < 3; i++) await logins.brake([`address:${i}`, 'key:k'], () => abort.signal);
  let isDone = false;
  const delayed = logins
    .brake(['address:new', 'key:k'], () => abort.signal)
    .then(() => {
      isDone = true;
    });
  await logins.brake(['address:other'], () => abort.signal);
  expect(isDone).toBe(false);
  abort.abort();
  await delayed;
});

test('no more refusals wait than a bound, and the others are told to try later', async () => {
  const logins = new FailedLogins({ ...SLOW, perMinute: 1, waitingMax: 2 });
  const abort = new AbortController();
  await logins.brake(['address:a'], () => abort.signal);
  const waiting = [0, 1].map(() => logins.brake(['address:a'], () => abort.signal));
  await expect(logins.brake(['address:a'], () => abort.signal)).rejects.toMatchObject({
    code: 'too_many_failed_logins',
    status: 429,
  });
  abort.abort();
  await Promise.all(waiting);
});
