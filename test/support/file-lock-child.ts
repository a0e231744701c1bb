import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { withFileLock } from '../../src/platform/embedded-postgres/file-lock.ts';
import { createRandom } from './random.ts';

// Started by a test, and killed at any moment: `file-lock-child.ts <lock file> <journal> <rounds> <seed>`.
// In the lock it names itself in the journal twice, with a pause in between in which nobody else may.
const [lock = '', journal = '', rounds = '1', seed = '1'] = process.argv.slice(2);
const random = createRandom(Number(seed));
for (let round = 0; round < Number(rounds); round++) {
  await withFileLock(lock, async () => {
    await writeFile(journal, `enter ${process.pid}\n`, { flag: 'a' });
    await delay(random.real() * 3);
    const lines = (await readFile(journal, 'utf8')).trim().split('\n');
    if (lines.at(-1) !== `enter ${process.pid}`) throw new Error(`${process.pid} is not alone: ${lines.at(-1)}`);
    await writeFile(journal, `leave ${process.pid}\n`, { flag: 'a' });
  });
}
