import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { runCommand } from './service.ts';

// Commands while a server runs. The server of the test works on a database that a command without DATABASE_URL cannot
// find, so a command that works without it has asked the server; with DATABASE_URL it opens the installation itself.
let api: TestApi;
let asking: NodeJS.ProcessEnv;
let opening: NodeJS.ProcessEnv;

beforeAll(async () => {
  api = await openTestApi({ worker: false });
  asking = { SERVICE_DATA_DIR: api.dataDir };
  opening = { ...asking, DATABASE_URL: api.databaseUrl };
  const setUp = [
    ['orgs', 'create', 'acme', '--plan', 'business'],
    ['users', 'create', 'eve@example.com', '--org', 'acme'],
    ['keys', 'create', '--name', 'laptop', '--scope', 'search'],
    ['buckets', 'create', 'manuals'],
    ['buckets', 'set-policy', 'manuals', '--max-privacy-level', '5', '--yes'],
  ];
  for (const args of setUp) expect(await runCommand(args, asking)).toMatchObject({ code: 0 });
});

afterAll(() => api.close());

const READING = [
  ['orgs', 'list'],
  ['users', 'list', '--org', 'acme'],
  ['keys', 'list'],
  ['buckets', 'list'],
  ['buckets', 'show', 'manuals'],
  ['jobs', 'list'],
  ['routing', 'get'],
  ['models', 'list'],
  ['projections', 'list'],
  ['index', 'stats'],
  ['channels', 'list'],
  ['channels', 'outbox'],
  ['channels', 'unanswered'],
  ['channels', 'unanswered', '--texts'],
  ['search', 'log'],
  ['search', 'log', 'level'],
  ['sources', 'list'],
  ['workflows', 'list'],
  ['usage', '--from', '2026-01-01', '--to', '2026-02-01'],
  ['search', 'warranty', '--bucket', 'manuals'],
  ['embed', 'a sunny day', '--dimensions', '64'],
  ['metadata', 'exec', "SELECT documents WHERE team = 'a'", '--bucket', 'manuals'],
];

const FAILING = [
  [3, ['buckets', 'show', 'nothing']],
  [3, ['jobs', 'show', 'job_nothing']],
  [3, ['models', 'show', 'local/nothing']],
  [3, ['bulk', 'status', 'job_nothing']],
  [3, ['users', 'list', '--org', 'nobody']],
  [2, ['search', 'x', '--top-k', '101']],
  [2, ['keys', 'create', '--name', 'x', '--scope', 'everything']],
  [2, ['routing', 'set', 'nothing/at-all']],
] as const;

test.each(READING.map((args) => [args.join(' '), args] as const))(
  'the output of "%s" is the same from the server and from the installation',
  async (_, args) => {
    const [asked, opened] = [
      await runCommand([...args, '--json'], asking),
      await runCommand([...args, '--json'], opening),
    ];
    expect(asked).toMatchObject({ code: 0 });
    expect({ ...asked, json: null }).toEqual({ ...opened, json: null });
    expect(asked.json()).toBeTruthy();
  },
);

/** Lists whose endpoints answer an array, as the contract says. */
const ARRAYS = new Set(['jobs', 'sources', 'channels']);

test('lists have one shape with --json, except those of the endpoints that answer an array', async () => {
  for (const topic of READING.flatMap(([first, second]) => (second === 'list' ? [first] : []))) {
    const list = (await runCommand([topic as string, 'list', '--json'], asking)).json();
    if (ARRAYS.has(topic as string)) expect(list, topic).toEqual(expect.any(Array));
    else expect(list, topic).toMatchObject({ object: 'list', data: expect.any(Array) });
  }
});

test('a link to the console is made by the running server', async () => {
  const { code, json } = await runCommand(['console', 'link', '--url', 'http://localhost:1', '--json'], asking);
  expect(code).toBe(0);
  expect(json()).toMatchObject({ url: expect.stringMatching(/\/console#link=/) });
});

test.each(FAILING)(
  'the failure with code %i of "%s" is the same from the server and from the installation',
  async (code, args) => {
    const [asked, opened] = [
      await runCommand([...args, '--json'], asking),
      await runCommand([...args, '--json'], opening),
    ];
    expect(asked).toMatchObject({ code });
    expect({ ...asked, json: null }).toEqual({ ...opened, json: null });
  },
);

test('tables for people are the same from the server and from the installation', async () => {
  for (const args of [['buckets', 'list'], ['keys', 'list'], ['models', 'list'], ['usage']]) {
    const [asked, opened] = [await runCommand(args, asking), await runCommand(args, opening)];
    expect({ ...asked, json: null }).toEqual({ ...opened, json: null });
  }
});

test('a change that the server made is in the audit log as the person at the command line', async () => {
  const { json } = await runCommand(['buckets', 'create', 'audited', '--json'], asking);
  const [entry] = await api.appliance.sql`select actor from audit_log where target = ${json().id}`;
  expect(entry?.['actor']).toBe(api.operator.actor);
});

test('a statement is run by the server, and asks for no installation', async () => {
  const args = [
    'metadata',
    'exec',
    "UPDATE documents SET team = 'x' WHERE team = 'a'",
    '--bucket',
    'manuals',
    '--yes',
    '--json',
  ];
  expect((await runCommand(args, asking)).json()).toMatchObject({ matched: 0, updated: 0 });
});

test('top reads queues and workers through the server, and its rates from it', async () => {
  const read = await runCommand(['top', '--json'], asking);
  expect(read).toMatchObject({ code: 0 });
  expect(read.json()).toMatchObject({
    ...{ object: 'top_snapshot', trouble: null, queues: [], calibrations: [] },
    ...{ throughput: { finished_per_second: 0 }, server: { url: api.api.url, trouble: null } },
  });
});

test('a bulk job is queued by the server', async () => {
  const finished = await runCommand(['bulk', 'submit', import.meta.filename.replace(/ts$/, 'txt'), '--json'], asking);
  expect(finished).toMatchObject({ code: 3 }); // there is no such file, which is found before anything is opened
});

test('--quiet, or its variable, leaves only the result', async () => {
  const loud = await runCommand(['embed', 'a sunny day'], asking);
  expect(loud.stderr).toContain('1024 dimensions');
  for (const finished of [
    await runCommand(['embed', 'a sunny day', '--quiet'], asking),
    await runCommand(['embed', 'a sunny day'], { ...asking, SERVICE_QUIET: 'true' }),
  ]) {
    expect(finished).toMatchObject({ code: 0, stderr: '', stdout: loud.stdout });
  }
  const failed = await runCommand(['buckets', 'show', 'nothing', '--quiet'], asking);
  expect(failed).toMatchObject({ code: 3, stderr: 'service: bucket not found: nothing\n' });
});
