import { test } from 'vitest';
import { checkKilledCommands } from './killed.ts';

test('a backup and a restore that are killed twenty times each leave nothing half-done', {
  timeout: 1_200_000,
}, async () => {
  await checkKilledCommands(20);
});
