import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig, deliver, fillBucket, freshUser, textOf } from '../support/channels.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { keepLogs } from '../support/logs.ts';

let upstream: FakeUpstream;
let api: TestApi;
let settings: Record<string, unknown>;
const { logger, lines } = keepLogs();

// The provider of embeddings answers during the ingest, and hangs afterwards.
beforeAll(async () => {
  upstream = await FakeUpstream.start({ dimensions: 1024 });
  settings = {
    providers: { 'vendor-d': { protocol: 'tei', base_url: upstream.baseUrl('tei'), timeout_seconds: 600 } },
    alias: { 'service-embed-1-small': { default: 'vendor-d/bge-m3-ko' } },
    embeddings: { deadline_seconds: 600 },
    channels: { reply_deadline_seconds: 8 },
  };
  api = await openTestApi({ logger, settings });
  await fillBucket(api, 'default', [{ text: 'The pump is greased every three months.' }]);
  await createConfig(api, await api.key({ scopes: ['channels:manage'] }));
});
afterAll(async () => {
  await api.close();
  await upstream.close();
});

const ask = (utterance: string) => deliver(api, { utterance, user_id: freshUser() });

test('while the embedding provider hangs, a delivery is answered by keyword', async () => {
  upstream.decide = () => ({ kind: 'stall' });
  expect(textOf(await ask('how often is the pump greased?'))).toContain('three months');
});

test('a delivery is answered with an apology, a metric and a log line if the index cannot be read', async () => {
  upstream.decide = () => null;
  const other = await openTestApi({ logger, settings, beside: api, worker: false });
  const index = path.join(api.dataDir, 'index');
  for (const table of await readdir(index)) {
    for (const part of ['data', 'rows.safetensors'])
      await rm(path.join(index, table, part), { recursive: true, force: true });
  }
  const answer = await deliver(other, { utterance: 'is the pump greased?', user_id: freshUser() });
  expect(answer.status).toBe(200);
  expect(textOf(answer)).toContain('no answers are available at the moment');
  expect((await other.call('GET', '/metrics')).body).toMatch(
    /service_channel_faults_total\{channel="chn_\w+",reason="\w+"\} 1/,
  );
  expect(lines.map(({ msg }) => msg)).toContain('a delivery could not be answered');
  await other.close();
});
