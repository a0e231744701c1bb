import { z } from 'zod';
import { integerSetting, numberSetting } from './number-settings.ts';
import type { Secret } from './secret.ts';
import { readServiceAccount, type ServiceAccount } from './service-account.ts';
import type { AwsKeys } from './storage-settings.ts';
import { providerFaults } from './vendor-faults.ts';
import {
  type Address,
  address,
  apiVersion,
  modelId,
  name,
  PROTOCOLS,
  type ProtocolName,
  secret,
} from './vendor-fields.ts';

const Endpoint = z.strictObject({
  name: name.optional().describe('name of this credential in logs and in doctor'),
  ...address,
  /** Share of the calls, relative to the provider's other endpoints. */
  weight: numberSetting({ above: 0, max: 1000, default: 1 }, 'relative share of the calls that this endpoint gets'),
});

/** Names of models and limits of calls. */
const rules = {
  models: z
    .record(modelId, z.string().min(1).max(200))
    .default({})
    .describe('names at the vendor by model id, such as deployments of azure; needed for models outside the catalog'),
  concurrency_max: integerSetting({ min: 1, max: 1024, default: 16 }, 'calls at the same time'),
  timeout_seconds: numberSetting({ above: 0, max: 600, default: 20 }, 'time limit of one call'),
  retries_max: integerSetting({ min: 0, max: 10, default: 3 }, 'number of attempts after the first one'),
  /** Maximum number of texts, and of tokens, in one call, if the vendor's limit is below that of its protocol. */
  items_max: z.int().min(1).max(10_000).optional().describe('texts in one call, if fewer than the protocol allows'),
  tokens_max: z.int().min(1).optional().describe('tokens in one call, if fewer than the protocol allows'),
};

/** Schema of `providers.<vendor>`: the endpoints that serve a vendor's models. */
export const Provider = z
  .strictObject({
    protocol: z.enum(PROTOCOLS).describe('wire protocol of the API'),
    ...address,
    api_version: apiVersion
      .optional()
      .describe('azure: date of the API with deployments in its path (default: the v1 API)'),
    endpoints: z
      .array(Endpoint)
      .min(1)
      .max(32)
      .optional()
      .describe('several addresses or keys, instead of base_url and api_key'),
    ...rules,
  })
  .superRefine((provider, context) => {
    for (const { path, message } of providerFaults(provider)) context.addIssue({ code: 'custom', path, message });
  });

/** Credential that is more than a key in a header: it signs requests or is exchanged for tokens. */
export type CloudCredentials =
  | { readonly kind: 'aws'; readonly region: string; readonly keys: AwsKeys | null }
  | { readonly kind: 'google'; readonly serviceAccount: ServiceAccount };

export interface ProviderSettings {
  readonly protocol: ProtocolName;
  readonly endpoints: readonly EndpointSettings[];
  /** Vendor's names of models, by our model id. */
  readonly models: Readonly<Record<string, string>>;
  /** Dated API version of Azure; null for the v1 API and other protocols. */
  readonly apiVersion: string | null;
  readonly concurrencyMax: number;
  readonly timeoutMs: number;
  readonly retriesMax: number;
  readonly itemsMax: number | null;
  readonly tokensMax: number | null;
}

export interface EndpointSettings {
  readonly name: string;
  /** URL without a trailing slash. The protocol appends the path of the operation. */
  readonly baseUrl: string;
  readonly apiKey: Secret | null;
  /** Credential that replaces the key; null for none. */
  readonly cloud: CloudCredentials | null;
  readonly weight: number;
}

const simpleVendor = {
  name,
  protocol: Provider.shape.protocol,
  ...address,
  base_url: address.base_url.meta({ maxLength: 2000 }),
  api_key: secret.optional().describe('API key of the vendor; no response shows it'),
  api_version: Provider.shape.api_version,
};

/** Vendor with one address and one key, under the rules of the settings. Check it with `vendorFaults`. */
export const SimpleVendor = z.object(simpleVendor);
export type SimpleVendor = z.output<typeof SimpleVendor>;

