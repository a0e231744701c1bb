import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { makeDataDir } from '../support/appliance.ts';
import { encodePng } from '../support/encode-image.ts';
import { makePdf, sampleParagraph } from '../support/sample-files.ts';
import { until } from '../support/until.ts';
import { CAN_MAKE_TERMINAL, runCommand, runOnTerminal, runService, startService } from './service.ts';

// Upload and search on an installation of its own with embedded PostgreSQL.
let server: EmbeddedPostgres;
let dataDir: ReturnType<typeof makeDataDir>;
let env: NodeJS.ProcessEnv;
let folder: string;

beforeAll(async () => {
  dataDir = makeDataDir();
  env = { SERVICE_DATA_DIR: dataDir.dataDir };
  // The server keeps running between the commands, each of which would otherwise start and stop it.
  server = await openEmbeddedPostgres({ dataDir: dataDir.dataDir, settings: { fsync: 'off' } });
  folder = mkdtempSync(path.join(tmpdir(), 'documents-'));
  mkdirSync(path.join(folder, 'deep'));
  writeFileSync(
    path.join(folder, 'handbook.md'),
    '# Handbook\n\n## Parental leave\n\nEvery employee gets sixteen weeks of paid leave after a birth.\n\n' +
      '## 휴가 정책\n\n연차 휴가는 매년 열다섯 날입니다.\n',
  );
  writeFileSync(path.join(folder, 'printers.html'), '<h1>Printers</h1><p>The plotter stands in room 204.</p>');
  writeFileSync(
    path.join(folder, 'wing.pdf'),
    await makePdf([
      { heading: 'Wind tunnel', paragraphs: [sampleParagraph('aerofoil')] },
      { heading: 'Hot wires', paragraphs: [sampleParagraph('ornithopter')] },
    ]),
  );
  writeFileSync(path.join(folder, 'notes.txt'), 'The spare key hangs behind the boiler.');
  writeFileSync(path.join(folder, 'deep', 'cellar.txt'), 'The cellar holds forty barrels of cider.');
  writeFileSync(path.join(folder, '.draft.txt'), 'hidden');
});

afterAll(async () => {
  await server?.release();
  dataDir.remove();
  rmSync(folder, { recursive: true, force: true });
});

const service = (...args: string[]) => runCommand(args, env);

async function search(query: string, ...args: string[]) {
  const finished = await service('search', query, '--json', ...args);
  expect(finished.code).toBe(0);
  return finished.json().results;
}

test('an uploaded folder is searchable, and results have page and heading', async () => {
  const before = readdirSync(folder).map((name) => [
    name,
    name === 'deep' ? '' : readFileSync(path.join(folder, name), 'hex'),
  ]);
  const options = ['--metadata', 'team=it', '--metadata', 'year=2026', '--chunk-size', '64', '--chunk-overlap', '0'];
  const upload = await service('documents', 'upload', folder, ...options, '--json');
  expect(upload.code).toBe(0);
  expect(upload.json()).toMatchObject({
    object: 'list',
    counts: { ready: 4, linked: 0, queued: 0, failed: 0 },
    data: ['handbook.md', 'notes.txt', 'printers.html', 'wing.pdf'].map((source_path) => ({
      source_path,
      status: 'ready',
      id: expect.stringMatching(/^doc_/),
      job_id: expect.stringMatching(/^job_/),
      error: null,
    })),
    skipped: [expect.objectContaining({ reason: 'hidden' }), expect.objectContaining({ reason: 'folder' })],
  });
  expect(upload.stderr).toMatch(/^\[4\/4\] ready /m);
  expect(
    readdirSync(folder).map((name) => [name, name === 'deep' ? '' : readFileSync(path.join(folder, name), 'hex')]),
  ).toEqual(before);

  const [page] = await search('ornithopter');
  expect(page.citation).toMatchObject({ file_name: 'wing.pdf', locator: { page: 2, heading_path: ['Hot wires'] } });
  const [leave] = await search('weeks of paid leave', '--filter', '{"team":"it"}');
  expect(leave.citation).toMatchObject({ source_path: 'handbook.md' });
  expect(leave.citation.locator.heading_path).toContain('Handbook');
  expect((await search('휴가'))[0].citation.file_name).toBe('handbook.md');
  expect(await search('plotter', '--filter', '{"team":"sales"}')).toEqual([]);
});

test('search prints a numbered list, with colours only if they are enabled', async () => {
  const piped = await service('search', 'plotter room', '--top-k', '1');
  expect((await service('search', 'plotter room', '--limit', '1')).stdout).toBe(piped.stdout);
  expect(piped.stdout).toMatch(/^1\. \[\d\.\d\d\] printers\.html · Printers\n {3}/);
  expect(piped.stdout).toContain('   The plotter stands in room 204.');
  expect(piped.stdout).not.toContain('\u001b');
  const coloured = await runService(['search', 'plotter room', '--top-k', '1'], { ...env, FORCE_COLOR: '1' });
  expect(coloured.stdout).toContain('\u001b[33mplotter');
  const pdf = await service('search', 'ornithopter', '--top-k', '1');
  expect(pdf.stdout).toMatch(/^1\. \[\d\.\d\d\] wing\.pdf · page 2 · Hot wires\n/);
  const reranked = await service('search', 'plotter', '--rerank');
  expect(reranked).toMatchObject({ code: 0, stderr: expect.stringMatching(/^warning: /) });
});

