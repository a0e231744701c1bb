import { afterAll, expect, test } from 'vitest';
import { claimDue } from '../../src/channels/outbox-store.ts';
import { createTestDatabase } from '../support/postgres.ts';

const { sql, drop } = await createTestDatabase();
afterAll(drop);

test('a notification of one organization does not wait for all those of another', async () => {
  await sql`INSERT INTO organizations (id, name, plan) SELECT 'org_' || name, name, 'free' FROM unnest('{many,one,out}'::text[]) name`;
  await sql`UPDATE organizations SET suspended_at = now() WHERE id = 'org_out'`;
  await sql`
    INSERT INTO channel_configs (id, org_id, name, provider, sealed_config)
    SELECT replace(id, 'org', 'chc'), id, 'bot', 'messenger', '\\x00' FROM organizations WHERE id LIKE 'org\\_%'`;
  const notify = (org: string, count: number, ageMinutes: number) => sql`
    INSERT INTO channel_notifications (id, org_id, config_id, actor, phone, template_code, template_args, via, status,
                                       next_at)
    SELECT ${org} || '_' || n, ${org}, replace(${org}, 'org', 'chc'), 'test', '+10000000', 't', '{}', 'outbox',
           'queued', now() - (${ageMinutes}::int + 1.0 / n) * interval '1 minute'
    FROM generate_series(1, ${count}::int) n`;
  await notify('org_many', 50, 60);
  await notify('org_one', 1, 1);
  await notify('org_out', 1, 90);
  const claimed = async () => (await claimDue(sql, 40, 60_000)).map(({ id }) => id).sort();
  const first = await claimed();
  expect(first).toHaveLength(40);
  expect(first).toContain('org_one_1');
  expect(await claimed()).toHaveLength(11);
  expect(await claimed()).toEqual([]);
});
