import { execFile } from 'node:child_process';
import { appendFile, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { openPostgres, type PostgresConnection } from '../../src/platform/postgres.ts';
import { makeDataDir } from './appliance.ts';

const exec = promisify(execFile);
const SETTINGS = { fsync: 'off', wal_keep_size: '64MB' };

export interface ReplicatedPostgres {
  readonly primary: PostgresConnection;
  readonly replica: PostgresConnection;
  /** Send a signal to the first process of the replica and to its children. */
  signalReplica(signal: NodeJS.Signals): Promise<void>;
  close(): Promise<void>;
}

/**
 * Start a PostgreSQL and a streaming replica of it. The replica begins as a base backup by the low-level API
 * (https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-LOWLEVEL-BASE-BACKUP), since the embedded
 * binaries have no pg_basebackup.
 */
export async function openReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const places = [makeDataDir(), makeDataDir()] as const;
  const [ofPrimary, ofReplica] = places;
  const primary = await openEmbeddedPostgres({ dataDir: ofPrimary.dataDir, settings: SETTINGS });
  const replica = await copyAsReplica(primary, ofReplica.dataDir).catch(async (error) => {
    await primary.release();
    throw error;
  });
  return {
    primary: primary.connection,
    replica: replica.connection,
    async signalReplica(signal) {
      const pid = await postmasterOf(ofReplica.dataDir);
      const { stdout } = await exec('ps', ['-o', 'pid=', '--ppid', String(pid)]);
      for (const each of [pid, ...stdout.trim().split(/\s+/).map(Number)]) process.kill(each, signal);
    },
    async close() {
      await replica.release();
      await primary.release();
      for (const { remove } of places) remove();
    },
  };
}

async function copyAsReplica(primary: EmbeddedPostgres, dataDir: string): Promise<EmbeddedPostgres> {
  const directory = path.join(dataDir, 'postgres');
  const { host, port, username, password } = primary.connection;
  const sql = openPostgres(primary.connection, { poolMax: 1, applicationName: 'test-backup' });
  try {
    await sql`SELECT pg_backup_start('replica', true)`;
    await exec('cp', ['-a', primary.directory, directory]);
    const [stop] = await sql<{ labelfile: string }[]>`SELECT labelfile FROM pg_backup_stop(false)`;
    const { uid, gid } = await stat(directory);
    const own = async (name: string, text: string) => {
      await writeFile(path.join(directory, name), text, { mode: 0o600 });
      await exec('chown', [`${uid}:${gid}`, path.join(directory, name)]);
    };
    for (const name of ['postmaster.pid', 'postmaster.opts', 'pg_wal']) {
      await rm(path.join(directory, name), { recursive: true, force: true });
    }
    await mkdir(path.join(directory, 'pg_wal'), { mode: 0o700 });
    await exec('chown', [`${uid}:${gid}`, path.join(directory, 'pg_wal')]);
    await own('backup_label', stop?.labelfile ?? '');
    await own('standby.signal', '');
    const address = `host=${host} port=${port} user=${username} password=${password.reveal()}`;
    await appendFile(path.join(directory, 'postgresql.auto.conf'), `primary_conninfo = '${address}'\n`);
  } finally {
    await sql.end({ timeout: 5 });
  }
  await writeFile(path.join(dataDir, 'postgres.password'), password.reveal(), { mode: 0o600 });
  return openEmbeddedPostgres({ dataDir, settings: SETTINGS });
}

async function postmasterOf(dataDir: string): Promise<number> {
  return Number((await readFile(path.join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0]);
}
