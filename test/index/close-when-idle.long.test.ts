import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { closeWhenIdle } from '../../src/index/lance/close-when-idle.ts';
import { makeDataDir } from '../support/appliance.ts';

function fakeTable() {
  const calls: PromiseWithResolvers<number>[] = [];
  const table = {
    name: 'herons',
    isClosed: false,
    close() {
      this.isClosed = true;
    },
    version() {
      calls.push(Promise.withResolvers<number>());
      return calls.at(-1)?.promise;
    },
    query: () => ({ limit: 1 }),
  };
  return { table, calls, wrapped: closeWhenIdle(table) };
}

it('an idle object is closed at once', () => {
  const { table, wrapped } = fakeTable();
  expect([wrapped.name, wrapped.query()]).toEqual(['herons', { limit: 1 }]);
  wrapped.close();
  expect(table.isClosed).toBe(true);
});

it('an object is closed when the last of its calls has ended, however it ends', async () => {
  const { table, calls, wrapped } = fakeTable();
  const first = wrapped.version();
  const second = wrapped.version();
  wrapped.close();
  calls[0]?.resolve(1);
  expect(await first).toBe(1);
  expect(table.isClosed).toBe(false);
  calls[1]?.reject(new Error('the table is damaged'));
  await expect(second).rejects.toThrow('the table is damaged');
  expect(table.isClosed).toBe(true);
});

it('a process lives on whose tables are closed while their files are merged', async () => {
  const { dataDir, remove } = makeDataDir();
  onTestFinished(remove);
  const index = path.join(dataDir, 'index');
  mkdirSync(index);
  const child = fileURLToPath(new URL('../support/close-tables-child.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', child, index]);
  expect(stdout).toBe('done');
});
