import { it, onTestFinished } from 'vitest';
import { checkKills } from './kill-worker.ts';
import { openFolderPlace } from './readers/places/folder-place.ts';

it('a killed synchronisation costs only what was in progress, and the next attempt does the rest once', {
  timeout: 600_000,
}, async () => {
  const place = await openFolderPlace();
  onTestFinished(() => place.close());
  await checkKills(place, { entries: 250, kills: 1 });
});
