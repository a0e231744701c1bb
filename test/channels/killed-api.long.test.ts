import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createChannel } from '../../src/channels/configs.ts';
import { CreateChannel } from '../../src/channels/schema.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { fillBucket } from '../support/channels.ts';
import type { FakeMessenger } from '../support/fake-messenger.ts';
import { kakaoBody, PLATFORMS, slackBody, slackHeaders, startPlatforms, takeReply } from '../support/platforms.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

// Two API processes, one of which is killed between the response to a delivery and the reply by a call.

const QUESTION = 'how often is the pump greased?';

let test: TestAppliance;
let fake: FakeMessenger;
let worker: Service;
let env: NodeJS.ProcessEnv;
let apis: ServiceProcess[] = [];
const paths: Record<string, string> = {};
/** Deliveries whose reply the platform has taken, in the order of the replies. */
const taken: number[] = [];
let number = 0;

beforeAll(async () => {
  const platforms = await startPlatforms();
  fake = platforms.fake;
  const settings = { channels: { reply_deadline_seconds: 3, ...platforms.settings } };
  test = await openTestAppliance(settings);
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  await fillBucket(test, 'default', [{ fileName: 'pump.txt', text: 'The pump is greased every three months.' }]);
  for (const [provider, config] of [
    ['kakao', { use_callback: 'always' }],
    ['slack', PLATFORMS['slack']?.config],
  ] as const) {
    const request = CreateChannel.parse({ name: provider, provider, config: { collection: 'default', ...config } });
    const { channel } = await createChannel(test.appliance, test.operator, request);
    paths[provider] = channel.webhook_path as string;
  }
  const file = path.join(test.dataDir, 'api.yaml');
  writeFileSync(file, JSON.stringify(settings));
  env = { SERVICE_CONFIG: file, SERVICE_DATA_DIR: test.dataDir, DATABASE_URL: test.databaseUrl };
}, 120_000);
afterAll(async () => {
  for (const api of apis) await api.end('SIGKILL');
  await worker.stop();
  await test.close();
  await fake.close();
});

const startApi = () => startServiceProcess(['serve', '--no-workers', '--port', '0'], env);

/** Start two processes, of which the first is to be killed. */
async function startPair(): Promise<{ killed: ServiceProcess; other: ServiceProcess }> {
  for (const api of apis) await api.end('SIGKILL');
  await test.appliance.sql`DELETE FROM channel_later_replies`;
  const [killed, other] = await Promise.all([startApi(), startApi()]);
  apis = [killed, other];
  taken.length = 0;
  fake.seen.length = 0;
  takeAll();
  return { killed, other };
}

function takeAll(): void {
  fake.answer = (response, seen) => {
    taken.push(Number(/C-(\d+)-/.exec(`${seen.path}${JSON.stringify(seen.body)}`)?.[1]));
    takeReply(response, seen);
  };
}

async function ask(api: ServiceProcess, provider: 'kakao' | 'slack', nth: number): Promise<unknown> {
  const json = provider === 'kakao' ? kakaoBody(QUESTION, `${fake.origin}/c/C-${nth}-`) : slackBody(QUESTION, nth);
  const body = JSON.stringify(json);
  const signed = provider === 'kakao' ? {} : slackHeaders(PLATFORMS['slack']?.config['secret'] as string, body);
  const headers = { 'Content-Type': 'application/json', ...signed };
  const response = await fetch(`${api.ready['url']}${paths[provider]}`, { method: 'POST', body, headers });
  expect(response.status).toBe(200);
  return response.json();
}

/** Ask twelve questions, of which those to Slack arrive at both processes. */
async function askMany({ killed, other }: { killed: ServiceProcess; other: ServiceProcess }): Promise<number[]> {
  const asked = Array.from({ length: 12 }, () => ++number);
  for (const nth of asked) {
    if (nth % 2 === 0) expect(await ask(killed, 'kakao', nth)).toMatchObject({ useCallback: true });
    else for (const api of [killed, other, killed]) expect(await ask(api, 'slack', nth)).toEqual({});
  }
  return asked;
}

const stateOf = async () => {
  const [row] = await test.appliance.sql`
    SELECT count(*) FILTER (WHERE status = 'waiting' AND reason IS NOT NULL)::int AS refused,
           count(*) FILTER (WHERE status IN ('waiting', 'sending'))::int AS open FROM channel_later_replies`;
  return row as unknown as { refused: number; open: number };
};

async function expectEachTakenOnce(asked: readonly number[]): Promise<void> {
  await until(async () => (await stateOf()).open === 0, {
    withinMs: 60_000,
    everyMs: 100,
    what: 'the end of the replies',
  });
  expect(taken.toSorted((a, b) => a - b)).toEqual(asked);
}

it('answers that a killed process was making are made and sent once by the other', async () => {
  const pair = await startPair();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  const locking = test.appliance.sql.begin(async (tx) => {
    await tx`LOCK TABLE channel_calls IN ACCESS EXCLUSIVE MODE`;
    hold();
    await released;
  });
  await held;
  const asked = await askMany(pair);
  expect(fake.seen).toEqual([]);
  await pair.killed.end('SIGKILL');
  release();
  await locking;
  await expectEachTakenOnce(asked);
}, 180_000);

it('replies that a platform has refused for the time being are sent once, although the process is killed', async () => {
  const pair = await startPair();
  fake.answer = (response) => response.writeHead(429, { 'retry-after': '10' }).end('{}');
  const asked = await askMany(pair);
  // No call is in progress then: the platform may have taken the reply of a call that a kill interrupts.
  await until(async () => (await stateOf()).refused === asked.length, { withinMs: 60_000, what: 'the refusals' });
  await pair.killed.end('SIGKILL');
  takeAll();
  await expectEachTakenOnce(asked);
}, 180_000);

it('a call in progress is not repeated after its process is killed, and the next question is answered', async () => {
  const { killed, other } = await startPair();
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  fake.answer = () => reach();
  await ask(killed, 'slack', ++number);
  const first = number;
  await reached;
  await killed.end('SIGKILL');
  takeAll();
  await ask(other, 'slack', first);
  await ask(other, 'slack', ++number);
  await until(async () => taken.length > 0, { withinMs: 30_000, what: 'the next reply' });
  const [row] = await test.appliance.sql`
    UPDATE channel_later_replies SET due_at = due_at - interval '1 minute' WHERE status = 'sending' RETURNING status`;
  expect(row).toBeDefined();
  await expectEachTakenOnce([number]);
  const failed = await test.appliance.sql`SELECT reason, uncertain FROM channel_later_replies WHERE status = 'failed'`;
  expect([...failed]).toEqual([{ reason: 'interrupted', uncertain: true }]);
}, 180_000);

it('a process that is stopped leaves its replies to the other, after the wait that the platform asks for', async () => {
  const pair = await startPair();
  fake.answer = (response) => response.writeHead(429, { 'retry-after': '3' }).end('{}');
  const asked = [++number];
  await ask(pair.killed, 'slack', number);
  await until(async () => fake.seen.length > 0, { withinMs: 30_000, what: 'the first call' });
  takeAll();
  await pair.killed.end('SIGTERM');
  expect(pair.killed.ended()).toEqual({ code: 0, signal: null });
  await expectEachTakenOnce(asked);
}, 180_000);
