import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { CAN_MAKE_TERMINAL, runCommand, runOnTerminal, runService } from './service.ts';
import { startOnTerminal } from './terminal.ts';

// Commands are slow on a busy machine, and each test runs several.
vi.setConfig({ testTimeout: 120_000 });

let installation: TestAppliance;
let folder: string;
let env: NodeJS.ProcessEnv;
let bucketId: string;
let bucket: string;
let buckets = 0;

beforeAll(async () => {
  installation = await openTestAppliance();
  folder = mkdtempSync(path.join(tmpdir(), 'service-metadata-'));
  env = { SERVICE_DATA_DIR: installation.dataDir, DATABASE_URL: installation.databaseUrl };
});
afterAll(async () => {
  await installation.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  bucket = `files-${++buckets}`;
  const { sql } = installation.appliance;
  bucketId = (await createBucket(sql, installation.operator, { name: bucket, policy: BucketPolicy.parse({}) })).id;
});

async function upload(fileName: string, metadata: Record<string, string>): Promise<string> {
  const content = { bytes: Buffer.from(fileName), fileName, contentType: null };
  const request = UploadRequest.parse({ on_duplicate: 'allow', metadata });
  const { uploads } = installation.appliance.ingest;
  return (await uploadDocument(uploads, installation.operator, bucket, content, request)).id;
}

async function metadataOf(id: string) {
  const [row] = await installation.appliance.sql`SELECT metadata FROM documents WHERE id = ${id}`;
  return row?.['metadata'];
}

async function statusOf(id: string) {
  const [row] = await installation.appliance.sql`SELECT status FROM documents WHERE id = ${id}`;
  return row?.['status'];
}

const exec = (...args: string[]) => runCommand(['metadata', 'exec', '--bucket', bucket, ...args], env);
const execJson = async (...args: string[]) => {
  const finished = await exec(...args, '--json');
  expect(finished).toMatchObject({ code: 0 });
  return finished.json();
};

const UPDATE = `UPDATE documents SET tag = 'x' WHERE team = 'a'`;
const OTHER_UPDATE = `UPDATE documents SET tag = 'y' WHERE team = 'a'`;

