import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { MIGRATIONS } from '../../src/appliance/stores.ts';
import { sha256Of } from '../../src/backup/files.ts';
import { completeKey, findBackup, manifestKey, readManifest, signatureKey } from '../../src/backup/layout.ts';
import { planBackup } from '../../src/backup/make-backup.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { readSchemaObjects } from '../../src/platform/schema-objects.ts';
import { getSynonyms, setSynonyms } from '../../src/search/synonyms/edit-synonyms.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { openTestAppliance } from '../support/appliance.ts';
import { ingestAll } from '../support/ingest-all.ts';
import {
  backUp,
  copyFolder,
  makeFolder,
  never,
  openOtherMachine,
  openPlace,
  searchTexts,
  secretKeyOf,
  verifyNewest,
} from './support.ts';

const DOCUMENTS = 30;
const SYNONYMS = [['essay', 'paper']];
let source: TestApi;
let folder: ReturnType<typeof makeFolder>;

const papers = (from: number, count: number) =>
  Array.from({ length: count }, (_, nth) => ({
    ...{ id: String(from + nth), fileName: `paper-${from + nth}.txt` },
    text: `Paper ${from + nth} is about subject${from + nth}.`,
  }));

beforeAll(async () => {
  source = await openTestApi();
  await ingestAll(source.appliance, source.operator, 'default', papers(0, DOCUMENTS));
  const { sessions } = source.appliance.access;
  await sessions.signIn(await source.key());
  await sessions.createLink(source.operator);
  await setSynonyms(source.appliance.sql, source.operator, 'default', { groups: SYNONYMS });
  folder = makeFolder();
  await backUp(source.appliance, folder.location);
});
afterAll(async () => {
  await source.close();
  folder.remove();
});

async function otherMachine(key: string | null = secretKeyOf(source.dataDir)) {
  const other = await openOtherMachine(key);
  onTestFinished(() => other.remove());
  return other;
}

test('the tables of the migrations are the tables of the database, each after those that it refers to', async () => {
  const { sql } = source.appliance;
  const { tables } = await readSchemaObjects(MIGRATIONS);
  const rows = await sql`
    SELECT relname::text AS name FROM pg_class
    WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = current_schema()::regnamespace AND relname NOT LIKE 'schema\_%'`;
  expect([...tables].sort()).toEqual(rows.map((row) => row['name'] as string).sort());
  const references = await sql`
    SELECT conrelid::regclass::text AS from_table, confrelid::regclass::text AS to_table FROM pg_constraint
    WHERE contype = 'f' AND conparentid = 0 AND connamespace = current_schema()::regnamespace`;
  for (const row of references) {
    expect(tables.indexOf(row['from_table'] as string)).toBeGreaterThan(tables.indexOf(row['to_table'] as string));
  }
});

test('a second backup stores only files that are new, and a dry run tells so without writing', async () => {
  const copy = copyFolder(folder.directory);
  onTestFinished(copy.remove);
  const bucket = await source.appliance.sql`SELECT count(*)::int AS n FROM documents`;
  const target = await openPlace(copy.location);
  const plan = await planBackup(source.appliance.backup, target, never());
  expect(plan).toMatchObject({ newFiles: 0, newBytes: 0 });
  expect(plan.files).toBeGreaterThanOrEqual(2 * (bucket[0]?.['n'] as number));
  const again = await backUp(source.appliance, copy.location);
  expect(again).toMatchObject({ new_files: 0, new_bytes: 0, files: plan.files, missing_files: 0 });
  expect(await planBackup(source.appliance.backup, null, never())).toMatchObject({ newFiles: plan.files });
});

test('a content that was lost is stored again by the next backup', async () => {
  const copy = copyFolder(folder.directory);
  onTestFinished(copy.remove);
  rmSync(path.join(copy.directory, 'contents'), { recursive: true });
  await expect(verifyNewest(copy.location)).rejects.toMatchObject({ code: 'backup_damaged' });
  const report = await backUp(source.appliance, copy.location);
  expect(report.new_files).toBe(report.files);
  expect(await verifyNewest(copy.location)).toMatchObject({ id: report.id });
});

