import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { setPlan, unsuspendOrganization } from '../../src/access/organizations.ts';
import { sha256Of } from '../../src/backup/files.ts';
import { deleteOrganization } from '../../src/cells/delete-organization.ts';
import { readExportKey } from '../../src/cells/export-key.ts';
import { importOrganization } from '../../src/cells/import-organization.ts';
import { writeManifest } from '../../src/cells/layout.ts';
import type { MoveStep } from '../../src/cells/move-context.ts';
import type { Manifest } from '../../src/cells/schema.ts';
import { importContextOf, moveContextOf } from '../../src/cli/moves.ts';
import { backUp, makeFolder, never, openPlace } from '../backup/support.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';
import { beginPatch, type Move, openMove } from './support.ts';

const DOCUMENTS = 6;
let source: TestApi;
let target: TestApi;
/** Finished export of the organization `acme`, which every test copies. */
let finished: Move;
let orgId: string;
let key: string;

beforeAll(async () => {
  source = await openTestApi();
  target = await openTestApi();
  key = await source.key({ org: 'acme', scopes: ['search', 'documents:write', 'buckets:manage'], authLevel: 10 });
  await source.call('POST', '/v1/buckets', { key, json: { name: 'library' } });
  for (let nth = 0; nth < DOCUMENTS; nth++) await upload(`part-${nth}`);
  const { sql } = source.appliance;
  const ready = async () => (await sql`SELECT 1 FROM documents WHERE status = 'ready'`).length === DOCUMENTS;
  await until(ready, { what: 'ingest' });
  orgId = (await sql`SELECT id FROM organizations WHERE name = 'acme'`)[0]?.['id'] as string;
  finished = openMove('acme');
  await finished.exportFrom(source);
});
afterAll(async () => {
  await source.close();
  await target.close();
  finished?.remove();
});

const upload = (name: string, api = source) =>
  api.call('POST', '/v1/buckets/library/documents', {
    ...{ key, json: { filename: `${name}.txt`, text: `The ${name} is here.`, on_duplicate: 'allow' } },
  });

/** Copy the finished export, so that a test may break it. */
function copyMove(): Move {
  const move = openMove('acme');
  onTestFinished(move.remove);
  cpSync(finished.directory, move.directory, { recursive: true });
  cpSync(finished.keyFile, move.keyFile);
  return move;
}

const discard = (api = target) =>
  deleteOrganization({ ...moveContextOf(api.appliance), index: api.appliance.search.index }, orgId, {
    ...{ actor: 'operator:test', signal: never() },
  });

/** Return the name of the first file in a folder of an export. */
const firstFile = (move: Move, folder: string) => {
  const name = readdirSync(path.join(move.directory, folder), { recursive: true, withFileTypes: true }).find((entry) =>
    entry.isFile(),
  );
  return path.join(name?.parentPath as string, name?.name as string);
};

const flipByte = (file: string) => {
  const bytes = readFileSync(file);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
  writeFileSync(file, bytes);
};

const DAMAGES: readonly (readonly [what: string, code: string, damage: (move: Move) => void])[] = [
  ['a changed table', 'export_damaged', (move) => flipByte(path.join(move.directory, 'tables/documents.copy.gz'))],
  ['a truncated table', 'export_damaged', (move) => truncateSync(path.join(move.directory, 'tables/users.copy.gz'), 3)],
  ['a missing table', 'export_damaged', (move) => rmSync(path.join(move.directory, 'tables/jobs.copy.gz'))],
  ['a changed content', 'export_damaged', (move) => flipByte(firstFile(move, 'contents'))],
  ['a missing content', 'export_damaged', (move) => rmSync(firstFile(move, 'contents'))],
  ['a changed list of files', 'export_damaged', (move) => flipByte(path.join(move.directory, 'objects.gz'))],
  ['changed credentials', 'export_damaged', (move) => flipByte(path.join(move.directory, 'sealed.gz'))],
  ['a changed manifest', 'export_forged', (move) => flipByte(path.join(move.directory, 'manifest.json'))],
  ['a changed signature', 'export_forged', (move) => flipByte(path.join(move.directory, 'manifest.json.signature'))],
  ['another key', 'export_forged', (move) => writeFileSync(move.keyFile, `${'another-key-'.repeat(4)}\n`)],
  ['no manifest', 'export_damaged', (move) => rmSync(path.join(move.directory, 'manifest.json'))],
  ['no signature', 'export_unfinished', (move) => rmSync(path.join(move.directory, 'manifest.json.signature'))],
  ['an empty folder', 'export_not_found', (move) => emptyFolder(move)],
  ['a short key', 'invalid_request', (move) => writeFileSync(move.keyFile, 'short\n')],
];

function emptyFolder({ directory }: Move): void {
  for (const name of readdirSync(directory)) rmSync(path.join(directory, name), { recursive: true });
}

