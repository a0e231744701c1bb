import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig } from '../support/channels.ts';
import { FakeMessenger } from '../support/fake-messenger.ts';
import { CAN_MAKE_TERMINAL, runCommand, runService } from './service.ts';
import { startOnTerminal } from './terminal.ts';

// Each test runs several commands, which are slow on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

let provider: FakeMessenger;
let api: TestApi;
let env: NodeJS.ProcessEnv;
let folder: string;
let channel: string;

beforeAll(async () => {
  provider = await FakeMessenger.start();
  api = await openTestApi({ worker: false });
  env = { SERVICE_DATA_DIR: api.dataDir, DATABASE_URL: api.databaseUrl };
  const messenger = { base_url: provider.url };
  writeFileSync(path.join(api.dataDir, 'service.yaml'), JSON.stringify({ channels: { messenger } }));
  folder = mkdtempSync(path.join(tmpdir(), 'workflows-cli-'));
  channel = await createConfig(api, await api.key({ scopes: ['channels:manage'] }));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await api.close();
  await provider.close();
});

const workflows = (...args: string[]) => runCommand(['workflows', ...args], env);

/** Write a definition with two notifications, in YAML. */
function writeDefinition(name: string, greeting = 'Hello'): string {
  const file = path.join(folder, `${name}.yaml`);
  writeFileSync(
    file,
    `
name: ${name}
definition:
  inputs:
    people: {type: array}
    topic: {type: string, required: false, default: pumps}
  blocks:
    - id: greet
      type: template
      with: {text: "${greeting} {{inputs.people.0}}, this is about {{inputs.topic}}"}
    - id: send
      type: send_notification
      with:
        channel_config_id: ${channel}
        phone: "01012345678"
        template_code: FIRST
        template_args: {text: "{{blocks.greet.output}}"}
    - id: remind
      type: send_notification
      after: [send]
      with: {channel_config_id: ${channel}, phone: "01012345678", template_code: SECOND}
  output: "{{blocks.greet.output}}"
`,
  );
  return file;
}

const INPUT = ['--input', 'people=["Ann"]'];
const sent = () => provider.seen.map(({ body }) => (body as { template_code: string }).template_code);

test('a workflow is imported, shown, published, and imported again as a new version', async () => {
  const file = writeDefinition('Report');
  const created = await workflows('import', file);
  expect(created).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Report \(wfl_\w+\): created, version 1\n$/),
    stderr: 'version 1 is a draft; publish it with: service workflows publish "Report"\n',
  });
  const draft = await workflows('run', 'Report', ...INPUT);
  expect(draft).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('the workflow is a draft') });
  expect(await workflows('publish', 'Report')).toMatchObject({ code: 0, stdout: 'published version 1 of Report\n' });
  expect((await workflows('import', file)).stdout).toContain('unchanged, version 1\nversion 1 is published');

  const changed = await workflows('import', writeDefinition('Report', 'Dear'), '--publish', '--json');
  expect(changed.json()).toMatchObject({ name: 'Report', version: 2, published_version: 2, status: 'published' });
  const shown = await workflows('show', 'Report');
  expect(shown.stdout).toMatch(/shown +version 2 of 2, 1/);
  expect(shown.stdout).toMatch(/inputs +people \(array\), topic \(string, optional\)/);
  expect(shown.stdout).toMatch(/remind +send_notification +yes, needs approval +send/);
  expect((await workflows('show', 'Report', '--at-version', '1', '--json')).json()).toMatchObject({
    version: 1,
    definition: { blocks: [{ with: { text: expect.stringContaining('Hello') } }, {}, {}] },
  });
  expect((await workflows('list')).stdout).toMatch(/wfl_\w+ +Report +published +2 +2/);
  expect((await workflows('list', '--json')).json()).toMatchObject({ object: 'list', data: [{ name: 'Report' }] });
});

test('a faulty file is refused with all of its faults, and nothing is stored', async () => {
  const file = path.join(folder, 'faulty.json');
  const definition = {
    blocks: [
      { id: 'a', type: 'templat', with: {} },
      { id: 'a', type: 'template', with: { text: '{{inputs.x}}' } },
    ],
  };
  writeFileSync(file, JSON.stringify(definition));
  expect(await workflows('import', file)).toMatchObject({ code: 2, stderr: expect.stringContaining('--name') });
  const refused = await workflows('import', file, '--name', 'Faulty');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('blocks[0].type: unknown block type "templat"; did you mean "template"?');
  expect(refused.stderr).toContain('blocks[1].id: "a" is already the id of blocks[0]');
  expect(refused.stderr).toContain('blocks[1].with.text: unknown input "x"');
  expect((await workflows('show', 'Faulty')).code).toBe(3);
  for (const [content, fault] of [
    ['{', 'is not valid JSON'],
    ['a: [', 'is not valid YAML'],
    ['- a', 'must contain one object'],
    ['a: 1', 'must contain a definition'],
  ] as const) {
    writeFileSync(file, content);
    expect(await workflows('import', file)).toMatchObject({ code: 2, stderr: expect.stringContaining(fault) });
  }
  expect((await workflows('import', path.join(folder, 'missing.json'))).code).toBe(3);
  const piped = await runService(
    ['workflows', 'import', '-', '--name', 'Piped', '--json'],
    env,
    JSON.stringify({
      blocks: [{ id: 'a', type: 'template', with: { text: 'x' } }],
    }),
  );
  expect(piped.json()).toMatchObject({ name: 'Piped', version: 1 });
});

