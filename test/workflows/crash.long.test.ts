import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accept, type CrashTest, failCrashed, LIVE, openCrashTest, sentIn, show, startHangingRun } from './crash.ts';

let crash: CrashTest;
beforeAll(async () => {
  crash = await openCrashTest();
});
afterAll(() => crash.close());

test('a run whose process was killed is failed, says what is uncertain, and is never repeated', async () => {
  const { id, reply } = await startHangingRun(crash, { 'Idempotency-Key': 'killed' });
  await crash.child?.end('SIGKILL');
  expect(await reply).toBe('broken');
  expect(await show(crash, id)).toMatchObject({
    status: 'running',
    blocks: [
      { id: 'one', status: 'completed' },
      { id: 'two', status: 'running' },
    ],
  });
  await failCrashed(crash, id);
  const failed = await show(crash, id);
  expect(failed).toMatchObject({
    status: 'failed',
    error: 'the process that ran it ended; the service neither continues nor repeats the run',
    finished_at: expect.any(String),
    blocks: [
      { id: 'one', status: 'completed', error: null },
      {
        ...{ id: 'two', status: 'failed' },
        error: 'the process ended while this block ran; its effect may or may not have happened',
      },
    ],
  });
  expect(sentIn(crash)).toEqual(['one', 'two']);

  // The same request again is answered by what is known of the first one.
  const { api, key, workflow } = crash;
  await api.appliance.sql`DELETE FROM idempotency_keys`;
  const again = await api.call('POST', `${workflow}/run`, {
    key,
    json: LIVE,
    headers: { 'Idempotency-Key': 'killed' },
  });
  expect(again).toMatchObject({ status: 200, body: { run_id: id, status: 'failed' } });
  expect(sentIn(crash)).toEqual(['one', 'two']);
});

test('a run that goes on after it counted as crashed causes no further side effect, and stays failed', async () => {
  crash.provider.reset();
  const { id, reply } = await startHangingRun(crash);
  crash.child?.signal('SIGSTOP');
  await failCrashed(crash, id);
  crash.provider.answer = accept;
  accept(crash.held as unknown as ServerResponse);
  crash.child?.signal('SIGCONT');
  expect(await reply).toBe(409);
  expect(sentIn(crash)).toEqual(['one', 'two']);
  expect(await show(crash, id)).toMatchObject({
    status: 'failed',
    blocks: [{ id: 'one' }, { id: 'two', status: 'failed' }],
  });
  await crash.child?.end('SIGTERM');
});