test.each(DAMAGES)('an export with %s is refused with %s, and nothing is written', async (_, code, damage) => {
  const move = copyMove();
  damage(move);
  await expect(move.check(target)).rejects.toMatchObject({ code });
  await expect(move.importInto(target)).rejects.toMatchObject({ code });
  expect(await target.appliance.sql`SELECT 1 FROM organizations WHERE id = ${orgId}`).toEqual([]);
  expect(await target.appliance.sql`SELECT 1 FROM organization_imports`).toEqual([]);
});

test('an export with rows or files of another organization is refused, even if its key signed it', async () => {
  const other = (await target.appliance.sql`SELECT id FROM organizations`)[0]?.['id'] as string;
  for (const [table, message] of [
    ['buckets', /buckets.copy.gz gave 0 rows/],
    ['objects', /is not a file of the organization/],
  ] as const) {
    const move = copyMove();
    const name = table === 'objects' ? 'objects.gz' : `tables/${table}.copy.gz`;
    const file = path.join(move.directory, name);
    const text = gunzipSync(readFileSync(file)).toString('utf8');
    const bytes = gzipSync(text.replaceAll(table === 'objects' ? `documents/${orgId}` : orgId, `documents/${other}`));
    writeFileSync(file, bytes);
    await signAgain(move, (manifest) => {
      const entry = table === 'objects' ? manifest.objects : manifest.tables.find((each) => each.table === table);
      Object.assign(entry as object, { size_bytes: bytes.length, sha256: sha256Of(bytes) });
    });
    await expect(move.importInto(target)).rejects.toThrow(message);
    expect(await target.appliance.sql`SELECT 1 FROM buckets WHERE org_id LIKE ${`%${other}`}`).toHaveLength(1);
    if (table === 'objects') await discard();
  }
});

/** Change the manifest of an export, and sign it with its key. */
async function signAgain(move: Move, change: (manifest: Manifest) => void): Promise<void> {
  const file = path.join(move.directory, 'manifest.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as Manifest;
  change(manifest);
  const exportKey = readExportKey(move.keyFile, { creates: false });
  await writeManifest(await openPlace({ kind: 'folder', directory: move.directory }), exportKey, manifest);
}

const withoutLastLine = (text: string) => text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1);

test.each([
  ['tables/api_keys.copy.gz', 2, (text: string) => gzipSync(text.replaceAll('search', 'users:manage'))],
  ['tables/buckets.copy.gz', 2, (text: string) => Buffer.concat([gzipSync(text), Buffer.alloc(99)])],
  ['objects.gz', 3, (text: string) => gzipSync(withoutLastLine(text))],
] as const)('a file that changes after its verification is refused: %s', async (name, verifications, swap) => {
  const move = copyMove();
  const file = path.join(move.directory, name);
  const place = await openPlace({ kind: 'folder', directory: move.directory });
  let reads = 0;
  const stream: typeof place.objects.stream = (key, options) => {
    if (key === name && ++reads > verifications) writeFileSync(file, swap(gunzipSync(readFileSync(file)).toString()));
    return place.objects.stream(key, options);
  };
  const objects = new Proxy(place.objects, {
    get: (own, property) => {
      const value: unknown = property === 'stream' ? stream : Reflect.get(own, property, own);
      return typeof value === 'function' ? value.bind(own) : value;
    },
  });
  const exportKey = readExportKey(move.keyFile, { creates: false });
  const options = { place: { ...place, objects }, key: exportKey, name: null, actor: 'operator:test', signal: never() };
  const run = importOrganization(importContextOf(target.appliance), options);
  await expect(run).rejects.toMatchObject({ code: 'file_changed', message: expect.stringContaining(name) });
  expect(reads).toBe(verifications + 1);
  const { sql } = target.appliance;
  const isRows = name !== 'objects.gz';
  expect(await sql`SELECT 1 FROM organizations WHERE id = ${orgId}`).toHaveLength(isRows ? 0 : 1);
  expect(await sql`SELECT objects_at FROM organization_imports`).toEqual([{ objects_at: null }]);
  if (isRows) await sql`DELETE FROM organization_imports`;
  else await discard();
});

test('a backup of an installation is no export, and a folder with something else takes none', async () => {
  const folder = makeFolder();
  onTestFinished(folder.remove);
  await backUp(target.appliance, folder.location);
  const move = openMove('default');
  onTestFinished(move.remove);
  cpSync(folder.directory, move.directory, { recursive: true });
  await expect(move.check(target)).rejects.toMatchObject({ code: 'export_not_found' });
  await expect(move.exportFrom(target)).rejects.toMatchObject({ code: 'export_foreign' });
  expect(await target.appliance.sql`SELECT 1 FROM organizations WHERE move_state IS NOT NULL`).toEqual([]);
});