describe('service metadata exec', () => {
  test('metadata exec prints the documents that match, with their file names', async () => {
    const id = await upload('contract.txt', { team: 'a', year: '2020' });
    await upload('other.txt', { team: 'b' });
    const shown = await exec(`SELECT documents WHERE team = 'a'`);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['ID', 'FILE', 'SEARCH', 'METADATA', 'NOTE'],
      [id, 'contract.txt', 'on', 'team=a, year=2020', '-'],
      [''],
    ]);
    expect(await exec(`SELECT documents WHERE team = 'c'`)).toMatchObject({
      ...{ code: 0, stdout: '', stderr: 'no documents\n' },
    });
  });

  test('metadata exec --json prints the response of the endpoint', async () => {
    const id = await upload('a.txt', { team: 'a' });
    const state = { searchable: true, reindex_job_id: null, indexed_vectors_deleted: 0, warnings: [] };
    const item = { id, ...state, before: { 'metadata.tag': null }, after: { 'metadata.tag': 'x' } };
    const counts = { bucket_id: bucketId, matched: 1, skipped: 0, reindex_queued: 0, indexed_vectors_deleted: 0 };
    expect(await execJson(UPDATE, '--dry-run')).toEqual({
      ...{ ...counts, updated: 0, dry_run: true, items: [{ ...item, metadata: { team: 'a', tag: 'x' } }] },
      warnings: [],
    });
    expect(await metadataOf(id)).toEqual({ team: 'a' });
    expect(await execJson(UPDATE, '--yes', '--no-reindex')).toEqual({
      ...{ ...counts, updated: 1, dry_run: false, items: [{ ...item, metadata: { team: 'a', tag: 'x' } }] },
      warnings: [],
    });
    expect(await execJson(OTHER_UPDATE, '--yes')).toMatchObject({
      reindex_queued: 1,
      items: [{ reindex_job_id: expect.stringMatching(/^job_/) }],
    });
  });

  test('metadata exec --dry-run shows before and after of each field that changes, of the access policy too', async () => {
    const id = await upload('a.txt', { team: 'a' });
    const statement = `UPDATE documents SET team = 'b', privacy_level = 4, review_status = 'approved' WHERE team = 'a'`;
    const shown = await exec(statement, '--dry-run');
    const change = 'metadata.team: a -> b, privacy_level: 1 -> 4, review_status: pending -> approved';
    expect(shown.stdout.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['ID', 'FILE', 'SEARCH', 'CHANGE', 'NOTE'],
      [id, 'a.txt', 'on', change, '-'],
      [''],
    ]);
    expect((await execJson(statement, '--dry-run')).items).toMatchObject([
      {
        before: { 'metadata.team': 'a', privacy_level: 1, review_status: 'pending' },
        after: { 'metadata.team': 'b', privacy_level: 4, review_status: 'approved' },
      },
    ]);
  });

  test('metadata exec reads the statement from a file and from stdin', async () => {
    for (const year of ['1', '2', '3']) await upload(`${year}.txt`, { team: 'a', year });
    const file = path.join(folder, 'statement.txt');
    writeFileSync(file, `\ufeffUPDATE documents\r\nSET tag = 'it''s'\r\nWHERE team = 'a' AND year <= 2\r\n`);
    expect(await execJson('--file', file, '--yes', '--no-reindex', '--limit', '1')).toMatchObject({ updated: 1 });
    const select = `SELECT documents WHERE tag = 'it''s'\n`;
    const piped = await runService(['metadata', 'exec', '--bucket', bucketId, '--file', '-', '--json'], env, select);
    expect(piped.json()).toMatchObject({ matched: 1, items: [{ metadata: { year: '1', tag: "it's" } }] });
    expect(await exec('--file', path.join(folder, 'none.txt'))).toMatchObject({ code: 3, stdout: '' });
  });

  test('metadata exec in a script changes nothing without --yes or --max-affected, and HARDDELETE nothing without the exact words', async () => {
    const id = await upload('a.txt', { team: 'a' });
    for (const more of [[], ['--yes']]) {
      const unconfirmed = await exec(`HARDDELETE FROM documents WHERE team = 'a'`, ...more, '--json');
      expect([unconfirmed.code, unconfirmed.json().error.message]).toEqual([
        2,
        expect.stringContaining(`HARDDELETE ${bucketId}`),
      ]);
    }
    expect([await metadataOf(id), await statusOf(id)]).toEqual([{ team: 'a' }, 'queued']);
    for (const statement of [UPDATE, `SOFTDELETE FROM documents WHERE team = 'a'`]) {
      const unconfirmed = await exec(statement, '--json');
      expect([unconfirmed.code, unconfirmed.json().error.code]).toEqual([2, 'confirmation_missing']);
    }
    expect(await metadataOf(id)).toEqual({ team: 'a' });
  });

  test('metadata exec --max-affected changes up to that number of documents, and nothing if more match', async () => {
    const ids = [await upload('a.txt', { team: 'a' }), await upload('b.txt', { team: 'a' })];
    const refused = await exec(UPDATE, '--max-affected', '1', '--json');
    expect([refused.code, refused.json().error.code]).toEqual([4, 'too_many_affected']);
    for (const id of ids) expect(await metadataOf(id)).toEqual({ team: 'a' });
    expect(await execJson(UPDATE, '--max-affected', '2', '--no-reindex')).toMatchObject({ updated: 2 });
    const none = `UPDATE documents SET tag = 'x' WHERE team = 'none'`;
    expect(await execJson(none, '--max-affected', '0')).toMatchObject({ matched: 0, updated: 0 });
  });

  test('metadata exec accepts --confirm with the exact words for HARDDELETE', async () => {
    const id = await upload('a.txt', { team: 'a' });
    const statement = `HARDDELETE FROM documents WHERE team = 'a'`;
    const wrong = await exec(statement, '--confirm', `harddelete ${bucketId}`, '--json');
    expect([wrong.code, await statusOf(id)]).toEqual([2, 'queued']);
    const body = await execJson(statement, '--confirm', `HARDDELETE ${bucketId}`);
    expect(body).toMatchObject({ status: 'queued', job_id: expect.stringMatching(/^job_/), items: [{ id }] });
    expect(await statusOf(id)).toBe('deleting');
  });

  test('metadata exec prints counts and warnings', async () => {
    await upload('a.txt', { team: 'a' });
    await upload('b.txt', { team: 'a', tag: 'x' });
    const run = await exec(UPDATE, '--yes', '--no-reindex');
    expect(run.stdout.split('\n').map((line) => line.split(/ +/))).toEqual(
      expect.arrayContaining([
        ['matched', '2'],
        ['updated', '1'],
        ['skipped', '1'],
      ]),
    );
    expect(run).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('warning: skipped 1: they already have these values\n'),
    });
    expect((await exec(UPDATE, '--yes', '--no-reindex', '--limit', '1')).stderr).toContain(
      'more documents match than the limit of 1',
    );
    expect((await exec(OTHER_UPDATE, '--yes')).stderr).toContain('no worker is running');
  });

  test.each([
    ['an unquoted statement', ['SELECT', 'documents', 'WHERE', 'team', '=', 'a'], /6 words.*quotes/],
    ['no statement', [], /STATEMENT.*--file/],
    ['a statement twice', ['SELECT documents', '--file', '-'], /not both/],
    ['a statement with a fault', ['SELECT documnets'], /line 1, column 8: .*did you mean documents\?/],
    ['a limit of none', ['SELECT documents', '--limit', '0'], /--limit/],
    ['a limit beyond 2,000', ['SELECT documents', '--limit', '2001'], /--limit/],
    ['DELETE', [`DELETE FROM documents WHERE a = 1`], /SOFTDELETE/],
  ])('metadata exec exits with 2 for wrong usage before an installation is opened: %s', async (_, args, message) => {
    const nowhere = { SERVICE_DATA_DIR: '/nowhere/at/all' };
    const refused = await runCommand(['metadata', 'exec', ...args, '--json'], nowhere);
    expect([refused.code, refused.json().error.message]).toEqual([2, expect.stringMatching(message)]);
    expect(refused.stderr).not.toContain('^');
  });

  test('metadata exec exits with 3 for an unknown bucket', async () => {
    const missing = await runCommand(['metadata', 'exec', 'SELECT documents', '--bucket', 'none', '--json'], env);
    expect([missing.code, missing.json().error.code]).toEqual([3, 'bucket_not_found']);
  });
});

