import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { AppError } from '../../src/platform/errors.ts';
import { test as compare } from '../../src/workflows/condition.ts';
import { openRecorder, runTest } from './recording.ts';

const template = (id: string, text: string, part: Record<string, unknown> = {}) => ({
  ...{ id, type: 'template', with: { text } },
  ...part,
});
const send = (id: string, name: string, part: Record<string, unknown> = {}) => ({
  ...{ id, type: 'send_notification' },
  with: { channel_config_id: 'c', phone: '01012345678', template_code: 'T', template_args: { name } },
  ...part,
});

test('blocks run in the order of their dependencies, otherwise in that of the definition, in every run', async () => {
  const definition = {
    blocks: [
      template('last', '{{blocks.b.output}}{{blocks.a.output}}'),
      template('free', 'f'),
      template('b', 'b', { after: ['a'] }),
      template('a', 'a'),
      template('end', 'e', { if: '{{blocks.last.output}}' }),
    ],
    output: '{{blocks.last.output}}',
  };
  for (let run = 0; run < 3; run++) {
    const outcome = await runTest(definition);
    expect(outcome.blocks.map(({ id }) => id)).toEqual(['free', 'a', 'b', 'last', 'end']);
    expect(outcome).toMatchObject({ status: 'completed', output: 'ba', error: null });
    expect(outcome.recorded.slice(0, 4)).toEqual(['free running', 'free completed', 'a running', 'a completed']);
  }
});

test('a text that is one reference keeps its type, other texts become texts, and what is missing becomes nothing', async () => {
  const { operations, calls } = openRecorder();
  const definition = {
    inputs: {
      n: { type: 'number' },
      team: { type: 'object' },
      note: { type: 'string', required: false },
    },
    blocks: [
      {
        id: 'find',
        type: 'search',
        with: {
          ...{ bucket: 'b{{inputs.n}}', query: 'of {{inputs.team}}{{inputs.note}}' },
          ...{ top_k: ' {{ inputs.n }} ', filter: '{{inputs.team}}', collection: '{{inputs.note}}' },
        },
      },
    ],
    output: ['{{inputs.n}}', '{{inputs.team.name}}', 'x{{inputs.note}}', '{{blocks.find.output.results.7.text}}'],
  };
  const inputs = { n: 3, team: { name: 'legal' }, note: null };
  const outcome = await runTest(definition, { inputs, recorder: { operations, calls } });
  expect(calls).toMatchObject([{ args: { bucket: 'b3', query: 'of {"name":"legal"}', top_k: 3, mode: 'hybrid' } }]);
  expect(calls[0]?.args).toMatchObject({ filter: { filters: [{ key: 'name', value: 'legal' }] } });
  expect(calls[0]?.args).not.toHaveProperty('collection');
  expect(outcome.output).toEqual([3, 'legal', 'x', null]);
});

test('a template that yields nothing gives an empty text, which a required argument refuses', async () => {
  const definition = {
    inputs: { topic: { type: 'string', required: false } },
    blocks: [
      template('say', '{{inputs.topic}}'),
      { id: 'find', type: 'search', with: { bucket: 'b', query: '{{blocks.say.output}}' } },
      template('end', 'x', { after: ['find'] }),
    ],
  };
  const outcome = await runTest(definition, { inputs: { topic: null } });
  expect(outcome.of['say']).toMatchObject({ status: 'completed', output: '' });
  expect(outcome.of['find']).toMatchObject({ status: 'failed', error: 'with.query: must not be empty' });
  expect(outcome.of['end']).toMatchObject({ status: 'skipped', error: 'block "find" failed' });
  expect(outcome).toMatchObject({ status: 'failed', error: 'find: with.query: must not be empty', output: null });
});