test('an installation that serves the organization, or one with its name, refuses it and says what to do', async () => {
  const move = copyMove();
  await expect(move.importInto(source)).rejects.toThrow(/this installation has the organization/);
  await target.appliance.access.createOrganization({ name: 'acme', plan: 'free' });
  await expect(move.importInto(target)).rejects.toThrow(/another organization named acme.*--name/);
  expect(await move.importInto(target, { name: 'acme-2' })).toMatchObject({ organization: { name: 'acme-2' } });
  expect(await discard()).toMatchObject({ name: 'acme-2' });
  await target.appliance.sql`DELETE FROM organizations WHERE name = 'acme'`;
});

test('an installation of another version refuses the organization', async () => {
  const { sql } = target.appliance;
  await sql`INSERT INTO schema_migrations (version, name, checksum) VALUES (9999, 'later', 'x')`;
  onTestFinished(async () => void (await sql`DELETE FROM schema_migrations WHERE version = 9999`));
  await expect(copyMove().check(target)).rejects.toMatchObject({ code: 'export_other_version' });
});

test('an installation that lacks models, maps, engines and connections names all of them', async () => {
  const other = await openTestApi({ worker: false });
  onTestFinished(() => other.close());
  const { sql } = other.appliance;
  await other.key({ org: 'poor' });
  const [org] = await sql`SELECT id FROM organizations WHERE name = 'poor'`;
  const id = org?.['id'] as string;
  for (const [nth, { model, space }] of [
    { model: 'vendor-z/unknown', space: 'native:vendor-z/unknown@1' },
    { model: 'local/lexical-1', space: 'native:local/lexical-1@9' },
    { model: 'local/lexical-1', space: 'shared-1' },
  ].entries()) {
    const bucket = `bkt_${nth}`;
    await sql`INSERT INTO buckets (id, org_id, name, policy, engine) VALUES (${bucket}, ${id}, ${bucket}, '{}', 'milvus')`;
    await sql`
      INSERT INTO index_tables (bucket_id, version, space, settled, model) VALUES (${bucket}, 1, ${space}, true, ${model})`;
    await sql`
      INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status,
        active_generation)
      VALUES (${`doc_${nth}`}, ${id}, ${bucket}, 'a', 1, '', 'documents/x', '{}', 'ready', ${nth})`;
    await sql`
      INSERT INTO generations (id, org_id, bucket_id, document_id, job_id, artifact_key, chunks_count, embed_model, space)
      VALUES (${nth}, ${id}, ${bucket}, ${`doc_${nth}`}, 'job', 'documents/x', 1, ${model}, ${space})`;
  }
  await sql`
    INSERT INTO projection_spaces (id, dimensions, reference_model, reference_revision, pairs, object_key, sha256)
    VALUES ('shared-1', 1024, 'x', 'x', 1, 'x', sha256('x'))`;
  await sql`
    INSERT INTO routing (org_id, primary_model, mode, updated_by) VALUES (${id}, 'vendor-y/other', 'single', 'test')`;
  await sql`
    INSERT INTO sources (id, org_id, bucket_id, name, type, connection, config, tags, versions, privacy_level, created_by)
    VALUES ('src_1', ${id}, 'bkt_0', 'papers', 'folder', 'papers', '{}', '{}', 'replace', 1, 'test')`;
  const move = openMove('poor');
  onTestFinished(move.remove);
  expect(await move.exportFrom(other)).toMatchObject({ missing_objects: 1 });
  const refused = await move.check(target).catch((error: unknown) => error as Error);
  expect(refused).toMatchObject({ code: 'target_lacks' });
  const lines = (refused as Error).message.split('\n');
  expect(lines.slice(1)).toEqual([
    expect.stringMatching(/model vendor-z\/unknown, of the bucket bkt_0: add its vendor/),
    expect.stringMatching(/revision of the model local\/lexical-1 .* bkt_1/),
    expect.stringMatching(/map of the model local\/lexical-1 into shared-1, of the bucket bkt_2/),
    expect.stringMatching(/model vendor-y\/other, which its routing names/),
    expect.stringMatching(/engine milvus: set index.milvus.url/),
    expect.stringMatching(/connection papers of its sources/),
  ]);
});

/** Abort a step of a move when it reaches a phase. */
function stopAt(phase: MoveStep['phase']) {
  const stop = new AbortController();
  return {
    signal: stop.signal,
    onProgress: (step: MoveStep) => {
      if (step.phase === phase && step.done > 0) stop.abort(new Error('stopped by the test'));
    },
  };
}

