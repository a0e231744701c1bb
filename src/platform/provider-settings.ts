import { z } from 'zod';
import { Secret } from './secret.ts';

const secret = z
  .string()
  .min(1)
  .transform((value) => new Secret(value));
const name = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be lower-case letters, digits, ".", "_" and "-"');
const modelId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/:-]{0,199}$/, 'is not a model id');
const baseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .refine((url) => !/[?#]|:\/\/[^/]*@/.test(url), 'must have no query, no fragment and no credentials; use api_key');

const Endpoint = z.strictObject({
  /** How logs and `doctor` name this credential. */
  name: name.optional(),
  base_url: baseUrl,
  api_key: secret.optional(),
  /** Share of the calls, relative to the provider's other endpoints. */
  weight: z.number().positive().max(1000).default(1),
});

const oneEndpoint = { base_url: baseUrl.optional(), api_key: secret.optional() };

/** Several keys or base URLs of one vendor, or the one that is written without a list. */
function endpointsOf(provider: {
  base_url?: string | undefined;
  api_key?: Secret | undefined;
  endpoints?: z.output<typeof Endpoint>[] | undefined;
}) {
  const listed = provider.endpoints ?? [
    { base_url: provider.base_url as string, api_key: provider.api_key, weight: 1, name: undefined },
  ];
  return listed.map((endpoint, index) => ({
    name: endpoint.name ?? `key-${index + 1}`,
    baseUrl: endpoint.base_url.replace(/\/+$/, ''),
    apiKey: endpoint.api_key ?? null,
    weight: endpoint.weight,
  }));
}

/** `providers.<vendor>`: where a vendor's models are served. */
const Provider = z
  .strictObject({
    protocol: z.enum(['openai', 'gemini', 'voyage', 'jina', 'cohere', 'tei', 'ollama']),
    ...oneEndpoint,
    endpoints: z.array(Endpoint).min(1).max(32).optional(),
    models: z.record(modelId, z.string().min(1).max(200)).default({}),
    concurrency_max: z.int().min(1).max(1024).default(16),
    timeout_seconds: z.number().positive().max(600).default(20),
    retries_max: z.int().min(0).max(10).default(3),
    /** Texts, or tokens, of one call, where the vendor's own cap is lower than its protocol's. */
    items_max: z.int().min(1).max(10_000).optional(),
    tokens_max: z.int().min(1).optional(),
  })
  .refine((provider) => (provider.base_url === undefined) !== (provider.endpoints === undefined), {
    error: 'needs either base_url or endpoints',
  })
  .transform((provider) => ({
    protocol: provider.protocol,
    endpoints: endpointsOf(provider),
    models: provider.models,
    concurrencyMax: provider.concurrency_max,
    timeoutMs: provider.timeout_seconds * 1000,
    retriesMax: provider.retries_max,
    itemsMax: provider.items_max ?? null,
    tokensMax: provider.tokens_max ?? null,
  }));
export type ProviderSettings = z.output<typeof Provider>;

const TASK_TYPES = [
  'retrieval_query',
  'retrieval_document',
  'semantic_similarity',
  'question_answering',
  'clustering',
  'classification',
  'code_retrieval',
  'contradiction',
  'factcheck',
] as const;

/** One of `models`: a model of the operator's own, or more about one of the catalog. */
const OwnModel = z
  .strictObject({
    id: modelId,
    vendor: name.optional(),
    dimensions: z.int().min(1).max(16_384).optional(),
    max_tokens: z.int().min(1).max(10_000_000).optional(),
    variable_dimensions: z.boolean().optional(),
    revision: z.string().min(1).max(64).optional(),
    prefixes: z.partialRecord(z.enum(TASK_TYPES), z.string().max(1000)).optional(),
    tokenizer: z.string().min(1).optional().describe('cl100k, estimate, or the path of a tokenizer.json'),
    upstream_dimensions: z.int().min(1).max(16_384).optional(),
    price_per_million: z.number().min(0).optional(),
  })
  .transform((model) => ({
    id: model.id,
    vendor: model.vendor,
    dimensions: model.dimensions,
    maxTokens: model.max_tokens,
    variableDimensions: model.variable_dimensions,
    revision: model.revision,
    prefixes: model.prefixes,
    tokenizer: model.tokenizer,
    upstreamDimensions: model.upstream_dimensions,
    pricePerMillion: model.price_per_million,
  }));

/** Which model the alias stands for, by language (ISO 639-1), and where none of these is found. */
const Alias = z.object({ default: modelId }).catchall(modelId);

const Vision = z
  .strictObject({
    protocol: z.enum(['openai', 'gemini', 'ollama']),
    base_url: baseUrl,
    api_key: secret.optional(),
    model: z.string().min(1).max(200),
    timeout_seconds: z.number().positive().max(600).default(20),
    concurrency_max: z.int().min(1).max(256).default(4),
  })
  .transform((vision) => ({
    protocol: vision.protocol,
    baseUrl: vision.base_url.replace(/\/+$/, ''),
    apiKey: vision.api_key ?? null,
    model: vision.model,
    timeoutMs: vision.timeout_seconds * 1000,
    concurrencyMax: vision.concurrency_max,
  }));
export type VisionSettings = z.output<typeof Vision>;

const AXES = ['embed', 'embed_batch', 'embed_image'] as const;
const perAxis = z.partialRecord(z.enum(AXES), z.int().min(0));

const Plan = z
  .strictObject({
    quotas: perAxis.default({}),
    requests_per_minute: z.partialRecord(z.enum(AXES), z.int().min(1)).default({}),
  })
  .transform((plan) => ({ quotas: plan.quotas, requestsPerMinute: plan.requests_per_minute }));

/** Settings of everything that turns texts and images into vectors, and of how much of it a plan may use. */
export const embeddingSettings = {
  providers: z.record(name, Provider).default({}),
  models: z.array(OwnModel).max(1000).default([]),
  alias: z.strictObject({ 'service-embed-1-small': Alias.optional() }).default({}),
  vision: Vision.optional(),
  plans: z.partialRecord(z.enum(['enterprise', 'business', 'pro', 'paid', 'starter', 'free']), Plan).default({}),
};
