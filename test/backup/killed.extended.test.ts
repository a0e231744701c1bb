import { test } from 'vitest';
import { scaled } from '../support/extended-scale.ts';
import { checkKilledCommands } from './killed.ts';

const KILLS = scaled(20);

test(`a backup and a restore that are killed ${KILLS} times each leave nothing half-done`, {
  timeout: 1_200_000,
}, async () => {
  await checkKilledCommands(KILLS);
});
