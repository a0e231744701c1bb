import { openTestApi, type TestApi } from './api.ts';
import type { TestApplianceOptions } from './appliance.ts';
import { FakeUpstream, type FakeUpstreamOptions } from './fake-upstream.ts';

export const SMALL = 'vendor-a/text-embedding-3-small';
export const LARGE = 'vendor-a/text-embedding-3-large';
export const KOREAN = 'vendor-d/bge-m3-ko';
export const MULTILINGUAL = 'vendor-e/embeddings-v3';

export interface TestGateway extends TestApi {
  /** Server of vendors `vendor-a` (OpenAI protocol) and `vendor-e` (Jina protocol). */
  readonly upstream: FakeUpstream;
  /** Server of vendor `vendor-d` (TEI protocol), so that one vendor can be down while the others are up. */
  readonly korean: FakeUpstream;
}

export const CANARY_KEY = 'canary-sk-5f2b1c9d7e';

/** Open an installation with three vendors over real HTTP. A call to a vendor may take 30 s and is tried twice. */
export async function openTestGateway(
  settings: Record<string, unknown> = {},
  options: FakeUpstreamOptions = {},
  appliance: TestApplianceOptions = {},
): Promise<TestGateway> {
  const dimensions = {
    'text-embedding-3-small': 1536,
    'text-embedding-3-large': 3072,
    'embeddings-v3': 1024,
    tei: 1024,
  };
  const upstream = await FakeUpstream.start({ dimensions, apiKeys: [CANARY_KEY], ...options });
  const korean = await FakeUpstream.start({ dimensions: 1024 });
  const common = { timeout_seconds: 30, retries_max: 1 };
  const api = await openTestApi({
    ...appliance,
    worker: false,
    settings: {
      providers: {
        'vendor-a': { protocol: 'openai', base_url: upstream.baseUrl('openai'), api_key: CANARY_KEY, ...common },
        'vendor-d': { protocol: 'tei', base_url: korean.baseUrl('tei'), ...common },
        'vendor-e': { protocol: 'jina', base_url: upstream.baseUrl('jina'), api_key: CANARY_KEY, ...common },
      },
      ...settings,
    },
  });
  return {
    ...api,
    upstream,
    korean,
    async close() {
      await api.close();
      await upstream.close();
      await korean.close();
    },
  };
}
