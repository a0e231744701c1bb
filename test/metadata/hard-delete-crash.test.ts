import { afterAll, beforeAll, it } from 'vitest';
import { KilledDeletions } from './killed-deletions.ts';

let deletions: KilledDeletions;
beforeAll(async () => {
  deletions = await KilledDeletions.open('hard-deleted', 600);
});
afterAll(() => deletions.close());

it('a hard delete whose worker is killed is finished by the next one', async () => {
  await deletions.hardDelete([deletions.hasBegun]);
});
