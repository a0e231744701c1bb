import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordAudit } from '../../src/access/audit.ts';
import { Secret } from '../../src/platform/secret.ts';
import { createTestDatabase } from '../support/postgres.ts';

let db: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => {
  await db.drop();
});

test('an audit entry is stored unchanged, except for secrets and characters that jsonb cannot store', async () => {
  await recordAudit(db.sql, { orgId: null, actor: 'operator:root', action: 'database.migrate', target: null });
  await recordAudit(db.sql, {
    orgId: 'org_1',
    actor: 'key:abc',
    action: 'document.delete',
    target: 'doc_1',
    detail: { text: 'a\0b \ud800 \\u0000 "', level: 3, none: null, deep: [{ token: new Secret('canary') }] },
  });
  const rows = await db.sql`SELECT org_id, actor, action, target, detail FROM audit_log ORDER BY id`;
  expect(rows).toEqual([
    { org_id: null, actor: 'operator:root', action: 'database.migrate', target: null, detail: {} },
    {
      org_id: 'org_1',
      actor: 'key:abc',
      action: 'document.delete',
      target: 'doc_1',
      detail: { text: 'a\ufffdb \ufffd \\u0000 "', level: 3, none: null, deep: [{ token: '***' }] },
    },
  ]);
});

test('an audit entry is rolled back together with its change', async () => {
  await expect(
    db.sql.begin(async (tx) => {
      await recordAudit(tx, { orgId: 'org_2', actor: 'key:abc', action: 'x.y', target: null });
      throw new Error('rolled back');
    }),
  ).rejects.toThrow('rolled back');
  expect(await db.sql`SELECT 1 FROM audit_log WHERE org_id = 'org_2'`).toHaveLength(0);
});
