import { z } from 'zod';
import { integerSetting, numberSetting } from './number-settings.ts';
import { baseUrl, modelId, name, secret } from './vendor-fields.ts';
import { Provider, type ProviderSettings, providerOf } from './vendor-settings.ts';

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

/** Prefixes of the E5 models by task type, from their model cards. */
export const E5_PREFIXES = Object.fromEntries(
  TASK_TYPES.map((task) => [task, task === 'retrieval_document' ? 'passage: ' : 'query: ']),
) as Record<(typeof TASK_TYPES)[number], string>;

/** Schema of an item of `models`: the operator's own model, or changes to a catalog model. */
const OwnModel = z.strictObject({
  id: modelId.describe('id of the model, as requests name it'),
  vendor: name.optional().describe('name of the provider that serves it'),
  local: z
    .string()
    .regex(/^local\/[a-z0-9][a-z0-9._-]{0,63}$/, 'must be the id of an installed model: local/NAME')
    .optional()
    .describe('installed model that serves it'),
  dimensions: z.int().min(1).max(16_384).optional().describe('dimensions of its vectors'),
  max_tokens: z.int().min(1).max(10_000_000).optional().describe('maximum number of tokens in a text'),
  variable_dimensions: z.boolean().optional().describe('true: the vendor accepts a requested number of dimensions'),
  revision: z.string().min(1).max(64).optional().describe('revision; vectors of different revisions are not compared'),
  prefixes: z
    .union([z.literal('e5'), z.partialRecord(z.enum(TASK_TYPES), z.string().max(1000))])
    .optional()
    .describe('text put in front of an input, by task type; e5: the prefixes of the e5 family'),
  tokenizer: z.string().min(1).optional().describe('cl100k, estimate, or the path of a tokenizer.json'),
  upstream_dimensions: z
    .int()
    .min(1)
    .max(16_384)
    .optional()
    .describe('number of dimensions to request from the vendor'),
  price_per_million: z.number().min(0).optional().describe('price of a million tokens, for estimates'),
});

function modelOf(model: z.output<typeof OwnModel>) {
  return {
    id: model.id,
    vendor: model.vendor,
    local: model.local,
    dimensions: model.dimensions,
    maxTokens: model.max_tokens,
    variableDimensions: model.variable_dimensions,
    revision: model.revision,
    prefixes: model.prefixes === 'e5' ? E5_PREFIXES : model.prefixes,
    tokenizer: model.tokenizer,
    upstreamDimensions: model.upstream_dimensions,
    pricePerMillion: model.price_per_million,
  };
}

/** Schema of the alias: the model by language (ISO 639-1), and the default model for other languages. */
const Alias = z.object({ default: modelId.describe('model for all other languages') }).catchall(modelId);

const Vision = z.strictObject({
  protocol: z.enum(['openai', 'gemini', 'ollama']).describe('wire protocol of the API'),
  base_url: baseUrl.describe('address of the API'),
  api_key: secret.optional().describe('key of the vendor'),
  model: z.string().min(1).max(200).describe('name of the model'),
  timeout_seconds: numberSetting({ above: 0, max: 600, default: 20 }, 'time limit of one call'),
  concurrency_max: integerSetting({ min: 1, max: 256, default: 4 }, 'calls at the same time'),
});
export type VisionSettings = ReturnType<typeof visionOf>;

function visionOf(vision: z.output<typeof Vision>) {
  return {
    protocol: vision.protocol,
    baseUrl: vision.base_url.replace(/\/+$/, ''),
    apiKey: vision.api_key ?? null,
    model: vision.model,
    timeoutMs: vision.timeout_seconds * 1000,
    concurrencyMax: vision.concurrency_max,
  };
}

/** Vendor's reranker, or a model installed on this host: `rerank: {model: local/NAME}`. */
const Rerank = z
  .strictObject({
    protocol: z
      .enum(['cohere', 'jina', 'voyage', 'tei'])
      .optional()
      .describe('wire protocol of the API; none for a model of this host'),
    base_url: baseUrl.optional().describe('address of the API'),
    api_key: secret.optional().describe('key of the vendor'),
    model: z.string().min(1).max(200).optional().describe('name of the model, or local/NAME; not needed with tei'),
    timeout_seconds: numberSetting(
      { above: 0, max: 60, default: 3 },
      'maximum time that a search waits for the reranker',
    ),
    concurrency_max: integerSetting({ min: 1, max: 256, default: 16 }, 'calls at the same time'),
    /** Maximum number of texts in one call, if the server accepts fewer than its protocol allows. */
    items_max: z.int().min(1).max(1000).optional().describe('texts in one call, if fewer than the protocol allows'),
  })
  .superRefine((rerank, context) => {
    const fault = (key: string, message: string) => context.addIssue({ code: 'custom', path: [key], message });
    if (rerank.model?.startsWith('local/')) {
      if (rerank.protocol !== undefined) fault('protocol', 'is not for a model of this host; remove it');
      if (rerank.base_url !== undefined) fault('base_url', 'is not for a model of this host; remove it');
      return;
    }
    if (rerank.protocol === undefined) fault('protocol', 'is needed, unless model is local/NAME');
    if (rerank.base_url === undefined) fault('base_url', 'is needed, unless model is local/NAME');
    if (rerank.protocol !== 'tei' && rerank.model === undefined) fault('model', 'is needed by this protocol');
  });