test('an interrupted backup is not restored, and the next one takes over what it has stored', async () => {
  const own = makeFolder();
  onTestFinished(own.remove);
  const stop = new AbortController();
  const interrupted = backUp(source.appliance, own.location, {
    signal: stop.signal,
    onProgress: ({ phase }) => {
      if (phase === 'rows') stop.abort(new Error('stopped by the test'));
    },
  });
  await expect(interrupted).rejects.toThrow('stopped by the test');
  await expect(verifyNewest(own.location)).rejects.toMatchObject({ code: 'backup_unfinished' });
  const other = await otherMachine();
  await expect(other.restore(own.location)).rejects.toMatchObject({ code: 'backup_unfinished' });
  expect(await backUp(source.appliance, own.location)).toMatchObject({ new_files: 0, missing_files: 0 });
  await verifyNewest(own.location);
});

test('a place inside of the data directory, an empty folder and one of another installation are refused', async () => {
  const inside = { kind: 'folder', directory: path.join(source.dataDir, 'backups') } as const;
  await expect(backUp(source.appliance, inside)).rejects.toMatchObject({ code: 'invalid_request' });
  const empty = makeFolder();
  onTestFinished(empty.remove);
  await expect(verifyNewest(empty.location)).rejects.toMatchObject({ code: 'backup_not_found' });
  await expect(verifyNewest({ kind: 'folder', directory: `${empty.directory}/none` })).rejects.toMatchObject({
    code: 'backup_not_found',
  });
  const foreign = await openTestAppliance();
  onTestFinished(() => foreign.close());
  await expect(backUp(foreign.appliance, folder.location)).rejects.toMatchObject({ code: 'backup_foreign' });
});

test('a restore is refused without the secret key of the backup, and changes nothing', async () => {
  const without = await otherMachine(null);
  await expect(without.restore(folder.location)).rejects.toMatchObject({
    code: 'secret_key_mismatch',
    message: expect.stringContaining(path.join(without.dataDir, 'secret.key')),
  });
  expect(existsSync(path.join(without.dataDir, 'secret.key'))).toBe(false);
  const wrong = await otherMachine('x'.repeat(43));
  await expect(wrong.restore(folder.location)).rejects.toMatchObject({ code: 'secret_key_mismatch' });
  expect(await wrong.database.sql`SELECT to_regclass('documents') AS found`).toEqual([{ found: null }]);
});

test('a restore into a new installation that was started replaces its admin key', async () => {
  const other = await otherMachine();
  await (await other.open()).close();
  expect(existsSync(path.join(other.dataDir, 'admin.key'))).toBe(true);
  expect(await other.restore(folder.location)).toMatchObject({
    resumed: false,
    index: { buckets: 1, chunks: DOCUMENTS },
  });
  expect(existsSync(path.join(other.dataDir, 'admin.key'))).toBe(false);
  // The id of a run of the server is not restored.
  const runOf = async (sql: Sql) => (await sql`SELECT run FROM server_run`).map((row) => row['run'] as string);
  const [run] = await runOf(source.appliance.sql);
  expect(await runOf(other.database.sql)).toEqual([expect.not.stringMatching(run as string)]);
});

test('a restore is refused while the service runs, or into an installation with documents unless it is forced', async () => {
  const other = await otherMachine();
  await other.restore(folder.location);
  await expect(other.restore(folder.location)).rejects.toMatchObject({ code: 'installation_not_empty' });
  const running = await other.open();
  const [first] = await running.sql`SELECT id, org_id FROM documents LIMIT 1`;
  const stray = `documents/${first?.['org_id']}/doc_stray/original`;
  await running.objects.put(stray, Buffer.from('written after the backup'));
  await running.sql`DELETE FROM documents WHERE id = ${first?.['id'] as string}`;
  await expect(other.restore(folder.location, { force: true })).rejects.toMatchObject({ code: 'installation_in_use' });
  await running.close();
  await other.restore(folder.location, { force: true });
  const again = await other.open();
  expect(await again.sql`SELECT count(*)::int AS n FROM documents`).toEqual([{ n: DOCUMENTS }]);
  expect(await again.objects.head(stray)).toBeNull();
  // A session may have been signed out after the backup.
  expect(await again.sql`SELECT id FROM sessions UNION ALL SELECT actor FROM sign_in_links`).toEqual([]);
  const [found] = await searchTexts(again, await again.access.operator('default'), 'default', 'subject17');
  expect(found?.[0]).toContain('Paper 17');
  const operator = await again.access.operator('default');
  expect((await getSynonyms(again.sql, operator, 'default')).groups).toEqual(SYNONYMS);
  await again.close();
});

