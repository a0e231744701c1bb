import { z } from 'zod';
import { Secret } from './secret.ts';
import { readServiceAccount, type ServiceAccount, ServiceAccountKey } from './service-account.ts';

/** Supported wire protocols. The protocol, never the vendor's name, selects the adapter. */
export const PROTOCOLS = [
  'openai',
  'azure',
  'gemini',
  'vertex',
  'voyage',
  'jina',
  'cohere',
  'bedrock',
  'mistral',
  'nomic',
  'mixedbread',
  'nim',
  'tei',
  'ollama',
] as const;
export type ProtocolName = (typeof PROTOCOLS)[number];

/** Credential, which goes into headers and therefore holds printable ASCII only. */
export const secret = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
  .transform((value) => new Secret(value));
export const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be lower-case letters, digits, ".", "_" and "-"');
export const modelId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/:-]{0,199}$/, 'is not a model id');
export const baseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .refine((url) => !/[?#]|:\/\/[^/]*@/.test(url), 'must have no query, no fragment and no credentials; use api_key');

const region = z.string().regex(/^[a-z]{2}(-[a-z]+)+-\d+$/, 'is not a region of AWS, such as us-east-1');
const project = z.string().regex(/^[a-z0-9][a-z0-9.:-]{0,62}$/, 'is not the id of a Google Cloud project');
const location = z.string().regex(/^[a-z0-9-]{1,40}$/, 'is not a location of Vertex AI, such as us-central1 or global');
const apiVersion = z.string().regex(/^\d{4}-\d{2}-\d{2}(-preview)?$/, 'must be a date, such as 2024-10-21');

/** Place of a vendor's API, and the credential for it. `addressFaults` checks which of them a protocol needs. */
const address = {
  base_url: baseUrl
    .optional()
    .describe(
      'address of the API, without the path of the operation (bedrock and vertex: default: that of the region)',
    ),
  api_key: secret.optional().describe('key of the vendor, which a variable of the environment may hold'),
  region: region.optional().describe('bedrock: region of AWS'),
  access_key_id: secret.optional().describe('bedrock: access key, instead of api_key'),
  secret_access_key: secret.optional().describe('bedrock: secret of the access key'),
  session_token: secret.optional().describe('bedrock: token of temporary credentials'),
  credentials: z
    .enum(['keys', 'aws'])
    .optional()
    .describe('bedrock: aws: the role of the machine, instead of api_key and access_key_id'),
  project: project.optional().describe('vertex: id of the Google Cloud project'),
  location: location.optional().describe('vertex: location of the models, such as us-central1 or global'),
  service_account: ServiceAccountKey.optional().describe('vertex: JSON key of a service account'),
};
type Address = { readonly [Key in keyof typeof address]?: z.output<(typeof address)[Key]> };

const AWS_FIELDS = ['region', 'access_key_id', 'secret_access_key', 'session_token', 'credentials'] as const;
const GOOGLE_FIELDS = ['project', 'location', 'service_account'] as const;

interface AddressFault {
  readonly path: string[];
  readonly message: string;
}

/** Find fields that a protocol needs and that are missing, and fields that it does not have. */
function addressFaults(protocol: ProtocolName, given: Address): AddressFault[] {
  const faults: AddressFault[] = [];
  const fault = (key: string, message: string) => faults.push({ path: [key], message });
  const isSet = (key: keyof Address) => given[key] !== undefined;
  const refuse = (keys: readonly (keyof Address)[], owner: string) => {
    for (const key of keys.filter(isSet)) fault(key, `is only for protocol ${owner}; remove it`);
  };
  if (protocol !== 'bedrock') refuse(AWS_FIELDS, 'bedrock');
  if (protocol !== 'vertex') refuse(GOOGLE_FIELDS, 'vertex');
  if (protocol === 'vertex') {
    for (const key of GOOGLE_FIELDS) if (!isSet(key)) fault(key, 'is needed by protocol vertex');
    if (isSet('api_key')) fault('api_key', 'is not for protocol vertex; use service_account');
  }
  if (protocol === 'bedrock') {
    if (!isSet('region')) fault('region', 'is needed by protocol bedrock');
    const ways = [isSet('api_key'), isSet('access_key_id'), given.credentials === 'aws'].filter(Boolean).length;
    if (ways !== 1) fault('api_key', 'bedrock needs exactly one of api_key, access_key_id and "credentials: aws"');
    if (isSet('access_key_id') !== isSet('secret_access_key')) {
      fault('secret_access_key', 'access_key_id and secret_access_key belong together; set both or none');
    }
    if (isSet('session_token') && !isSet('access_key_id')) fault('session_token', 'is only for access_key_id');
  }
  return faults;
}

const hasDefaultUrl = (protocol: ProtocolName) => protocol === 'bedrock' || protocol === 'vertex';

const Endpoint = z.strictObject({
  name: name.optional().describe('name of this credential in logs and in doctor'),
  ...address,
  /** Share of the calls, relative to the provider's other endpoints. */
  weight: z.number().positive().max(1000).default(1).describe('share of the calls, relative to the other endpoints'),
});

/** Names of models and limits of calls. */
const rules = {
  models: z
    .record(modelId, z.string().min(1).max(200))
    .default({})
    .describe('names at the vendor by model id, such as deployments of azure; needed for models outside the catalog'),
  concurrency_max: z.int().min(1).max(1024).default(16).describe('calls at the same time'),
  timeout_seconds: z.number().positive().max(600).default(20).describe('time limit of one call'),
  retries_max: z.int().min(0).max(10).default(3).describe('attempts after the first one'),
  /** Maximum number of texts, and of tokens, in one call, if the vendor's limit is below that of its protocol. */
  items_max: z.int().min(1).max(10_000).optional().describe('texts in one call, if fewer than the protocol allows'),
  tokens_max: z.int().min(1).optional().describe('tokens in one call, if fewer than the protocol allows'),
};

/** Schema of `providers.<vendor>`: the endpoints that serve the models of a vendor. */
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

type ProviderFile = Address & {
  readonly protocol: ProtocolName;
  readonly api_version?: string | undefined;
  readonly endpoints?: readonly Address[] | undefined;
};

function providerFaults(provider: ProviderFile): (Omit<AddressFault, 'path'> & { path: (string | number)[] })[] {
  const { protocol, endpoints } = provider;
  const version =
    provider.api_version !== undefined && protocol !== 'azure'
      ? [{ path: ['api_version'], message: 'is only for protocol azure; remove it' }]
      : [];
  if (endpoints === undefined) {
    const isPlaced = provider.base_url !== undefined || hasDefaultUrl(protocol);
    const placed = isPlaced ? [] : [{ path: [], message: 'needs either base_url or endpoints' }];
    return [...version, ...placed, ...addressFaults(protocol, provider)];
  }
  const keys = Object.keys(address) as (keyof Address)[];
  return [
    ...version,
    ...(provider.base_url === undefined ? [] : [{ path: [], message: 'needs either base_url or endpoints' }]),
    ...keys
      .filter((key) => key !== 'base_url' && provider[key] !== undefined)
      .map((key) => ({ path: [key], message: `with endpoints, each has its own ${key}` })),
    ...endpoints.flatMap((endpoint, index) => {
      const at = ['endpoints', index];
      const isPlaced = endpoint.base_url !== undefined || hasDefaultUrl(protocol);
      const placed = isPlaced ? [] : [{ path: [...at, 'base_url'], message: 'is needed' }];
      return [
        ...placed,
        ...addressFaults(protocol, endpoint).map(({ path, message }) => ({ path: [...at, ...path], message })),
      ];
    }),
  ];
}

/** Credential that needs more than a header with a key: it signs requests, or is exchanged for tokens. */
export type CloudCredentials =
  | { readonly kind: 'aws'; readonly region: string; readonly keys: AwsKeys | null }
  | { readonly kind: 'google'; readonly serviceAccount: ServiceAccount };

/** Access key of AWS; the role of the machine has none. */
export interface AwsKeys {
  readonly accessKeyId: Secret;
  readonly secretAccessKey: Secret;
  readonly sessionToken: Secret | null;
}

export interface ProviderSettings {
  readonly protocol: ProtocolName;
  readonly endpoints: readonly EndpointSettings[];
  /** Names of models at the vendor, by id. */
  readonly models: Readonly<Record<string, string>>;
  /** Dated version of Azure's API, or null for the v1 API and other protocols. */
  readonly apiVersion: string | null;
  readonly concurrencyMax: number;
  readonly timeoutMs: number;
  readonly retriesMax: number;
  readonly itemsMax: number | null;
  readonly tokensMax: number | null;
}

export interface EndpointSettings {
  readonly name: string;
  /** URL without a trailing slash, to which the protocol appends the path of the operation. */
  readonly baseUrl: string;
  readonly apiKey: Secret | null;
  /** Credential that replaces the key, or null. */
  readonly cloud: CloudCredentials | null;
  readonly weight: number;
}

const simpleVendor = {
  name,
  protocol: Provider.shape.protocol,
  ...address,
  base_url: address.base_url.meta({ maxLength: 2000 }),
  api_key: secret.optional().describe('key of the vendor, which no answer shows'),
  api_version: Provider.shape.api_version,
};

/** Vendor with one address and one key, by the rules of the settings. Check it with `vendorFaults`. */
export const SimpleVendor = z.object(simpleVendor);
export type SimpleVendor = z.output<typeof SimpleVendor>;

/** Find missing and needless fields of a vendor, as in the settings. */
export function vendorFaults(vendor: SimpleVendor): { path: (string | number)[]; message: string }[] {
  return providerFaults(vendor).map(({ path, message }) =>
    path.length === 0 ? { path: ['base_url'], message: 'is needed' } : { path, message },
  );
}

/** Complete the settings of a vendor with one address. */
export function settingsOfVendor(vendor: Omit<SimpleVendor, 'name'>): ProviderSettings {
  return providerOf({ ...z.object(rules).parse({}), ...vendor });
}

export function providerOf(provider: z.output<typeof Provider>): ProviderSettings {
  // A vendor with one address may be configured without a list of endpoints.
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
    // Operators copy the address of the resource or one of its APIs.
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

/** Path of the operation by protocol, which the calls add to `base_url`. */
const OPERATIONS: Readonly<Partial<Record<ProtocolName, string>>> = {
  openai: '/embeddings',
  voyage: '/embeddings',
  jina: '/embeddings',
  cohere: '/v2/embed',
  mistral: '/embeddings',
  nomic: '/v1/embedding/text',
  mixedbread: '/embeddings',
  nim: '/embeddings',
  tei: '/embed',
  ollama: '/api/embed',
};

/** Warn of addresses that already end in the path of the operation, and name the address that will be called. */
export function warnOfDoubledPaths(providers: Readonly<Record<string, ProviderSettings>>): string[] {
  return Object.entries(providers).flatMap(([vendor, { protocol, endpoints }]) => {
    const path = OPERATIONS[protocol];
    if (path === undefined) return [];
    const doubled = endpoints.filter((endpoint) => endpoint.baseUrl.toLowerCase().endsWith(path));
    return doubled.map(
      (endpoint) =>
        `providers.${vendor}: base_url already ends in ${path}, so calls go to ${endpoint.baseUrl}${path}; ` +
        `set base_url to ${endpoint.baseUrl.slice(0, -path.length)}`,
    );
  });
}
