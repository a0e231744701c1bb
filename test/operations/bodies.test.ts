import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readOperatorAccess } from '../../src/appliance/server-record.ts';
import { openSession } from '../../src/cli/session.ts';
import type { JobsSnapshot } from '../../src/jobs/watch.ts';
import { readJsonLines } from '../../src/operations/json-lines.ts';
import { VERSION } from '../../src/platform/version.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

// Bytes that commands send to the server, and that it sends back.
let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ worker: false });
});
afterAll(() => api.close());

function session(signal = new AbortController().signal) {
  const openInstallation = async () => {
    throw new Error('the installation was opened here');
  };
  return openSession({ dataDir: api.dataDir, env: {}, version: VERSION, org: 'default', signal, openInstallation });
}

const uploadOf = (name: string, sizeBytes: number | null = null) => ({
  ...{ bucket: 'default', file_name: name, size_bytes: sizeBytes, request: { source_path: name } },
});

async function countDocuments(name: string): Promise<number> {
  const [row] = await api.appliance.sql`SELECT count(*)::int AS n FROM documents WHERE file_name = ${name}`;
  return row?.['n'] as number;
}

/** Bytes of several parts, of which none repeats. */
function makeBytes(length: number): Buffer {
  return Buffer.from(Uint32Array.from({ length: length / 4 }, (_, index) => index * 2_654_435_761).buffer);
}

test('bytes arrive complete in both directions, whatever the sizes of their parts', async () => {
  const bytes = makeBytes(6_000_000);
  const parts = [0, 1, 5, 70_000, 3_000_000, 6_000_000].map((end, at, ends) => bytes.subarray(ends[at - 1] ?? 0, end));
  const openBody = () =>
    Readable.from(
      parts.filter((part) => part.length > 0),
      { objectMode: false },
    );
  const { id } = await session().send('documents.upload', uploadOf('large.txt'), openBody);
  const { output, body } = await session().receive('documents.file', { document: id });
  expect(output).toMatchObject({ file_name: 'large.txt', size_bytes: bytes.length });
  expect((await buffer(body)).equals(bytes)).toBe(true);
});

test('a refused upload is answered before its bytes are read, and the server goes on', async () => {
  const endless = () =>
    new Readable({
      read() {
        this.push(Buffer.alloc(64 * 1024));
      },
    });
  const refused = session().send('documents.upload', uploadOf('endless.txt', 2 ** 50), endless);
  await expect(refused).rejects.toMatchObject({ code: 'too_large', status: 413 });
  const nowhere = session().send('documents.upload', { ...uploadOf('endless.txt'), bucket: 'nowhere' }, endless);
  await expect(nowhere).rejects.toMatchObject({ code: 'bucket_not_found' });
  expect(await countDocuments('endless.txt')).toBe(0);
  expect(await session().call('buckets.list', {})).toMatchObject({ object: 'list' });
});

test('an error of the bytes is the error of the command, and nothing is stored', async () => {
  const openBody = () =>
    Readable.from(
      (async function* () {
        yield Buffer.from('begun');
        throw new Error('the disk failed');
      })(),
      { objectMode: false },
    );
  await expect(session().send('documents.upload', uploadOf('broken.txt'), openBody)).rejects.toThrow('the disk failed');
  expect(await countDocuments('broken.txt')).toBe(0);
});

test('a command that is killed while it sends leaves no document', async () => {
  const [access] = readOperatorAccess(api.dataDir);
  const before = await api.appliance.sql`SELECT count(*)::int AS n FROM documents`;
  const request = {
    ...{ version: VERSION, operation: 'documents.upload', input: uploadOf('killed.txt') },
    ...{ org: 'default', osUser: 'eve', hasBody: true },
  };
  const socket = connect(access?.socket as string);
  const part = Buffer.concat([Buffer.from([0, 0, 0, 4]), Buffer.from('text')]);
  // The end of the body is missing, as it is when the process of a command ends.
  socket.end(Buffer.concat([Buffer.from(`${access?.secret} ${JSON.stringify(request)}\n`), part]));
  const reply = JSON.parse((await buffer(socket)).toString() || '{"error":{}}');
  expect(reply.error).toBeDefined();
  expect(await api.appliance.sql`SELECT count(*)::int AS n FROM documents`).toEqual(before);
});

test('the selection of a watch of jobs can be changed, and the watch ends with its reader', async () => {
  const { id: document } = await session().send('documents.upload', uploadOf('watched.txt'), () =>
    Readable.from([Buffer.from('watched')], { objectMode: false }),
  );
  const { output, body } = await session().receive('jobs.watch', { interval: 3600 });
  const snapshots = readJsonLines<JobsSnapshot>(body, new AbortController().signal);
  const first = (await snapshots.next()).value as JobsSnapshot;
  expect(first.jobs.map((job) => job.document_id)).toContain(document);
  await session().call('jobs.select', { watch: output.watch, status: 'ready', open: first.jobs[0]?.id });
  const second = (await snapshots.next()).value as JobsSnapshot;
  expect(second).toMatchObject({ sequence: 2, jobs: [], open: { id: first.jobs[0]?.id } });
  await snapshots.return();
  await until(
    () =>
      session()
        .call('jobs.select', { watch: output.watch, status: null, open: null })
        .then(
          () => false,
          (error) => error.code === 'watch_not_found',
        ),
    { what: 'the watch has ended in the server' },
  );
});

test('an interrupted watch throws the reason of the interruption', async () => {
  const abort = new AbortController();
  const { body } = await session(abort.signal).receive('jobs.watch', { interval: 3600 });
  const snapshots = readJsonLines<JobsSnapshot>(body, abort.signal);
  await snapshots.next();
  const next = expect(snapshots.next()).rejects.toThrow('enough');
  abort.abort(new Error('enough'));
  await next;
});

test('a server that stops ends the watches of its commands at once', async () => {
  const own = await openTestApi({ worker: false });
  const dataDir = own.dataDir;
  const other = openSession({
    ...{ dataDir, env: {}, version: VERSION, org: 'default', signal: new AbortController().signal },
    openInstallation: () => Promise.reject(new Error('the installation was opened here')),
  });
  const { body } = await other.receive('jobs.watch', { interval: 3600 });
  const snapshots = readJsonLines<JobsSnapshot>(body, new AbortController().signal);
  await snapshots.next();
  const ended = expect(snapshots.next()).rejects.toMatchObject({ code: 'server_stopped' });
  await own.close();
  await ended;
});
