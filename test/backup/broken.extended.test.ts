import { test } from 'vitest';
import { scaled } from '../support/extended-scale.ts';
import { checkBrokenBackups } from './broken.ts';

const PLACES = scaled(200);

test(`a backup that is broken at any of ${PLACES} random places is refused with the name of the broken file`, {
  timeout: 1_200_000,
}, async () => {
  await checkBrokenBackups(PLACES, PLACES);
});
