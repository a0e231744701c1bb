import { metricsListener } from '../../src/appliance/metrics-listener.ts';
import { openTestGateway, SMALL, type TestGateway } from './gateway.ts';
import { until } from './until.ts';

export const OBSERVED_BUCKET = 'observed-bucket';

export interface ObservedService extends TestGateway {
  readonly userKey: string;
  /** Read `/metrics` from the port for metrics. */
  scrape(): Promise<string>;
  /** Address of the port for metrics. */
  readonly metricsUrl: string;
}

/** Open a service with a vendor, a worker and a metrics port, after one request of each kind. */
export async function openObservedService(): Promise<ObservedService> {
  const gateway = await openTestGateway({ metrics: { port: 0 } });
  const { appliance } = gateway;
  const listener = metricsListener(appliance);
  const worker = appliance.jobs.worker('ingest');
  const { signal } = new AbortController();
  await listener.start(signal);
  await worker.start(signal);
  const metricsUrl = `http://127.0.0.1:${listener.port}`;
  const service: ObservedService = {
    ...gateway,
    userKey: await gateway.key({ scopes: ['embed', 'search', 'documents:write', 'buckets:manage'] }),
    metricsUrl,
    scrape: async () => (await fetch(`${metricsUrl}/metrics`)).text(),
    async close() {
      await worker.stop();
      await listener.stop();
      await gateway.close();
    },
  };
  await makeTraffic(service);
  return service;
}

async function makeTraffic({ call, userKey: key }: ObservedService): Promise<void> {
  for (let i = 0; i < 2; i++) {
    await call('POST', '/v1/embeddings', { key, json: { model: SMALL, input: 'an observed text' } });
  }
  await call('POST', '/v1/buckets', { key, json: { name: OBSERVED_BUCKET } });
  const form = new FormData();
  form.set('file', new Blob(['An observed document tells of otters in the river.']), 'otters.txt');
  const upload = await call('POST', `/v1/buckets/${OBSERVED_BUCKET}/documents`, { key, body: form });
  if (upload.status !== 202) throw new Error(`the upload was answered with ${upload.status}`);
  const isReady = async () => (await call('GET', `/v1/jobs/${upload.body.job_id}`, { key })).body.status === 'ready';
  await until(isReady, { withinMs: 120_000, what: 'ingest of the document' });
  // No worker claims it, so that the queue isn't empty.
  await call('POST', '/v1/embed/jobs', { key, json: { texts: ['a queued text'], model: SMALL } });
  await call('POST', `/v2/buckets/${OBSERVED_BUCKET}/search`, { key, json: { query: 'otters' } });
}
