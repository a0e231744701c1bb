import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { withFileLock } from '../../src/platform/embedded-postgres/file-lock.ts';
import { createRandom } from './random.ts';

// A test starts this script and kills it at any moment: `file-lock-child.ts <lock file> <journal> <rounds> <seed>`.
// While it holds the lock, it writes to the journal twice with a pause between, in which no other process may write.
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