test('a script runs a workflow with approvals by flags, and learns the end from the exit code', async () => {
  await workflows('import', writeDefinition('Script'), '--publish');
  provider.reset();
  const simulated = await workflows('run', 'Script', ...INPUT);
  expect(simulated).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing was changed; 2 of the blocks') });
  expect(simulated.stdout).toMatch(/send +send_notification +simulated +0 +would run with \{.*"FIRST"/);
  expect(simulated.stdout).toContain('\n\nHello Ann, this is about pumps\n');

  const half = await workflows('run', 'Script', ...INPUT, '--mode', 'live', '--approve', 'send', '--json');
  expect(half.code).toBe(4);
  expect(half.json()).toMatchObject({
    status: 'needs_approval',
    mode: 'live',
    output: 'Hello Ann, this is about pumps',
  });
  expect(half.stderr).toContain('not approved: remind');
  expect(sent()).toEqual(['FIRST']);
  const all = await workflows('run', 'Script', ...INPUT, '--mode', 'live', '--approve', 'send', '--approve', 'remind');
  expect(all).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^run run_\w+ \(live, version 1\): completed\n$/),
  });
  expect(sent()).toEqual(['FIRST', 'FIRST', 'SECOND']);

  provider.answer = (response) => void response.writeHead(400).end('{}');
  const failed = await workflows('run', 'Script', ...INPUT, '--mode', 'live', '--approve', 'send');
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('failed: send: the messaging provider') });
  expect((await workflows('run', 'Script', ...INPUT, '--mode', 'dry-run')).code).toBe(0);

  const runs = await workflows('runs', 'Script');
  expect(
    runs.stdout
      .split('\n')
      .slice(1, 5)
      .map((line) => line.split(/ {2,}/).slice(2, 5)),
  ).toEqual([
    ['dry_run', '1', 'completed'],
    ['live', '1', 'failed'],
    ['live', '1', 'completed'],
    ['live', '1', 'needs_approval'],
  ]);
  const page = (await workflows('runs', 'Script', '--limit', '1', '--json')).json();
  expect(page.data).toMatchObject([{ mode: 'dry_run' }]);
  const one = await workflows('runs', 'Script', page.data[0].run_id);
  expect(one.stdout).toMatch(/remind +send_notification +simulated/);
  expect((await workflows('runs', 'Script', 'run_missing')).code).toBe(3);
});

test('a run that waits is approved by another command, and goes on from there', async () => {
  await workflows('import', writeDefinition('Later'), '--publish');
  provider.reset();
  const half = await workflows('run', 'Later', ...INPUT, '--mode', 'live', '--approve', 'send');
  const id = half.stderr.match(/run (run_\w+)/)?.[1] as string;
  expect(half.stderr).toContain(`to approve and continue: service workflows approve "Later" ${id} --approve remind\n`);
  for (const [args, code, fault] of [
    [[], 2, '--approve: give the id of a block, or of one to --decline'],
    [['--approve', 'remind', '--decline', 'remind'], 2, '--decline remind: the block is approved, too'],
    [['--approve', 'send'], 2, 'no block "send" of the run waits for an approval; these do: remind'],
  ] as const) {
    const refused = await workflows('approve', 'Later', id, ...args);
    expect(refused).toMatchObject({ code, stderr: expect.stringContaining(fault) });
  }
  expect((await workflows('approve', 'Later', 'run_missing', '--approve', 'remind')).code).toBe(3);
  const approved = await workflows('approve', 'Later', id, '--approve', 'remind', '--json');
  expect(approved).toMatchObject({ code: 0 });
  expect(approved.json()).toMatchObject({ status: 'completed', output: 'Hello Ann, this is about pumps' });
  expect(sent()).toEqual(['FIRST', 'SECOND']);
  const again = await workflows('approve', 'Later', id, '--approve', 'remind');
  expect(again).toMatchObject({ code: 4, stderr: expect.stringContaining('already continued the run') });
  const shown = await workflows('runs', 'Later', id);
  expect(shown.stdout).toMatch(new RegExp(`continued_by +${approved.json().run_id}`));

  const other = (await workflows('run', 'Later', ...INPUT, '--mode', 'live', '--json')).json().run_id;
  const declined = await workflows('approve', 'Later', other, '--decline', 'send', '--json');
  expect(declined).toMatchObject({ code: 4, stderr: expect.stringContaining('not approved: remind') });
  const rest = await workflows('approve', 'Later', declined.json().run_id, '--decline', 'remind');
  expect(rest).toMatchObject({ code: 0, stdout: expect.stringMatching(/remind .*skipped .*declined it/) });
  expect(sent()).toEqual(['FIRST', 'SECOND']);
});

