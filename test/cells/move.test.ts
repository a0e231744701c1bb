import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findFirstOrganization } from '../../src/access/organization-store.ts';
import { deleteOrganization } from '../../src/cells/delete-organization.ts';
import { MOVED, MOVED_LAST } from '../../src/cells/tables.ts';
import { moveContextOf } from '../../src/cli/moves.ts';
import { never } from '../backup/support.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { answersOf, type FilledOrganization, fillOrganization } from './fill-organization.ts';
import { type Move, openMove } from './support.ts';

let source: TestApi;
let target: TestApi;
let move: Move;
let acme: FilledOrganization;

beforeAll(async () => {
  source = await openTestApi();
  target = await openTestApi();
  // The ids of generations of the target are in use already.
  const papers = Array.from({ length: 3 }, (_, nth) => ({
    id: `${nth}`,
    fileName: `${nth}.txt`,
    text: `Paper ${nth}.`,
  }));
  await ingestAll(target.appliance, target.operator, 'default', papers);
  acme = await fillOrganization(source, 'acme');
  // The arriving organization is older than the first one of the target, whose id is that of the installation.
  await target.appliance.sql`UPDATE organizations SET created_at = now() + interval '1 hour'`;
  move = openMove('acme');
});
afterAll(async () => {
  await source.close();
  await target.close();
  move?.remove();
});

/** List the files of an export, unpacked, that hold a text. */
function findInExport(directory: string, text: RegExp): string[] {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files
    .map(({ name, parentPath }) => path.join(parentPath, name))
    .filter((file) => {
      const bytes = readFileSync(file);
      return text.test((file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1'));
    });
}

const search = (api: TestApi) =>
  api.call('POST', '/v2/buckets/library/search', { key: acme.keys[0], json: { query: 'pump' } });
const upload = (api: TestApi) =>
  api.call('POST', '/v1/buckets/library/documents', {
    ...{ key: acme.keys[0], json: { filename: 'late.txt', text: 'late' } },
  });

test('an organization moves with all that it has, and each installation serves it in its time alone', async () => {
  const before = await answersOf(source, acme);
  const exported = await move.exportFrom(source);
  expect(exported).toMatchObject({ missing_objects: 0, organization: { name: 'acme' } });
  expect((await search(source)).status).toBe(200);
  const refused = await upload(source);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10']);
  expect(refused.body.detail).toContain('is being moved to another installation');

  expect(findInExport(move.directory, /canary|whsec_/)).toEqual([]);

  const checked = await move.check(target);
  expect(checked).toMatchObject({ documents: exported.documents, files: exported.files });
  expect(await move.importInto(target)).toMatchObject({ left_out: [], documents: exported.documents });
  expect((await search(target)).status).toBe(503);
  expect(await findFirstOrganization(target.appliance.sql)).toBe(target.operator.orgId);
  await expect(move.activate(target)).rejects.toMatchObject({ code: 'organization_not_released' });

  await move.release(source);
  const gone = await search(source);
  expect([gone.status, gone.headers.get('retry-after')]).toEqual([503, '1']);
  expect(gone.body.detail).toContain('this installation does not serve the organization');
  expect((await move.activate(target)).refused_ms).toBeLessThan(5_000);
  expect(await answersOf(target, acme)).toEqual(before);
});

test('each table has as many rows at the target as at the source; then one takes changes, and the other deletes them', async () => {
  for (const { name, owner } of [...MOVED, ...MOVED_LAST]) {
    if (owner !== undefined || ['audit_log', 'search_log', 'search_counts'].includes(name)) continue;
    const count = async ({ appliance: { sql } }: TestApi) => {
      const [row] = await sql`
        SELECT count(*)::int AS n FROM ${sql(name)} WHERE org_id = (SELECT id FROM organizations WHERE name = 'acme')`;
      return [name, row?.['n']];
    };
    expect(await count(target)).toEqual(await count(source));
  }
  expect((await upload(target)).status).toBe(202);
  const context = { ...moveContextOf(source.appliance), index: source.appliance.search.index };
  await deleteOrganization(context, 'acme', { actor: 'operator:test', signal: never() });
  const left = [];
  for await (const { key } of source.appliance.objects.list(''))
    if (key.includes(acme.bucketIds[0] as string)) left.push(key);
  expect(left).toEqual([]);
  expect(await source.appliance.sql`SELECT 1 FROM organizations WHERE name = 'acme'`).toEqual([]);
});