test('files uploaded again are linked, and --recursive uploads the files in subfolders', async () => {
  const again = (await service('documents', 'upload', folder, '--recursive', '--json')).json();
  expect(again.counts).toEqual({ ready: 1, linked: 4, queued: 0, failed: 0 });
  expect(again.data.find((outcome: { status: string }) => outcome.status === 'ready').source_path).toBe(
    'deep/cellar.txt',
  );
  const rejected = await service(
    'documents',
    'upload',
    path.join(folder, 'notes.txt'),
    '--on-duplicate',
    'reject',
    '--json',
  );
  expect(rejected).toMatchObject({ code: 4 });
  expect(rejected.json().data[0].error.category).toBe('duplicate_document');
});

test('--ocr-strategy decides if the text in pictures is read', async () => {
  const picture = path.join(folder, 'picture.png');
  writeFileSync(picture, encodePng({ width: 40, height: 30, pixels: new Uint8Array(1_200).fill(255) }));
  const never = await service('documents', 'upload', picture, '--ocr-strategy', 'never', '--json');
  expect(never).toMatchObject({ code: 4 });
  expect(never.json().data[0].error).toMatchObject({
    category: 'unsupported_type',
    message: expect.stringContaining('never'),
  });
  const wrong = await service('documents', 'upload', picture, '--ocr-strategy', 'sometimes');
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--ocr-strategy') });
  rmSync(picture);
});

test('failed uploads are reported with their category, and exit with 4', async () => {
  const bad = path.join(folder, 'broken.pdf');
  const empty = path.join(folder, 'empty.txt');
  writeFileSync(bad, 'this is no PDF');
  writeFileSync(empty, '');
  const upload = await service('documents', 'upload', bad, empty);
  expect(upload.code).toBe(4);
  expect(upload.stdout).toMatch(/broken\.pdf +failed +doc_\w+ .*corrupt: /);
  expect(upload.stdout).toMatch(/empty\.txt +failed +- .*empty_file: /);
  expect(upload.stderr).toContain('0 ready, 0 linked, 0 queued, 2 failed, 0 skipped');
  const [job] = (await service('jobs', 'list', '--status', 'failed', '--json')).json();
  expect(job).toMatchObject({ file_name: 'broken.pdf', error_category: 'corrupt' });
  expect((await service('jobs', 'show', job.id)).stdout).toMatch(/^error_category +corrupt$/m);
});

test('documents are listed by pages, shown and deleted', async () => {
  const first = (await service('documents', 'list', '--status', 'ready', '--limit', '2', '--json')).json();
  expect(first).toMatchObject({ object: 'list', has_more: true });
  const next = (await service('documents', 'list', '--limit', '200', '--cursor', first.next_cursor, '--json')).json();
  expect(next.data.map((document: { id: string }) => document.id)).not.toContain(first.data[1].id);

  const notes = next.data
    .concat(first.data)
    .find((document: { file_name: string }) => document.file_name === 'notes.txt');
  expect((await service('documents', 'show', notes.id, '--json')).json()).toEqual(notes);
  expect((await service('documents', 'show', notes.id)).stdout).toMatch(/^metadata +\{"team":"it","year":"2026"\}$/m);
  expect(await service('documents', 'delete', notes.id)).toMatchObject({ code: 2 });
  const deleted = await service('documents', 'delete', notes.id, '--yes', '--json');
  expect(deleted.json()).toEqual({ id: notes.id, deleted: true });
  expect(await service('documents', 'show', notes.id)).toMatchObject({ code: 3 });
  expect(JSON.stringify(await search('spare key boiler'))).not.toContain('boiler.');
});

test('upload --no-wait leaves a job in the queue, and the next upload that waits processes it', async () => {
  const file = path.join(folder, 'later.txt');
  writeFileSync(file, 'The lighthouse was built in 1811.');
  const queued = await service('documents', 'upload', file, '--no-wait', '--json');
  expect(queued).toMatchObject({ code: 0, stderr: expect.stringContaining('no worker is running') });
  expect(queued.json().counts).toMatchObject({ queued: 1 });
  const waited = (await service('documents', 'upload', file, '--json')).json();
  expect(waited.data).toEqual([expect.objectContaining({ status: 'linked', id: queued.json().data[0].id })]);
  expect((await search('lighthouse'))[0].citation.file_name).toBe('later.txt');
});

