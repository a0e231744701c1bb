import { expect, it, onTestFinished } from 'vitest';
import { enqueueSync } from '../../src/memory/queue-sync.ts';
import { beginSync, lockSource, requestResync, type Source } from '../../src/memory/source-store.ts';
import { newId } from '../../src/platform/ids.ts';
import { openTestAppliance } from '../support/appliance.ts';
import { addSource, makeFolder } from '../support/memory.ts';

it('a retried synchronisation of some entries reads all of them if another one was requested meanwhile', async () => {
  const { folder, remove } = makeFolder();
  const test = await openTestAppliance({ sources: { docs: { type: 'folder', root: folder } } });
  onTestFinished(async () => {
    await test.close();
    remove();
  });
  const { sql } = test.appliance;
  const { id } = await addSource(test, { name: 'docs', connection: 'docs' });
  const { orgId } = test.operator;
  const jobId = newId('job');
  await sql.begin(async (tx) => {
    const source = (await lockSource(tx, orgId, id)) as Source;
    await enqueueSync(tx, source, jobId, { reprocessOfJobId: null, keys: ['a.txt'] });
  });
  const first = await beginSync(sql, orgId, id, { id: jobId, fence: 1 });
  expect(first?.retryKeys).toEqual(['a.txt']);
  await sql.begin((tx) => requestResync(tx, first as Source));
  const second = await beginSync(sql, orgId, id, { id: jobId, fence: 2 });
  expect(second?.retryKeys).toBeNull();
});
