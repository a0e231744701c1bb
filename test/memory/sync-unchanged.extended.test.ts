import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openTestAppliance } from '../support/appliance.ts';
import { dovecotAvailable, MAIL_PASSWORD, MAIL_USER, startDovecot } from '../support/dovecot.ts';
import { addSource, countIngestJobs, sync, syncWorker } from '../support/memory.ts';
import { DAV_PASSWORD, DAV_USER, startWebdav, webdavAvailable } from '../support/wsgidav.ts';
import { mailOf } from './readers/places/mail-place.ts';

const ENTRIES = 10_000;
const MS_MAX = 900_000;

/** Synchronise a source of 10,000 entries twice, and print how long each took. The second time causes no work. */
async function checkSecond(connection: Record<string, unknown>, config: Record<string, unknown>): Promise<void> {
  const test = await openTestAppliance({ sources: { place: connection } });
  const worker = syncWorker(test);
  await worker.start();
  onTestFinished(async () => {
    await worker.stop();
    await test.close();
  });
  const { id } = await addSource(test, { name: 'place', connection: 'place', config });
  const timed = async () => {
    const from = performance.now();
    const { counts } = await sync(test, id);
    return { counts, seconds: ((performance.now() - from) / 1000).toFixed(1) };
  };
  const first = await timed();
  expect(first.counts).toMatchObject({ added: ENTRIES, failed: 0 });
  const second = await timed();
  expect(second.counts).toMatchObject({ added: 0, changed: 0, removed: 0, unchanged: ENTRIES, failed: 0 });
  expect(await countIngestJobs(test.appliance.sql)).toBe(ENTRIES);
  process.stdout.write(
    `${connection['type']}: ${ENTRIES} entries, first ${first.seconds} s, second ${second.seconds} s\n`,
  );
}

it.skipIf(!dovecotAvailable())('10,000 unchanged messages are no work', { timeout: MS_MAX }, async () => {
  const server = await startDovecot();
  onTestFinished(() => server.drop());
  const client = await server.openClient();
  for (let nth = 0; nth < ENTRIES; nth++)
    await client.append('INBOX', mailOf(`Letter ${nth}`, `The text of letter ${nth}.`));
  await client.logout();
  const login = { user: MAIL_USER, password: MAIL_PASSWORD };
  await checkSecond({ type: 'imap', host: '127.0.0.1', port: server.port, security: 'none', ...login }, {});
});

it.skipIf(!webdavAvailable())('10,000 unchanged files on WebDAV are no work', { timeout: MS_MAX }, async () => {
  const server = await startWebdav();
  onTestFinished(() => server.drop());
  const time = new Date('2024-03-01T12:00:00Z');
  for (let nth = 0; nth < ENTRIES; nth++) {
    const file = path.join(server.folder, `${nth % 100}`, `${nth}.txt`);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `The text of file ${nth}.`);
    utimesSync(file, time, time);
  }
  await checkSecond({ type: 'webdav', url: server.url, user: DAV_USER, password: DAV_PASSWORD }, {});
});