/** Convert a vendor with one address to complete settings. */
export function settingsOfVendor(vendor: Omit<SimpleVendor, 'name'>): ProviderSettings {
  return providerOf({ ...z.object(rules).parse({}), ...vendor });
}

export function providerOf(provider: z.output<typeof Provider>): ProviderSettings {
  // A vendor with one address doesn't need a list of endpoints.
  const listed = provider.endpoints ?? [{ ...provider, weight: 1, name: undefined }];
  const { protocol, api_version: version = null } = provider;
  return {
    protocol,
    endpoints: listed.map((endpoint, index) => ({
      name: endpoint.name ?? `key-${index + 1}`,
      baseUrl: baseUrlOf(protocol, endpoint, version),
      apiKey: endpoint.api_key ?? null,
      cloud: cloudOf(endpoint),
      weight: endpoint.weight,
    })),
    models: provider.models,
    apiVersion: version,
    concurrencyMax: provider.concurrency_max,
    timeoutMs: provider.timeout_seconds * 1000,
    retriesMax: provider.retries_max,
    itemsMax: provider.items_max ?? null,
    tokensMax: provider.tokens_max ?? null,
  };
}

function cloudOf(given: Address): CloudCredentials | null {
  if (given.service_account) {
    return { kind: 'google', serviceAccount: readServiceAccount(given.service_account) };
  }
  if (given.region === undefined || given.api_key) return null;
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey, session_token: token } = given;
  const keys = accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey, sessionToken: token ?? null } : null;
  return { kind: 'aws', region: given.region, keys };
}

function baseUrlOf(protocol: ProtocolName, given: Address, version: string | null): string {
  const { region: awsRegion = '', project: id, location: place = '' } = given;
  const url = (given.base_url ?? '').replace(/\/+$/, '');
  switch (protocol) {
    // Operators may copy the address of the resource or of one of its APIs.
    case 'azure':
      return `${url.replace(/\/openai(\/.*)?$/, '')}/openai${version === null ? '/v1' : ''}`;
    case 'bedrock':
      return url || `https://bedrock-runtime.${awsRegion}.amazonaws.com${awsRegion.startsWith('cn-') ? '.cn' : ''}`;
    case 'vertex':
      return `${url || vertexUrlOf(place)}/v1/projects/${id}/locations/${place}`;
    default:
      return url;
  }
}

/** Return the address of Vertex AI (cloud.google.com/vertex-ai/docs/general/locations, November 2026). */
function vertexUrlOf(place: string): string {
  if (place === 'global') return 'https://aiplatform.googleapis.com';
  if (place === 'us' || place === 'eu') return `https://aiplatform.${place}.rep.googleapis.com`;
  return `https://${place}-aiplatform.googleapis.com`;
}

/** Path of the operation by protocol, appended to `base_url`; null if it depends on the model. */
const OPERATIONS: Readonly<Record<ProtocolName, string | null>> = {
  openai: '/embeddings',
  azure: null,
  gemini: null,
  vertex: null,
  voyage: '/embeddings',
  jina: '/embeddings',
  cohere: '/v2/embed',
  bedrock: null,
  mistral: '/embeddings',
  nomic: '/v1/embedding/text',
  mixedbread: '/embeddings',
  nim: '/embeddings',
  tei: '/embed',
  ollama: '/api/embed',
};

/** Warn about addresses that already end in the path of the operation, and name the address that would be called. */
export function warnOfDoubledPaths(providers: Readonly<Record<string, ProviderSettings>>): string[] {
  return Object.entries(providers).flatMap(([vendor, { protocol, endpoints }]) => {
    const path = OPERATIONS[protocol];
    if (path === null) return [];
    const doubled = endpoints.filter((endpoint) => endpoint.baseUrl.toLowerCase().endsWith(path));
    return doubled.map(
      (endpoint) =>
        `providers.${vendor}: base_url already ends in ${path}, so calls go to ${endpoint.baseUrl}${path}; ` +
        `set base_url to ${endpoint.baseUrl.slice(0, -path.length)}`,
    );
  });
}
