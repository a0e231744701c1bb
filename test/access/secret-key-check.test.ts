import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkSecretKey } from '../../src/access/secret-key-check.ts';
import { makeKeyRing } from '../support/access.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

it('a database accepts only the secret key that opened it first', async () => {
  const keyRing = makeKeyRing();
  await Promise.all([checkSecretKey(db.sql, keyRing), checkSecretKey(db.sql, keyRing)]);
  await checkSecretKey(db.sql, keyRing);
  await expect(checkSecretKey(db.sql, makeKeyRing())).rejects.toMatchObject({ code: 'secret_key_mismatch' });
});