describe.skipIf(!CAN_MAKE_TERMINAL)('service metadata exec on a terminal', () => {
  const onTerminal = (statement: string, ...args: string[]) =>
    startOnTerminal(['metadata', 'exec', '--bucket', bucket, '--file', fileOf(statement), ...args], env, {
      ...{ columns: 120, rows: 30 },
    });

  function fileOf(statement: string): string {
    const file = path.join(folder, 'on-terminal.txt');
    writeFileSync(file, statement);
    return file;
  }

  test('metadata exec on a terminal shows the documents that would change, and asks', async () => {
    const id = await upload('contract.txt', { team: 'a' });
    const no = onTerminal(UPDATE);
    await no.shows('contract.txt');
    await no.shows(`This changes 1 document of bucket ${bucket}. Change them? [y/N]`);
    no.pressKeys('\n');
    expect(await no.code).toBe(4);
    const ended = onTerminal(UPDATE);
    await ended.shows('[y/N]');
    ended.pressKeys('\x04'); // Ctrl-D
    await ended.shows('the command was not confirmed; nothing was changed');
    expect(await ended.code).toBe(4);
    expect(await metadataOf(id)).toEqual({ team: 'a' });
    const yes = onTerminal(UPDATE, '--no-reindex');
    await yes.shows('[y/N]');
    yes.pressKeys('y\n');
    await yes.shows('updated');
    expect(await yes.code).toBe(0);
    expect(await metadataOf(id)).toEqual({ team: 'a', tag: 'x' });
    const nothing = onTerminal(UPDATE, '--no-reindex');
    await nothing.shows('nothing to change');
    expect(await nothing.code).toBe(0);
  });

  test('metadata exec on a terminal runs HARDDELETE only if the confirmation is typed', async () => {
    const id = await upload('contract.txt', { team: 'a' });
    const no = onTerminal(`HARDDELETE FROM documents WHERE team = 'a'`);
    await no.shows(`Type HARDDELETE ${bucketId} to do so:`);
    no.pressKeys('y\n');
    expect(await no.code).toBe(4);
    expect(await statusOf(id)).toBe('queued');
    const yes = onTerminal(`HARDDELETE FROM documents WHERE team = 'a'`);
    await yes.shows('to do so:');
    yes.pressKeys(`HARDDELETE ${bucketId}\n`);
    await yes.shows('job_id');
    expect(await yes.code).toBe(0);
    expect(await statusOf(id)).toBe('deleting');
  });

  test('metadata exec on a terminal points at the fault of a statement', async () => {
    const statement = `SELECT documents\nWHERE city = '서울' AND team ~ 'a'`;
    const shown = await runOnTerminal(['metadata', 'exec', '--file', fileOf(statement), '--bucket', bucket], env);
    const lines = stripVTControlCharacters(shown.stdout).split('\r\n');
    expect(shown.code).toBe(2);
    expect(lines.at(-3)).toBe(`WHERE city = '서울' AND team ~ 'a'`);
    expect(lines.at(-2)).toBe(`${' '.repeat(29)}^`);
  });
});

