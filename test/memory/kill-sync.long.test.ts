import { it } from 'vitest';
import { checkKills } from './kill-worker.ts';

it('a killed synchronisation costs only what was in progress, and the next attempt does the rest once', {
  timeout: 600_000,
}, async () => {
  await checkKills(250, 1);
});