export type RerankSettings = ReturnType<typeof rerankOf>;
/** Settings of a reranker behind HTTP. */
export type RemoteRerankSettings = Extract<RerankSettings, { readonly kind: 'remote' }>;
/** Settings of a reranker on this host. */
export type LocalRerankSettings = Extract<RerankSettings, { readonly kind: 'local' }>;

function rerankOf(rerank: z.output<typeof Rerank>) {
  const { protocol, base_url: baseUrl, model } = rerank;
  const timeoutMs = rerank.timeout_seconds * 1000;
  if (protocol === undefined || baseUrl === undefined) {
    return { kind: 'local', id: model as string, model: model as string, timeoutMs } as const;
  }
  return {
    kind: 'remote',
    // Name in requests. A tei server has one model, which may be unnamed.
    id: model ?? protocol,
    protocol,
    baseUrl: baseUrl.replace(/\/+$/, ''),
    apiKey: rerank.api_key ?? null,
    model: model ?? null,
    timeoutMs,
    concurrencyMax: rerank.concurrency_max,
    itemsMax: rerank.items_max ?? null,
  } as const;
}

/** Axes of quotas and of request rates. */
const AXES = ['embed', 'embed_batch', 'embed_image', 'answers'] as const;
const RATE_AXES = [...AXES, 'search', 'upload'] as const;
export const perAxis = z.partialRecord(z.enum(AXES), z.int().min(0));
export const perRateAxis = z.partialRecord(z.enum(RATE_AXES), z.int().min(1));

const PlanLimits = z.strictObject({
  quotas: perAxis.default({}).describe('maximum number of texts, images or answers per month, by kind of request'),
  requests_per_minute: perRateAxis.default({}).describe('maximum number of requests per minute, by kind of request'),
  storage_bytes: z.int().min(0).optional().describe('maximum size of all documents and files of an organization'),
});

interface PlanSettings {
  readonly quotas: z.output<typeof perAxis>;
  readonly requestsPerMinute: z.output<typeof perRateAxis>;
  /** Limit on the total size of an organization's documents and files; absent for none. */
  readonly storageBytes?: number | undefined;
}

const PLANS = ['enterprise', 'business', 'pro', 'paid', 'starter', 'free'] as const;
type Plan = (typeof PLANS)[number];

/** Settings of embedding (models, providers, alias, vision, reranking) and of the quotas and rates of plans. */
export const embeddingSettings = {
  providers: z
    .record(name, Provider)
    .default({})
    .describe('vendors and servers of embedding models, by a name that you choose'),
  models: z.array(OwnModel).max(1000).default([]).describe('your own models, and changes to models of the catalog'),
  model_names: z
    .record(z.string().min(1).max(200), z.string().min(1).max(200))
    .default({})
    .describe('additional names for models and rerankers, such as those in your client code: model id by name'),
  alias: z
    .strictObject({
      'service-embed-1-small': Alias.optional().describe('model for each language (ISO 639-1), and a default'),
    })
    .default({})
    .describe('models by language, for a name that requests use'),
  vision: Vision.optional().describe('vision model that reads text in pictures, instead of the built-in OCR'),
  rerank: Rerank.optional().describe('server that orders search results, and documents of POST /v1/rerank'),
  rerankers: z
    .array(Rerank)
    .max(16)
    .default([])
    .describe(
      'additional rerankers for POST /v1/rerank; while the one under rerank fails, they replace it in this order',
    ),
  plans: z.partialRecord(z.enum(PLANS), PlanLimits).default({}).describe('quotas and rates of the plans'),
};

const EmbeddingSettings = z.object(embeddingSettings);

/** Convert the file's settings to the program's form. */
export function embeddingConfigOf(file: z.output<typeof EmbeddingSettings>) {
  return {
    providers: mapValues(file.providers, providerOf) as Record<string, ProviderSettings>,
    models: file.models.map(modelOf),
    modelNames: file.model_names,
    alias: file.alias['service-embed-1-small'] ?? null,
    vision: file.vision ? visionOf(file.vision) : null,
    rerank: file.rerank ? rerankOf(file.rerank) : null,
    rerankers: file.rerankers.map(rerankOf),
    plans: mapValues<Plan, z.output<typeof PlanLimits>, PlanSettings>(file.plans, (plan) => ({
      quotas: plan.quotas,
      requestsPerMinute: plan.requests_per_minute,
      storageBytes: plan.storage_bytes,
    })),
  };
}

function mapValues<K extends string, A, B>(
  record: Partial<Record<K, A>>,
  change: (value: A) => B,
): Partial<Record<K, B>> {
  const entries = Object.entries(record) as [K, A][];
  return Object.fromEntries(entries.map(([key, value]) => [key, change(value)])) as Partial<Record<K, B>>;
}