test('an upload stopped by Ctrl-C leaves whole files in the queue, and the next upload finishes them', async () => {
  const many = path.join(folder, 'many');
  mkdirSync(many);
  for (let index = 0; index < 60; index++) writeFileSync(path.join(many, `${index}.txt`), `Turbine number ${index}.\n`);
  const running = startService(['documents', 'upload', many, '--json'], env);
  await until(async () => running.output().stderr.includes('[5/60]'), { what: 'five files were uploaded' });
  running.child.kill('SIGINT');
  const interrupted = await running.finished;
  expect(interrupted.code).toBe(130);
  expect(interrupted.json()).toEqual({ error: { code: 'interrupted', message: 'interrupted' } });
  const [, uploaded] = /interrupted: (\d+) of 60 files were uploaded/.exec(interrupted.stderr) ?? [];

  const resumed = (await service('documents', 'upload', many, '--json')).json();
  expect(resumed.counts.failed).toBe(0);
  expect(resumed.counts.linked).toBe(Number(uploaded));
  expect(resumed.counts.ready + resumed.counts.linked).toBe(60);
  const jobs = (await service('jobs', 'list', '--limit', '200', '--json')).json();
  expect(
    jobs.filter(
      (job: { file_name: string; status: string }) => /^\d+\.txt$/.test(job.file_name) && job.status === 'ready',
    ),
  ).toHaveLength(60);
});

test('serve processes uploads, prints a first request that works when it is pasted, and stops on SIGTERM', async () => {
  const serve = startService(['serve', '--port', '0'], env);
  const output = await until(async () => /console: .*\n/.test(serve.output().stdout) && serve.output().stdout, {
    what: 'ready',
  });
  const [listening, labelled, curl, console] = output.split('\n');
  const keyFile = labelled?.replace(/^admin key: /, '');
  // The lexical model embeds: one line says how to get meaning, with the command.
  const hints = serve.output().stderr.match(/^.*matches words only; .*: service models adopt local\/semantic-1$/gm);
  expect(hints).toHaveLength(1);
  expect(listening).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+$/);
  expect(keyFile).toBe(path.join(dataDir.dataDir, 'admin.key'));
  const url = (listening as string).replace('listening on ', '');
  expect(curl).toContain(`${url}/v1/embeddings`);
  expect(curl).toContain(`$(cat ${keyFile})`);
  const [, header = '', body = ''] = /-H "Authorization: (Bearer) .*-d '(.*)'$/.exec(curl as string) ?? [];
  const answer = await fetch(`${url}/v1/embeddings`, {
    method: 'POST',
    headers: {
      Authorization: `${header} ${readFileSync(keyFile as string, 'utf8').trim()}`,
      'Content-Type': 'application/json',
    },
    body,
  });
  expect(answer.status).toBe(200);

  const [, address = '', link = ''] =
    /^console: (\S+)#link=(\S+) \(works once, expires at /.exec(console as string) ?? [];
  expect(address).toBe(`${url}/console`);
  const signIn = () =>
    fetch(`${url}/v1/sessions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ link }),
    });
  expect([(await signIn()).status, (await signIn()).status]).toEqual([201, 401]);
  const another = await service('console', 'link', '--url', url, '--json');
  expect(another.json()).toEqual({
    url: expect.stringMatching(/^http:.*\/console#link=[\w-]{43}$/),
    expires_at: expect.stringMatching(/Z$/),
  });

  const file = path.join(folder, 'served.txt');
  writeFileSync(file, 'The observatory opens at dusk.');
  const upload = await service('documents', 'upload', file, '--json');
  expect(upload.json().counts).toMatchObject({ ready: 1 });
  expect((await search('observatory'))[0].citation.file_name).toBe('served.txt');

  const port = new URL(url).port;
  const second = await service('serve', '--port', port, '--json');
  expect(second).toMatchObject({ code: 4 });
  expect(second.stderr).not.toContain('EADDRINUSE');
  expect(second.json().error).toEqual({ code: 'cannot_listen', message: expect.stringContaining(port) });

  serve.child.kill('SIGTERM');
  expect(await serve.finished).toMatchObject({ code: 0, stdout: output });
});

test('serve --json prints one line', async () => {
  const serve = startService(['serve', '--port', '0', '--no-workers', '--json'], env);
  const output = await until(async () => serve.output().stdout.endsWith('\n') && serve.output().stdout, {
    what: 'ready',
  });
  expect(JSON.parse(output)).toEqual({
    url: expect.stringMatching(/^http:/),
    key_file: path.join(dataDir.dataDir, 'admin.key'),
    console_url: expect.stringMatching(/^http:.*\/console$/),
  });
  serve.child.kill('SIGINT');
  expect(await serve.finished).toMatchObject({ code: 0, stdout: output });
});

test.skipIf(!CAN_MAKE_TERMINAL)('an upload on a terminal shows a bar, without colours if NO_COLOR is set', async () => {
  const upload = await runOnTerminal(['documents', 'upload', path.join(folder, 'deep'), '--on-duplicate', 'allow'], {
    ...env,
    NO_COLOR: '1',
  });
  expect(upload.code).toBe(0);
  expect(upload.stdout).toContain('█');
  expect(upload.stdout).toContain('processing');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
  expect(upload.stdout).not.toMatch(/\u001b\[[0-9;]*m/);
});