test('an import that was stopped in any phase continues, and ends with the same', async () => {
  const move = copyMove();
  for (const phase of ['checking', 'rows', 'files', 'index'] as const) {
    await expect(move.importInto(target, stopAt(phase))).rejects.toThrow('stopped by the test');
  }
  expect(await move.importInto(target)).toMatchObject({ documents: DOCUMENTS, left_out: [] });
  const [live] = await target.appliance.sql`
    SELECT count(*)::int AS n FROM documents d JOIN generations g ON g.id = d.active_generation
    WHERE d.org_id = ${orgId} AND g.artifact_key = 'documents/' || d.org_id || '/' || d.id || '/chunks-' || g.id`;
  expect(live?.['n']).toBe(DOCUMENTS);
  await expect(move.activate(target)).rejects.toMatchObject({ code: 'organization_not_released' });
  await discard();
});

test('an import whose index is incomplete says so, and builds it again when it is repeated', async () => {
  const move = copyMove();
  await move.importInto(target);
  const { sql, search } = target.appliance;
  const [bucket] = await sql`
    SELECT b.id, t.table_name FROM buckets b JOIN index_tables t ON t.bucket_id = b.id WHERE b.org_id = ${orgId}`;
  const [lost] = await sql`SELECT id FROM documents WHERE org_id = ${orgId} LIMIT 1`;
  const documentIds = [lost?.['id'] as string];
  await search.chunks.remove(bucket?.['table_name'] as string, { documentIds, generations: [] });
  await sql`UPDATE organization_imports SET verified_at = NULL`;
  await expect(move.importInto(target)).rejects.toMatchObject({ code: 'import_incomplete' });
  expect(await move.importInto(target)).toMatchObject({ documents: DOCUMENTS });
  await discard();
});

test('the steps of a move in another order are refused, and a served organization is not deleted', async () => {
  const move = copyMove();
  await expect(move.activate(target)).rejects.toMatchObject({ code: 'organization_not_imported' });
  await move.importInto(target);
  const { sql } = target.appliance;
  for (const change of [() => unsuspendOrganization(sql, 'test', orgId), () => setPlan(sql, 'test', orgId, 'free')]) {
    await expect(change()).rejects.toMatchObject({ code: 'organization_moves' });
  }
  await discard();
  await expect(discard(source)).rejects.toMatchObject({ code: 'organization_served' });
  await expect(openMove('default').release(target)).rejects.toMatchObject({ code: 'export_not_found' });
  await expect(openMove('default').cancel(target)).rejects.toMatchObject({ code: 'organization_not_exported' });
  await expect(openMove('acme').exportFrom(source)).rejects.toMatchObject({ code: 'export_elsewhere' });
});

test('a cancelled move serves changes again, and its export can neither be released nor served', async () => {
  expect((await upload('refused')).status).toBe(503);
  await finished.cancel(source);
  await expect.poll(async () => (await upload('accepted')).status).toBe(202);
  await expect(finished.release(source)).rejects.toMatchObject({ code: 'organization_not_exported' });
  const again = await finished.exportFrom(source);
  expect(again.documents).toBeGreaterThan(DOCUMENTS);
  await finished.importInto(target);
  await finished.release(source);
  await expect(finished.cancel(source)).rejects.toMatchObject({ code: 'organization_moved' });
  await discard();
  await finished.cancel(source, { force: true });
  await expect.poll(async () => (await upload('back')).status).toBe(202);
});

test('an export that was stopped in any phase is not imported, and continues in the same place', async () => {
  const move = openMove('acme');
  onTestFinished(move.remove);
  for (const phase of ['files', 'rows'] as const) {
    await expect(move.exportFrom(source, stopAt(phase))).rejects.toThrow('stopped by the test');
  }
  await expect(move.check(target)).rejects.toMatchObject({ code: 'export_unfinished' });
  expect(await move.exportFrom(source)).toMatchObject({ missing_objects: 0 });
  await move.check(target);
  await move.cancel(source);
});

test('a right that a slow request removes during the move is removed at neither installation, and the answer says so', async () => {
  const admin = await source.key({ org: 'acme', scopes: ['groups:manage'] });
  const member = `key:${key.split('_')[1]}`;
  const made = await source.call('POST', '/v1/groups', { key: admin, json: { name: 'readers', members: [member] } });
  expect(made.status).toBe(201);
  const slow = await beginPatch(source, admin, '/v1/groups/readers');
  const move = openMove('acme');
  onTestFinished(move.remove);
  await move.exportFrom(source);
  expect(await slow.end({ remove: [member] })).toBe(503);
  const { sql } = source.appliance;
  await expect(sql`DELETE FROM group_members WHERE org_id = ${orgId}`).rejects.toMatchObject({ code: 'SVMOV' });
  const members = (api: TestApi) => api.appliance.sql`SELECT member FROM group_members WHERE org_id = ${orgId}`;
  await move.importInto(target);
  expect([await members(source), await members(target)]).toEqual([[{ member }], [{ member }]]);
  await discard();
  await move.cancel(source);
});