test('a block whose condition is not true is skipped, and those that use its output with it', async () => {
  const definition = {
    inputs: { n: { type: 'number' } },
    blocks: [
      { id: 'many', type: 'condition', with: { left: '{{inputs.n}}', op: 'gt', right: 10 } },
      template('a', 'a', { if: 'many' }),
      template('b', 'b{{blocks.a.output}}'),
      template('c', 'c', { after: ['a'] }),
      template('d', 'd', { if: '{{blocks.many.output}}' }),
    ],
  };
  const statuses = async (n: number) => {
    const { of } = await runTest(definition, { inputs: { n } });
    return Object.fromEntries(Object.entries(of).map(([id, { status }]) => [id, status]));
  };
  const all = { many: 'completed', c: 'completed' };
  expect(await statuses(11)).toEqual({ ...all, a: 'completed', b: 'completed', d: 'completed' });
  expect(await statuses(10)).toEqual({ ...all, a: 'skipped', b: 'skipped', d: 'skipped' });
});

test.each([
  [5, 'eq', 5, true],
  [{ a: [1] }, 'eq', { a: [1] }, true],
  ['5', 'eq', 5, false],
  [null, 'ne', 5, true],
  [5, 'gt', 10, false],
  ['5', 'gt', '10', true],
  [10, 'gte', 10, true],
  [null, 'lt', 10, false],
  [3, 'lte', null, false],
  ['pump oil', 'contains', 'oil', true],
  [['a', { b: 1 }], 'contains', { b: 1 }, true],
  [{ a: 1 }, 'contains', 'a', true],
  [{ a: 1 }, 'contains', 'toString', false],
  ['null', 'contains', null, false],
  [null, 'exists', null, false],
  [0, 'exists', null, true],
] as const)('the condition %j %s %j is %s', (left, op, right, expected) => {
  expect(compare(left, op, right)).toBe(expected);
});

test('a run that is not live shows what its side effects would be, and does none', async () => {
  const definition = {
    blocks: [
      { id: 'up', type: 'upload_document', with: { bucket: 'b', filename: 'a.txt', text: 'x' } },
      send('send', 'job {{blocks.up.output.job_id}}'),
      template('say', 'stored {{blocks.up.output.id}}'),
      template('end', 'x', { after: ['up'] }),
    ],
  };
  for (const mode of ['simulate', 'dry_run'] as const) {
    const recorder = openRecorder();
    const outcome = await runTest(definition, { mode, recorder, approved: ['up', 'send'] });
    expect(recorder.calls).toEqual([]);
    expect(outcome).toMatchObject({ status: 'completed', asked: [] });
    expect(outcome.of['up']).toMatchObject({
      status: 'simulated',
      output: null,
      would: { bucket: 'b', filename: 'a.txt', text: 'x', chunk_size: 400 },
    });
    expect(outcome.of['send']).toMatchObject({ status: 'simulated', would: { template_args: { name: 'job ' } } });
    expect(outcome.of['say']).toMatchObject({ status: 'skipped', error: 'block "up" was only simulated' });
    expect(outcome.of['end']).toMatchObject({ status: 'completed' });
  }
});

test('a simulation finds the faults of arguments that the live run would have', async () => {
  const definition = {
    inputs: { phone: { type: 'string' } },
    blocks: [
      {
        ...send('send', 'x'),
        with: { channel_config_id: 'c', phone: '{{inputs.phone}}', template_code: 'T' },
      },
    ],
  };
  const outcome = await runTest(definition, { mode: 'simulate', inputs: { phone: 'Ann' } });
  expect(outcome.of['send']).toMatchObject({ status: 'failed', error: expect.stringContaining('with.phone: must be') });
});

test('a block without approval does nothing, and all that depends on it waits', async () => {
  const definition = {
    blocks: [
      send('first', 'a'),
      send('second', 'b', { after: ['first'] }),
      template('say', '{{blocks.first.output.status}}'),
      send('other', 'c'),
    ],
  };
  const recorder = openRecorder();
  const outcome = await runTest(definition, { approved: ['second', 'other'], recorder });
  expect(outcome).toMatchObject({ status: 'needs_approval', asked: ['first', 'other'], error: null });
  expect(outcome.of['first']).toMatchObject({
    status: 'needs_approval',
    error: 'it was not approved',
    would: { template_args: { name: 'a' } },
  });
  for (const id of ['second', 'say']) {
    expect(outcome.of[id]).toMatchObject({ status: 'skipped', error: 'block "first" needs approval' });
  }
  expect(recorder.calls).toMatchObject([{ args: { template_args: { name: 'c' } } }]);
});

