import { describe, expect, it, onTestFinished } from 'vitest';
import { openTestAppliance } from '../../support/appliance.ts';
import { dovecotAvailable } from '../../support/dovecot.ts';
import { sshAvailable, startGitOverHttp, startGitOverSsh } from '../../support/git-server.ts';
import { mariaDbAvailable } from '../../support/mariadb.ts';
import { addSource, countIngestJobs, sync, syncWorker } from '../../support/memory.ts';
import { s3Available } from '../../support/s3.ts';
import { webdavAvailable } from '../../support/wsgidav.ts';
import { checkKills } from '../kill-worker.ts';
import { openFolderPlace } from './places/folder-place.ts';
import { openGitPlace } from './places/git-place.ts';
import { openMailPlace } from './places/mail-place.ts';
import { openMysqlPlace } from './places/mysql-place.ts';
import { type SourcePlace, writeAll } from './places/place.ts';
import { openS3Place } from './places/s3-place.ts';
import { openSqlitePlace } from './places/sqlite-place.ts';
import { openTablePlace } from './places/table-place.ts';
import { openWebPlace } from './places/web-place.ts';
import { openWebdavPlace } from './places/webdav-place.ts';

const MS_MAX = 1_800_000;
const ENTRIES = 10_000;

/** Types of places, and whether this machine has their server. */
const PLACES: readonly (readonly [string, () => Promise<SourcePlace>, boolean])[] = [
  ['a folder', openFolderPlace, true],
  ['a bucket on S3', openS3Place, s3Available()],
  ['a table of PostgreSQL', openTablePlace, true],
  ['a table of MariaDB', openMysqlPlace, mariaDbAvailable()],
  ['a table of SQLite', openSqlitePlace, true],
  ['a repository over http', () => openGitPlace(startGitOverHttp), true],
  ['a repository over ssh', () => openGitPlace(startGitOverSsh), sshAvailable()],
];

/** Places whose second synchronisation has a test of its own, with their server in another process. */
const PLACES_ELSEWHERE: typeof PLACES = [
  ['a website', openWebPlace, true],
  ['a mailbox', openMailPlace, dovecotAvailable()],
  ['a WebDAV server', openWebdavPlace, webdavAvailable()],
];

describe.each(PLACES.filter(([, , isAvailable]) => isAvailable))('%s', (what, open) => {
  it('of 10,000 unchanged entries is no work in its second synchronisation', { timeout: MS_MAX }, async () => {
    const place = await open();
    onTestFinished(() => place.close());
    await writeAll(place, ENTRIES);
    const test = await openTestAppliance({ sources: { place: place.connection } });
    const worker = syncWorker(test);
    await worker.start();
    onTestFinished(async () => {
      await worker.stop();
      await test.close();
    });
    const { id } = await addSource(test, { name: 'place', connection: 'place', config: place.config });
    expect((await sync(test, id)).counts).toMatchObject({ added: ENTRIES, failed: 0 });
    const beganMs = performance.now();
    expect((await sync(test, id)).counts).toMatchObject({ unchanged: ENTRIES, added: 0, changed: 0, removed: 0 });
    process.stdout.write(`${what}: ${((performance.now() - beganMs) / 1000).toFixed(1)} s\n`);
    expect(await countIngestJobs(test.appliance.sql)).toBe(ENTRIES);
  });
});

describe.each([...PLACES, ...PLACES_ELSEWHERE].filter(([, , isAvailable]) => isAvailable))('%s', (_, open) => {
  it('has the same end state after ten kills', { timeout: MS_MAX }, async () => {
    const place = await open();
    onTestFinished(() => place.close());
    await checkKills(place, { entries: 1_000, kills: 10 });
  });
});