test('wrong usage of a run is refused with what to change', async () => {
  await workflows('import', writeDefinition('Usage'), '--publish');
  const cases = [
    [[], 'inputs.people: is required'],
    [['--input', 'people=Ann'], '--input: people must be of type array, as JSON'],
    [['--input', 'people=5'], 'inputs.people: must be of type array, not number'],
    [['--input', 'people'], '--input: must be key=value'],
    [[...INPUT, '--input', 'more=1'], 'inputs.more: the workflow has no such input'],
    [[...INPUT, '--mode', 'real'], '--mode: must be simulate, live, dry-run'],
    [[...INPUT, '--approve', 'send'], 'add --mode live'],
    [[...INPUT, '--mode', 'live', '--approve', 'sned'], 'approvals.sned: the workflow has no block "sned"'],
  ] as const;
  for (const [args, fault] of cases) {
    expect(await workflows('run', 'Usage', ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(fault) });
  }
  expect((await workflows('run', 'Nobody')).code).toBe(3);
  const file = path.join(folder, 'inputs.yaml');
  writeFileSync(file, 'people: [Bob]\ntopic: valves');
  const run = await workflows('run', 'Usage', '--inputs-file', file, '--input', 'topic=seals', '--json');
  expect(run.json()).toMatchObject({ output: 'Hello Bob, this is about seals' });
});

test.runIf(CAN_MAKE_TERMINAL)('on a terminal each side effect is shown, and done only if it is approved', async () => {
  await workflows('import', writeDefinition('Asked'), '--publish');
  provider.reset();
  const size = { columns: 100, rows: 30 };
  const run = startOnTerminal(['workflows', 'run', 'Asked', ...INPUT, '--mode', 'live'], env, size);
  await run.shows('Block send (send_notification) would run with:');
  await run.shows('template_code: FIRST');
  await run.shows('"text": "Hello Ann, this is about pumps"');
  await run.shows('Approve block send? [y/N]');
  expect(sent()).toEqual([]);
  run.pressKeys('y\r');
  await run.shows('template_code: SECOND');
  await run.shows('Approve block remind? [y/N]');
  expect(sent()).toEqual(['FIRST']);
  run.pressKeys('\r');
  await run.shows('not approved: remind');
  expect(await run.code).toBe(4);
  expect(sent()).toEqual(['FIRST']);
});

test.runIf(CAN_MAKE_TERMINAL)(
  'on a terminal an approval shows what a run waits with, and asks about each block',
  async () => {
    await workflows('import', writeDefinition('Asked later'), '--publish');
    provider.reset();
    const { run_id: id } = (await workflows('run', 'Asked later', ...INPUT, '--mode', 'live', '--json')).json();
    const size = { columns: 100, rows: 30 };
    const none = startOnTerminal(['workflows', 'approve', 'Asked later', id], env, size);
    await none.shows('Approve block send? [y/N]');
    none.pressKeys('\r');
    await none.shows('nothing was changed');
    expect(await none.code).toBe(4);
    const one = startOnTerminal(['workflows', 'approve', 'Asked later', id], env, size);
    await one.shows('template_code: FIRST');
    await one.shows('Approve block send? [y/N]');
    one.pressKeys('y\r');
    // It waits only after the first has run.
    await one.shows('Approve block remind? [y/N]');
    expect(sent()).toEqual(['FIRST']);
    one.pressKeys('\r');
    await one.shows('not approved: remind');
    expect(await one.code).toBe(4);
    expect(sent()).toEqual(['FIRST']);
  },
);

test.runIf(CAN_MAKE_TERMINAL)('the end of the input (Ctrl-D) approves no side effect of a workflow', async () => {
  await workflows('import', writeDefinition('Left'), '--publish');
  provider.reset();
  const run = startOnTerminal(['workflows', 'run', 'Left', ...INPUT, '--mode', 'live'], env, {
    columns: 100,
    rows: 30,
  });
  await run.shows('Approve block send? [y/N]');
  run.pressKeys('\x04');
  await run.shows('not approved: send');
  expect(await run.code).toBe(4);
  expect(sent()).toEqual([]);
});