test.each(['files', 'rows', 'index'] as const)(
  'a restore that is interrupted at its %s is finished by running it again',
  async (at) => {
    const other = await otherMachine();
    const stop = new AbortController();
    const interrupted = other.restore(folder.location, {
      signal: stop.signal,
      onProgress: ({ phase }) => {
        if (phase === at) stop.abort(new Error('stopped by the test'));
      },
    });
    await expect(interrupted).rejects.toThrow('stopped by the test');
    expect(await other.restore(folder.location)).toMatchObject({
      resumed: at === 'index',
      index: { chunks: DOCUMENTS },
    });
    const appliance = await other.open();
    const caller = await appliance.access.operator('default');
    const [found] = await searchTexts(appliance, caller, 'default', 'subject11');
    expect(found?.[0]).toContain('Paper 11');
    await appliance.close();
  },
);

test('a backup of a release with other migrations is refused', async () => {
  const other = await otherMachine();
  const copy = copyFolder(folder.directory);
  onTestFinished(copy.remove);
  const target = await openPlace(copy.location);
  const id = await findBackup(target, null);
  const manifest = await readManifest(target, id);
  const rewrite = (change: object) => {
    const bytes = Buffer.from(JSON.stringify({ ...manifest, ...change }));
    writeFileSync(path.join(copy.directory, manifestKey(id)), bytes);
    writeFileSync(path.join(copy.directory, completeKey(id)), `${sha256Of(bytes)}\n`);
  };
  rewrite({ migrations: [...manifest.migrations, { version: 9999, name: 'later', checksum: 'x' }] });
  await expect(other.restore(copy.location)).rejects.toMatchObject({ code: 'backup_too_new' });
  rewrite({ format: 2 });
  await expect(other.restore(copy.location)).rejects.toMatchObject({ code: 'backup_format_unknown' });
});

test('a backup that somebody edited is not restored, and one without a signature only if the operator says so', async () => {
  const copy = copyFolder(folder.directory);
  onTestFinished(copy.remove);
  const target = await openPlace(copy.location);
  const id = await findBackup(target, null);
  const at = (key: string) => path.join(copy.directory, key);
  // The edit of an attacker who can write to the place: a role in the rows, and every checksum after it.
  const manifest = await readManifest(target, id);
  const [file] = manifest.tables.filter(({ table }) => table === 'organizations');
  const edited = gzipSync(
    gunzipSync(readFileSync(at(file?.key as string)))
      .toString()
      .replace(/\tfree\t|\tpro\t/, '\tenterprise\t'),
  );
  writeFileSync(at(file?.key as string), edited);
  const tables = manifest.tables.map((each) =>
    each.table === 'organizations' ? { ...each, sha256: sha256Of(edited), size_bytes: edited.length } : each,
  );
  const bytes = Buffer.from(JSON.stringify({ ...manifest, tables }));
  writeFileSync(at(manifestKey(id)), bytes);
  writeFileSync(at(completeKey(id)), `${sha256Of(bytes)}\n`);
  await verifyNewest(copy.location);
  const other = await otherMachine();
  for (const acceptsUnsigned of [false, true]) {
    await expect(other.restore(copy.location, { acceptsUnsigned })).rejects.toMatchObject({ code: 'backup_forged' });
  }
  rmSync(at(signatureKey(id)));
  await expect(other.restore(copy.location)).rejects.toMatchObject({
    code: 'backup_unsigned',
    message: expect.stringContaining('--accept-unsigned'),
  });
  expect(await other.restore(copy.location, { acceptsUnsigned: true })).toMatchObject({ id });
});
