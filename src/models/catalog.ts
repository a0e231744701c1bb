import { z } from 'zod';
import { AppError } from '../platform/errors.ts';

/** A model that a request may name. */
export interface Model {
  readonly id: string;
  /** Who serves it: a vendor of the catalog, `local` for what is built in, `service` for the alias. */
  readonly vendor: string;
  /** `lexical` models know words, not meanings; `alias` picks a backend by the input's language. */
  readonly kind: 'semantic' | 'lexical' | 'alias';
  readonly defaultDimension: number;
  readonly maxTokens: number;
  readonly variableDimensions: boolean;
}

export const ALIAS_ID = 'service-embed-1-small';
export const LEXICAL_ID = 'local/lexical-1';

/** Contract 2.1, and the built-in model. */
const MODELS: readonly Model[] = [
  model(ALIAS_ID, 'service', 1024, 8192, true, 'alias'),
  model('vendor-a/text-embedding-3-small', 'vendor-a', 1536, 8191, true),
  model('vendor-a/text-embedding-3-large', 'vendor-a', 3072, 8191, true),
  model('vendor-b/embedding-001', 'vendor-b', 3072, 8191, true),
  model('vendor-b/embedding-002', 'vendor-b', 3072, 8191, true),
  model('vendor-c/model-4-large', 'vendor-c', 1024, 32000, true),
  model('vendor-c/model-4', 'vendor-c', 1024, 32000, true),
  model('vendor-c/model-4-lite', 'vendor-c', 1024, 32000, true),
  model('vendor-d/bge-m3-ko', 'vendor-d', 1024, 8192, false),
  model('vendor-e/embeddings-v3', 'vendor-e', 1024, 8194, true),
  model('vendor-f/embedding-v2-1b', 'vendor-f', 1792, 8192, false),
  model(LEXICAL_ID, 'local', 1024, 8192, true, 'lexical'),
];

const BY_ID = new Map(MODELS.map((entry) => [entry.id, entry]));

function model(
  id: string,
  vendor: string,
  defaultDimension: number,
  maxTokens: number,
  variableDimensions: boolean,
  kind: Model['kind'] = 'semantic',
): Model {
  return { id, vendor, kind, defaultDimension, maxTokens, variableDimensions };
}

export const ModelView = z
  .object({
    id: z.string(),
    object: z.literal('model'),
    owned_by: z.string(),
    kind: z.enum(['semantic', 'lexical', 'alias']),
    default_dimension: z.int(),
    max_tokens: z.int(),
    variable_dimensions: z.boolean(),
    available: z.boolean().describe('whether a provider for it is configured'),
    calibrated: z.boolean().describe('whether its vectors live in the canonical latent space'),
  })
  .meta({ id: 'Model' });
export type ModelView = z.output<typeof ModelView>;

/** @throws AppError `unknown_model` (400) with the nearest thing to do */
export function findModel(id: string): Model {
  const found = BY_ID.get(id);
  if (!found) {
    throw new AppError({
      code: 'unknown_model',
      status: 400,
      param: 'model',
      message: `unknown model "${id.slice(0, 200)}"; GET /v1/models lists the models`,
    });
  }
  return found;
}

export function listModels(isAvailable: (model: Model) => boolean): ModelView[] {
  return MODELS.map((entry) => viewOf(entry, isAvailable(entry)));
}

export function viewOf(entry: Model, available: boolean): ModelView {
  return {
    id: entry.id,
    object: 'model',
    owned_by: entry.vendor,
    kind: entry.kind,
    default_dimension: entry.defaultDimension,
    max_tokens: entry.maxTokens,
    variable_dimensions: entry.variableDimensions,
    available,
    // Maps into the canonical space come with calibration; until then every model keeps its native space.
    calibrated: false,
  };
}
