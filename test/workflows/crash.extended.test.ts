import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CrashTest, failCrashed, openCrashTest, sentIn, show, startHangingRun } from './crash.ts';

let crash: CrashTest;
beforeAll(async () => {
  crash = await openCrashTest();
});
afterAll(() => crash.close());

test('a run of a service that is told to stop ends as failed, without a further side effect', async () => {
  crash.provider.reset();
  const { id } = await startHangingRun(crash);
  await crash.child?.end('SIGTERM');
  // A busy machine may end the process before it has written the end of the run.
  await failCrashed(crash, id);
  expect(await show(crash, id)).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(/^the run was interrupted|^the process that ran it ended/),
    blocks: [
      { id: 'one', status: 'completed' },
      { id: 'two', status: 'failed', error: expect.stringContaining('its effect may or may not have happened') },
      ...((await show(crash, id)).blocks.length > 2 ? [{ id: 'three', status: 'skipped' }] : []),
    ],
  });
  expect(sentIn(crash)).toEqual(['one', 'two']);
});
