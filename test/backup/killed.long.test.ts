import { test } from 'vitest';
import { checkKilledCommands } from './killed.ts';

test('a backup and a restore that are killed leave nothing half-done', async () => {
  await checkKilledCommands(1);
});
