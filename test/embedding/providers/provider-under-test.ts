import { onTestFinished } from 'vitest';
import { openProvider, type ProviderOptions } from '../../../src/embedding/providers/open-provider.ts';
import type { ProtocolName, Provider, ProviderCall } from '../../../src/embedding/providers/provider.ts';
import type { Model } from '../../../src/models/catalog.ts';
import { openThreads } from '../../../src/platform/threads.ts';
import type { ProviderSettings } from '../../../src/platform/vendor-settings.ts';
import { FakeUpstream, type FakeUpstreamOptions } from '../../support/fake-upstream.ts';
import { keepLogs } from '../../support/logs.ts';

export const DIMENSIONS = 8;

export function modelOf(fields: Partial<Model> = {}): Model {
  return {
    id: 'vendor-x/model-1',
    vendor: 'vendor-x',
    kind: 'semantic',
    defaultDimension: DIMENSIONS,
    nativeDimension: DIMENSIONS,
    maxTokens: 8192,
    variableDimensions: false,
    revision: '1',
    prefixes: {},
    takesTaskType: true,
    tokenizer: { kind: 'estimate' },
    upstreamDimensions: null,
    pricePerMillion: 0,
    local: null,
    ...fields,
  };
}

/** Create a call whose texts have one token per character. */
export function callOf(texts: readonly string[], fields: Partial<ProviderCall> = {}): ProviderCall {
  const counts = texts.map((text) => Math.max(1, text.length));
  return { model: modelOf(), texts, counts, taskType: null, signal: new AbortController().signal, ...fields };
}

/** Return a model that takes several texts in a call of the protocol. */
export function multiTextModelOf(protocol: ProtocolName, fields: Partial<Model> = {}): Model {
  return modelOf(protocol === 'bedrock' ? { id: 'vendor-x/cohere.embed-v4:0', ...fields } : fields);
}

/** Create settings with short waits. */
export function settingsOf(
  protocol: ProtocolName,
  baseUrl: string,
  fields: Partial<ProviderSettings> = {},
): ProviderSettings {
  return {
    protocol,
    endpoints: [{ name: 'key-1', baseUrl, apiKey: null, cloud: null, weight: 1 }],
    models: {},
    apiVersion: null,
    concurrencyMax: 4,
    timeoutMs: 10_000,
    retriesMax: 2,
    itemsMax: null,
    tokensMax: null,
    ...fields,
  };
}

export async function startUpstream(options: FakeUpstreamOptions = {}): Promise<FakeUpstream> {
  const upstream = await FakeUpstream.start({ dimensions: DIMENSIONS, ...options });
  onTestFinished(() => upstream.close());
  return upstream;
}

/** Open a provider that retries at once and is closed after the test. */
export function startProvider(
  settings: ProviderSettings,
  fields: Partial<ProviderOptions> = {},
): { provider: Provider; logs: ReturnType<typeof keepLogs> } {
  const logs = keepLogs();
  const threads = openThreads();
  const provider = openProvider({
    name: 'vendor-x',
    settings,
    threads,
    logger: logs.logger,
    random: () => 0,
    ...fields,
  });
  onTestFinished(async () => {
    await provider.close();
    await threads.close();
  });
  return { provider, logs };
}

/** Return the rows of a matrix as plain arrays. */
export function rowsOf(vectors: Float32Array, count: number): number[][] {
  const width = vectors.length / count;
  return Array.from({ length: count }, (_, row) => Array.from(vectors.subarray(row * width, (row + 1) * width)));
}

/** Create texts that differ. */
export function texts(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `text ${index}`);
}

/** Create a clock that the test advances. */
export function clock() {
  let nowMs = 1_000;
  return {
    now: () => nowMs,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}