test('a block that exceeds its deadline fails, and a side effect is then said to be uncertain', async () => {
  let isAborted = false;
  const hang = async ({ signal }: { signal: AbortSignal }) => {
    await delay(60_000, undefined, { signal }).catch(() => {
      isAborted = true;
    });
  };
  const recorder = openRecorder({ search: hang, sendNotification: () => new Promise(() => undefined) });
  const find = { id: 'find', type: 'search', with: { bucket: 'b', query: 'x' }, timeout_seconds: 0.05 };
  const searched = await runTest({ blocks: [find, template('end', 'x')] }, { recorder });
  expect(searched.of['find']).toMatchObject({
    status: 'failed',
    error: 'the block did not finish within 0.05 seconds',
    duration_ms: expect.any(Number),
  });
  expect(searched.of['end']?.status).toBe('skipped');
  expect(isAborted).toBe(true);
  const blocks = [send('send', 'x', { timeout_seconds: 0.05 })];
  const sent = await runTest({ blocks }, { recorder, approved: ['send'] });
  expect(sent.error).toBe(
    'send: the block did not finish within 0.05 seconds; its effect may or may not have happened',
  );
});

test('an error of an operation is the result of its block; faults of ours are shown as internal error', async () => {
  const refuse = () => {
    throw new AppError({ code: 'bucket_not_found', status: 404, message: 'bucket not found: b' });
  };
  const blocks = [{ id: 'find', type: 'search', with: { bucket: 'b', query: 'x' } }];
  const refused = await runTest({ blocks }, { recorder: openRecorder({ search: refuse }) });
  expect(refused).toMatchObject({ status: 'failed', error: 'find: bucket not found: b', faults: [] });
  const fault = new TypeError('secret');
  const broken = () => {
    throw fault;
  };
  const failed = await runTest({ blocks }, { recorder: openRecorder({ search: broken }) });
  expect(failed).toMatchObject({ error: 'find: internal error', faults: [fault] });
  const sent = await runTest(
    { blocks: [send('send', 'x')] },
    { recorder: openRecorder({ sendNotification: refuse }), approved: ['send'] },
  );
  expect(sent.error).toBe('send: bucket not found: b');
});

test('an abort ends the run: the block that runs fails, the others are skipped', async () => {
  const abort = new AbortController();
  const recorder = openRecorder({
    search: () => {
      abort.abort();
      return new Promise(() => undefined);
    },
  });
  const blocks = [{ id: 'find', type: 'search', with: { bucket: 'b', query: 'x' } }, send('send', 'x')];
  const outcome = await runTest({ blocks }, { recorder, signal: abort.signal, approved: ['send'] });
  expect(outcome.of['find']).toMatchObject({ status: 'failed', error: 'the run was ended while this block ran' });
  expect(outcome.of['send']?.status).toBe('skipped');
  expect(recorder.calls.map(({ operation }) => operation)).toEqual(['search']);
});

test('references that multiply a text are stopped before they fill the memory', async () => {
  const blocks = [template('b0', 'x'.repeat(1000))];
  for (let at = 1; at < 20; at++) blocks.push(template(`b${at}`, `{{blocks.b${at - 1}.output}}`.repeat(100)));
  const outcome = await runTest({ blocks });
  expect(outcome.status).toBe('failed');
  expect(outcome.error).toMatch(/^b2: its references insert more than 524288 characters/);
});

test('a run whose outputs are too large in all fails', async () => {
  const blocks = [template('b0', '{{inputs.text}}')];
  for (let at = 1; at < 20; at++) blocks.push(template(`b${at}`, `{{inputs.text}}${at}`));
  const definition = { inputs: { text: { type: 'string' } }, blocks };
  const outcome = await runTest(definition, { inputs: { text: 'x'.repeat(300 * 1024) } });
  expect(outcome.error).toMatch(/^b3: the outputs of this run have more than 1048576 characters/);
});
