/**
 * Entry point of the child process that runs one step of settling a large table. The task is a line of JSON on stdin,
 * which stays open. The parent holds the table's writer lock. If stdin ends, the parent is gone, and this process
 * exits.
 */
import { createInterface } from 'node:readline';
import { buildTokenIndex, LanceTables } from './lance.ts';
import { mergeFiles } from './merge-files.ts';
import { SettleTask } from './settle-process.ts';
import { buildVectorIndex } from './vector-index.ts';

async function settle(line: string): Promise<void> {
  const { uri, storageOptions, name, step, cleanupOlderThanMs } = SettleTask.parse(JSON.parse(line));
  const table = await new LanceTables(uri, storageOptions).openForWriting(name);
  if (step === 'index_vectors') await buildVectorIndex(table);
  else if (step === 'index_tokens') await buildTokenIndex(table);
  else await mergeFiles(table, cleanupOlderThanMs);
}

const lines = createInterface({ input: process.stdin });
lines.once('line', (line) => {
  settle(line).then(
    () => process.exit(0),
    (error: unknown) => process.stderr.write(String(error), () => process.exit(1)),
  );
});
lines.once('close', () => process.exit(3));