describe('service metadata keys', () => {
  test('metadata keys prints the reserved keys and the limits, without an installation', async () => {
    const nowhere = { SERVICE_DATA_DIR: '/nowhere/at/all' };
    const shown = await runCommand(['metadata', 'keys'], nowhere);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toMatch(/^chunk_id +written by ingest and search$/m);
    expect(shown.stdout).toMatch(/^value_length +512$/m);
    const body = (await runCommand(['metadata', 'keys', '--json'], nowhere)).json();
    expect(body).toMatchObject({ reserved_prefixes: ['schift.'], limits: { keys: 32 } });
  });
});

describe('service metadata history', () => {
  const history = (id: string, ...args: string[]) => runCommand(['metadata', 'history', id, ...args], env);

  test('metadata history shows who made which change by which statement, newest first', async () => {
    const id = await upload('a.txt', { team: 'a' });
    expect(await history(id)).toMatchObject({ code: 0, stdout: '', stderr: 'no changes\n' });
    await exec(UPDATE, '--yes', '--no-reindex');
    await exec(`UPDATE documents SET team = NULL, privacy_level = 4 WHERE tag = 'x'`, '--yes');
    const { data, ...page } = (await history(id, '--json')).json();
    expect(page).toEqual({ object: 'list', has_more: false, next_cursor: null });
    expect(data).toEqual([
      {
        at: expect.stringMatching(/^\d{4}-.*Z$/),
        actor: installation.operator.actor,
        action: 'document.edit_metadata',
        statement: `UPDATE documents SET team = NULL, privacy_level = 4 WHERE tag = 'x'`,
        before: { 'metadata.team': 'a', privacy_level: 1 },
        after: { 'metadata.team': null, privacy_level: 4 },
        detail: { bucket_id: bucketId, reindex_job_id: expect.stringMatching(/^job_/) },
      },
      expect.objectContaining({ statement: UPDATE, before: { 'metadata.tag': null }, after: { 'metadata.tag': 'x' } }),
    ]);
    const shown = await history(id, '--limit', '1');
    expect(shown.stdout).toContain('metadata.team: a -> -, privacy_level: 1 -> 4');
    expect(shown.stdout).not.toContain('metadata.tag');
  });

  test('metadata history still works after the document is deleted', async () => {
    const id = await upload('a.txt', { team: 'a' });
    const statement = `HARDDELETE FROM documents WHERE team = 'a'`;
    await exec(statement, '--confirm', `HARDDELETE ${bucketId}`);
    await installation.appliance.sql`DELETE FROM documents WHERE id = ${id}`;
    const { data } = (await history(id, '--json')).json();
    expect(data).toMatchObject([{ actor: installation.operator.actor, statement, before: {}, after: {} }]);
  });

  test('metadata history exits with 3 for a document that never existed', async () => {
    const missing = await history('doc_none', '--json');
    expect([missing.code, missing.json().error.code]).toEqual([3, 'document_not_found']);
  });
});
