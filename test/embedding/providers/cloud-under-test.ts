import { onTestFinished } from 'vitest';
import { z } from 'zod';
import type { ProviderCall } from '../../../src/embedding/providers/provider.ts';
import { Catalog } from '../../../src/models/catalog.ts';
import { embeddingConfigOf, embeddingSettings } from '../../../src/platform/provider-settings.ts';
import type { ProtocolName } from '../../../src/platform/vendor-fields.ts';
import type { ProviderSettings } from '../../../src/platform/vendor-settings.ts';
import { FakeTokenServer } from '../../support/fake-token-server.ts';
import type { FakeAwsKey } from '../../support/fake-upstream/signature.ts';
import type { FakeUpstream } from '../../support/fake-upstream.ts';
import { callOf, modelOf } from './provider-under-test.ts';

export const AWS: FakeAwsKey = {
  ...{ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' },
  ...{ region: 'us-east-1', service: 'bedrock' },
};
export const KEYS = { access_key_id: AWS.accessKeyId, secret_access_key: AWS.secretAccessKey };

/** Settings of a provider, as service.yaml has them. */
export function settingsFrom(provider: object): ProviderSettings {
  const { providers } = embeddingConfigOf(z.object(embeddingSettings).parse({ providers: { v: provider } }));
  return providers['v'] as ProviderSettings;
}

export const rules = { retries_max: 2, timeout_seconds: 10 };
export const bedrockAt = (upstream: FakeUpstream, more: object = {}) =>
  settingsFrom({ protocol: 'bedrock', base_url: `${upstream.url}/bedrock`, region: 'us-east-1', ...rules, ...more });

/** Call with a known model of a protocol, of the dimension that the fake sends. */
export function callFor(protocol: ProtocolName, name: string, of: readonly string[], more: Partial<ProviderCall> = {}) {
  const id = `vendor-x/${name}`;
  const { prefixes, takesTaskType } = new Catalog(
    [],
    { 'vendor-x': { [id]: name } },
    {},
    { 'vendor-x': protocol },
  ).find(id);
  return callOf(of, { model: modelOf({ id, prefixes, takesTaskType }), ...more });
}

export const azureAt = (upstream: FakeUpstream, more: object = {}) =>
  settingsFrom({ protocol: 'azure', base_url: `${upstream.url}/azure/`, api_key: 'azure-key', ...rules, ...more });

export async function startTokenServer(): Promise<FakeTokenServer> {
  const tokenServer = await FakeTokenServer.start();
  onTestFinished(() => tokenServer.close());
  return tokenServer;
}

export const TOKENS = Array.from({ length: 9 }, (_, at) => `ya29.token-${at + 1}`);
export const vertexAt = (upstream: FakeUpstream, keyFile: string) =>
  settingsFrom({
    ...{ protocol: 'vertex', base_url: `${upstream.url}/vertex`, project: 'p-1', location: 'us-central1' },
    ...{ service_account: keyFile, ...rules },
  });
