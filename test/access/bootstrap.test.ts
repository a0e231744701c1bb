import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { bootstrap } from '../../src/access/bootstrap.ts';
import { SCOPES } from '../../src/access/caller.ts';
import { listOrganizations } from '../../src/access/organizations.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { makeKeyRing, makeResolver } from '../support/access.ts';
import { createTestDatabase } from '../support/postgres.ts';

const keyRing = makeKeyRing();
let db: Awaited<ReturnType<typeof createTestDatabase>>;
let dataDir: string;
beforeEach(async () => {
  db = await createTestDatabase();
  dataDir = await mkdtemp(path.join(tmpdir(), 'bootstrap-'));
});
afterEach(async () => {
  await db.drop();
  await rm(dataDir, { recursive: true, force: true });
});

async function createDefaultBucket(sql: Sql, orgId: string): Promise<void> {
  await sql`INSERT INTO buckets (id, org_id, name, policy) VALUES (${`bkt_${orgId}`}, ${orgId}, 'default', '{}')`;
}

const start = (options: Partial<Parameters<typeof bootstrap>[1]> = {}) =>
  bootstrap(db.sql, { dataDir, keyRing, createDefaultBucket, ...options });

async function callerOfKeyFile() {
  const key = await readFile(path.join(dataDir, 'admin.key'), 'utf8');
  expect(key).toMatch(/^svc_\w+\n$/);
  return makeResolver(db.sql, keyRing).resolve(`Bearer ${key.trim()}`);
}

test('the first start creates the organization, its bucket and a valid key; the second changes nothing', async () => {
  const folder = path.join(dataDir, 'not', 'yet', 'there');
  const first = await start({ dataDir: folder });
  expect(first).toEqual({ created: true, keyFile: path.join(folder, 'admin.key') });
  const [org] = await listOrganizations(db.sql);
  expect(org).toMatchObject({ name: 'default', plan: 'enterprise' });
  expect(await db.sql`SELECT org_id, name FROM buckets`).toEqual([{ org_id: org?.id, name: 'default' }]);
  const text = await readFile(first.keyFile, 'utf8');
  expect((await stat(first.keyFile)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['admin.key']);
  expect(await makeResolver(db.sql, keyRing).resolve(`Bearer ${text.trim()}`)).toMatchObject({
    kind: 'api_key',
    orgId: org?.id,
    scopes: new Set(SCOPES),
    authLevel: 10,
  });
  const actions = await db.sql`SELECT action, actor FROM audit_log WHERE org_id = ${org?.id ?? ''} ORDER BY id`;
  expect(actions.map(({ action }) => action)).toEqual(['organization.create', 'key.create']);
  expect(inspect([first, actions], { depth: null })).not.toContain(text.slice(13, 40));

  expect(await start({ dataDir: folder })).toEqual({ created: false, keyFile: first.keyFile });
  expect(await readFile(first.keyFile, 'utf8')).toBe(text);
  expect(await listOrganizations(db.sql)).toHaveLength(1);
});

test('ten concurrent first starts create one organization, and the file contains its key', async () => {
  const results = await Promise.all(Array.from({ length: 10 }, () => start()));
  expect(results.filter(({ created }) => created)).toHaveLength(1);
  expect(await listOrganizations(db.sql)).toHaveLength(1);
  expect(await callerOfKeyFile()).toMatchObject({ authLevel: 10 });
  expect(await readdir(dataDir)).toEqual(['admin.key']);
});

test('a failed first start leaves nothing, and the next start succeeds', async () => {
  const failing = start({
    createDefaultBucket: async () => {
      throw new Error('no bucket');
    },
  });
  await expect(failing).rejects.toThrow('no bucket');
  expect(await listOrganizations(db.sql)).toEqual([]);
  expect(await readdir(dataDir)).toEqual([]);
  expect(await start()).toMatchObject({ created: true });
  expect(await callerOfKeyFile()).toMatchObject({ authLevel: 10 });
});

test('a data directory that cannot be written leaves no organization without a key', async () => {
  const blocked = path.join(dataDir, 'a-file');
  await writeFile(blocked, '');
  await expect(start({ dataDir: blocked })).rejects.toMatchObject({
    code: 'admin_key_not_written',
    message: expect.stringContaining('admin.key'),
  });
  expect(await listOrganizations(db.sql)).toEqual([]);
});

test('a key file that a crash left before the commit is replaced', async () => {
  await writeFile(path.join(dataDir, 'admin.key'), 'svc_of_no_organization\n', { mode: 0o600 });
  expect(await start()).toMatchObject({ created: true });
  expect(await callerOfKeyFile()).toMatchObject({ authLevel: 10 });
});

test('a commit that fails after the file was written leaves no organization, and the next start replaces the file', async () => {
  // A constraint that is checked at the commit simulates a connection that is lost there.
  await db.sql`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no commit'; END $$`;
  await db.sql`
    CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON organizations DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION refuse()`;
  await expect(start()).rejects.toThrow('no commit');
  expect(await listOrganizations(db.sql)).toEqual([]);
  const orphan = await readFile(path.join(dataDir, 'admin.key'), 'utf8');
  await db.sql`DROP TRIGGER refuse ON organizations`;
  expect(await start()).toMatchObject({ created: true });
  expect(await callerOfKeyFile()).toMatchObject({ authLevel: 10 });
  expect(await readFile(path.join(dataDir, 'admin.key'), 'utf8')).not.toBe(orphan);
});

test('a process that lost its connection does not replace the key file of the one that took over', async () => {
  // The first process is stopped right before it replaces the file, when it checks its lock for the second time.
  let locks = 0;
  let takenOver: unknown;
  const stopping = (tx: Sql): Sql =>
    new Proxy(tx, {
      apply(target, self, args) {
        const query = () => Reflect.apply(target, self, args);
        if (!String(args[0]).includes('pg_advisory_xact_lock') || ++locks < 2) return query();
        return (async () => {
          const [row] = await tx<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
          await db.sql`SELECT pg_terminate_backend(${row?.pid ?? 0}, 5000)`;
          takenOver = await start();
          return query();
        })();
      },
    });
  const sql = new Proxy(db.sql, {
    get: (target, name) =>
      name === 'begin'
        ? (fn: (tx: Sql) => Promise<unknown>) => target.begin((tx) => fn(stopping(tx)))
        : Reflect.get(target, name),
  });
  await expect(bootstrap(sql, { dataDir, keyRing, createDefaultBucket })).rejects.toThrow();
  await expect.poll(() => takenOver).toMatchObject({ created: true });
  // The stopped process removes its draft when it notices the loss.
  await expect.poll(() => readdir(dataDir)).toEqual(['admin.key']);
  expect(await callerOfKeyFile()).toMatchObject({ authLevel: 10 });
});
