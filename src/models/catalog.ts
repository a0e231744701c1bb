import { z } from 'zod';
import { type AppError, invalidRequest, invalidSettings } from '../platform/errors.ts';
import { findNearest } from '../platform/nearest-word.ts';
import { knownModelsOf } from './known-models.ts';
import { promptsOf } from './prompts.ts';
import type { TaskType } from './task-types.ts';

/** Method of counting tokens: the vendor's vocabulary, a `tokenizer.json`, or an estimate. */
export type TokenizerChoice =
  | { readonly kind: 'cl100k' }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'estimate' };

/** Model that a request can name. */
export interface Model {
  readonly id: string;
  /** Vendor from the catalog or the settings; `local` for models of this host, `service` for the alias. */
  readonly vendor: string;
  /** `lexical` models match words, not meanings; `alias` chooses a backend by the language of the input. */
  readonly kind: 'semantic' | 'lexical' | 'alias';
  /** Default length of the returned vectors. */
  readonly defaultDimension: number;
  /** Length of the vectors that the vendor sends. */
  readonly nativeDimension: number;
  readonly maxTokens: number;
  /** True if requests can specify a dimension. */
  readonly variableDimensions: boolean;
  /** Revision of the vendor's model. Vectors of two revisions are never mixed. */
  readonly revision: string;
  /** Prefixes of texts by task type, for models that need them. */
  readonly prefixes: Readonly<Partial<Record<TaskType, string>>>;
  /** False if the model reads its task from the text alone, so that calls name no task type. */
  readonly takesTaskType: boolean;
  readonly tokenizer: TokenizerChoice;
  /** Dimension to request from the vendor; null for its default, `nativeDimension`. */
  readonly upstreamDimensions: number | null;
  /** Price per million tokens, in the operator's currency; 0 if unset. */
  readonly pricePerMillion: number;
  /** Local model that serves it, or null for a vendor's model and `local/lexical-1`. */
  readonly local: { readonly name: string; readonly isInstalled: boolean } | null;
}

/** Embedding model that runs on this host: an installed one, or `local/semantic-1`. */
export interface InstalledModel {
  /** Id: `local/NAME`. */
  readonly name: string;
  readonly revision: string;
  readonly dimension: number;
  readonly maxTokens: number;
  readonly prefixes: Model['prefixes'];
  readonly tokenizer: TokenizerChoice;
  /** False while its files are being fetched to this host. */
  readonly isHere: boolean;
}

/** Settings of the operator's own model, or changes to a catalog model. */
export interface ModelSettings {
  readonly id: string;
  readonly vendor?: string | undefined;
  /** Installed model that serves it: `local/NAME`. */
  readonly local?: string | undefined;
  readonly dimensions?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly variableDimensions?: boolean | undefined;
  readonly revision?: string | undefined;
  readonly prefixes?: Readonly<Partial<Record<TaskType, string>>> | undefined;
  readonly tokenizer?: string | undefined;
  readonly upstreamDimensions?: number | undefined;
  readonly pricePerMillion?: number | undefined;
}

export const ALIAS_ID = 'service-embed-1-small';
/** Built-in model that matches words. */
export const LEXICAL_ID = 'local/lexical-1';
/** Built-in model that matches meanings. Its weights are part of the program. */
export const SEMANTIC_ID = 'local/semantic-1';

/** Models of the contract (2.1) and the built-in model. */
const MODELS: readonly Model[] = [
  model(ALIAS_ID, 'service', 1024, 8192, true, { kind: 'alias' }),
  model('vendor-a/text-embedding-3-small', 'vendor-a', 1536, 8191, true, { tokenizer: { kind: 'cl100k' } }),
  model('vendor-a/text-embedding-3-large', 'vendor-a', 3072, 8191, true, { tokenizer: { kind: 'cl100k' } }),
  model('vendor-b/embedding-001', 'vendor-b', 3072, 8191, true),
  model('vendor-b/embedding-002', 'vendor-b', 3072, 8191, true),
  model('vendor-c/model-4-large', 'vendor-c', 1024, 32000, true),
  model('vendor-c/model-4', 'vendor-c', 1024, 32000, true),
  model('vendor-c/model-4-lite', 'vendor-c', 1024, 32000, true),
  model('vendor-d/bge-m3-ko', 'vendor-d', 1024, 8192, false),
  model('vendor-e/embeddings-v3', 'vendor-e', 1024, 8194, true),
  model('vendor-f/embedding-v2-1b', 'vendor-f', 1792, 8192, false),
  model(LEXICAL_ID, 'local', 1024, 8192, true, { kind: 'lexical' }),
];

function model(
  id: string,
  vendor: string,
  defaultDimension: number,
  maxTokens: number,
  variableDimensions: boolean,
  more: Partial<Model> = {},
): Model {
  return {
    id,
    vendor,
    kind: 'semantic',
    defaultDimension,
    nativeDimension: defaultDimension,
    maxTokens,
    variableDimensions,
    revision: '1',
    prefixes: {},
    takesTaskType: true,
    tokenizer: { kind: 'estimate' },
    upstreamDimensions: null,
    pricePerMillion: 0,
    local: null,
    ...more,
  };
}

export const ModelView = z
  .object({
    id: z.string(),
    object: z.literal('model'),
    owned_by: z.string(),
    kind: z
      .enum(['semantic', 'lexical', 'alias', 'reranker', 'answers'])
      .describe(
        'reranker: it scores documents for a query (POST /v1/rerank) and gives no vectors; answers: a bucket or an ' +
          'assistant that answers questions (POST /v1/chat/completions)',
      ),
    default_dimension: z.int().nullable().describe('default number of dimensions; null: the model makes no vectors'),
    max_tokens: z.int().nullable().describe("null: the limit of a vendor's reranker or chat model is unknown"),
    variable_dimensions: z.boolean(),
    available: z.boolean().describe('true: a provider for the model is configured'),
    calibrated: z.boolean().describe('true: its vectors are in the canonical latent space'),
    status: z
      .enum(['served', 'calibrating', 'calibrated', 'apart'])
      .nullable()
      .describe(
        'served: its vectors are in a space of their own; calibrating: its map is being fitted; calibrated: its vectors are in the canonical space; apart: its map did not pass the quality gate; null: no provider is configured',
      ),
    space: z.string().nullable().describe('latent space of its vectors; null: the backends of the alias have several'),
    map_version: z.int().nullable().describe('map into the canonical space; null: none, or several of the alias'),
    score: z.number().nullable().describe('share of held-out texts that its map finds first; lowest of an alias'),
  })
  .meta({ id: 'Model' });
export type ModelView = z.output<typeof ModelView>;

/** All models that a request can name: those of the contract, the built-in one, and the operator's own. */
export class Catalog {
  /** Models of the contract and of the settings. */
  readonly #fixed: ReadonlyMap<string, Model>;
  /** Fixed models, and those of vendors added at run time. */
  #configured: ReadonlyMap<string, Model>;
  #installed: readonly InstalledModel[] = [];
  /** All models, including currently installed ones. */
  #models: ReadonlyMap<string, Model>;
  /** All models by their vendors' own names, which several can share. */
  #byVendorName: ReadonlyMap<string, readonly Model[]>;
  readonly #named: ReadonlySet<string>;
  /** Model ids by the operator's additional names. */
  readonly #moreNames: ReadonlyMap<string, string>;

  /**
   * @param upstreamNames by vendor and model id: names that differ from the vendor's usual ones. A different name means
   *   a different model, so it is part of the revision
   * @param moreNames model ids by additional names chosen by the operator
   * @param protocols wire protocol by vendor, which adds the protocol's known models
   * @throws AppError `config_invalid` that names the model and the missing setting
   */
  constructor(
    settings: readonly ModelSettings[] = [],
    upstreamNames: Readonly<Record<string, Readonly<Record<string, string>>>> = {},
    moreNames: Readonly<Record<string, string>> = {},
    protocols: Readonly<Record<string, string>> = {},
  ) {
    const models = new Map(MODELS.map((entry) => [entry.id, entry]));
    this.#named = new Set([...settings.map(({ id }) => id), ...Object.values(upstreamNames).flatMap(Object.keys)]);
    for (const own of knownModels(protocols, this.#named)) {
      if (!models.has(own.id)) models.set(own.id, configured(undefined, own));
    }
    for (const own of settings) models.set(own.id, configured(models.get(own.id), own));
    const renamed = new Map<string, string>();
    for (const [vendor, names] of Object.entries(upstreamNames)) {
      for (const [id, name] of Object.entries(names)) {
        const known = models.get(id);
        if (!known) throw invalidModel(id, 'is not in the catalog; add it to models');
        if (known.vendor !== vendor) throw invalidModel(id, `is served by ${known.vendor}, not by ${vendor}`);
        if (name !== withoutVendor(known)) models.set(id, { ...known, revision: `${known.revision}@${name}` });
        renamed.set(id, name);
      }
    }
    const hasOwnPrefixes = new Set(settings.filter(({ prefixes }) => prefixes).map(({ id }) => id));
    for (const [id, known] of models) {
      models.set(id, prompted(known, renamed.get(id) ?? id, hasOwnPrefixes.has(id)));
    }
    for (const [name, id] of Object.entries(moreNames)) {
      if (models.has(name)) throw invalidName(name, 'is the id of a model; choose another name');
      // A model that may be installed later has an id under `local/`.
      if (!models.has(id) && !id.startsWith('local/')) {
        throw invalidName(name, `names the unknown model "${id}"; add it to models`);
      }
    }
    this.#moreNames = new Map(Object.entries(moreNames));
    this.#fixed = models;
    this.#configured = models;
    this.#models = models;
    this.#byVendorName = Map.groupBy(models.values(), withoutVendor);
  }

  /**
   * Replace the models installed on this host. They serve the models whose settings name them.
   * @returns warnings about settings that don't fit the installed models
   */
  setInstalled(installed: readonly InstalledModel[]): string[] {
    this.#installed = installed;
    const faults: string[] = [];
    const byName = new Map(installed.map((each) => [each.name, each]));
    const models = new Map(this.#configured);
    for (const each of installed) models.set(each.name, installedModel(each));
    for (const known of this.#configured.values()) {
      const own = known.local && byName.get(known.local.name);
      if (!own) continue;
      if (own.dimension !== known.nativeDimension) {
        faults.push(`${known.id} has ${known.nativeDimension} dimensions, but ${own.name} has ${own.dimension}`);
      } else models.set(known.id, servedBy(known, own));
    }
    this.#models = models;
    this.#byVendorName = Map.groupBy(models.values(), withoutVendor);
    return faults;
  }

  /**
   * Replace the models of added vendors. Models of the contract or the settings stay unchanged.
   * @param protocols wire protocol by added vendor; the protocol's known models come first
   */
  setAdded(added: readonly ModelSettings[], protocols: Readonly<Record<string, string>> = {}): void {
    const models = new Map(this.#fixed);
    const known = knownModels(protocols, new Set(added.map(({ id }) => id)));
    for (const own of [...known, ...added]) {
      if (!models.has(own.id)) models.set(own.id, prompted(configured(undefined, own), own.id, false));
    }
    this.#configured = models;
    this.setInstalled(this.#installed);
  }

  /** Return true if the operator's settings name the model. */
  isNamed(id: string): boolean {
    return this.#named.has(id);
  }

  /**
   * Find a model by id, by a name in the settings, or by the vendor's own name (`text-embedding-3-small`), which
   * unchanged client code sends. Refuse a name that several vendors use.
   *
   * @throws AppError `unknown_model` (400) that names the closest model and says how to list the models
   */
  find(name: string): Model {
    const found = this.#models.get(name) ?? this.#models.get(this.#moreNames.get(name) ?? '');
    if (found) return found;
    const [only, ...others] = this.#byVendorName.get(name) ?? [];
    if (only && others.length === 0) return only;
    throw invalidRequest(`unknown model "${name.slice(0, 200)}"; ${this.#hintFor(name)}`, 'model', 'unknown_model');
  }

  /** Suggest a name in place of an unknown model. */
  #hintFor(name: string): string {
    const sameName = this.#byVendorName.get(name);
    if (sameName) return `${sameName.map(({ id }) => id).join(' and ')} have this name; name one of them`;
    const nearest = findNearest(name, [...this.#models.keys(), ...this.#byVendorName.keys()]) ?? '';
    const model = this.#models.get(nearest) ?? this.#byVendorName.get(nearest)?.[0];
    return `${model ? `did you mean "${model.id}"? ` : ''}GET /v1/models lists the models`;
  }

  get(id: string): Model | undefined {
    return this.#models.get(id);
  }

  ids(): IterableIterator<string> {
    return this.#models.keys();
  }

  list(): readonly Model[] {
    return [...this.#models.values()];
  }
}

function knownModels(protocols: Readonly<Record<string, string>>, named: ReadonlySet<string>): ModelSettings[] {
  return Object.entries(protocols).flatMap(([vendor, protocol]) => knownModelsOf(vendor, protocol, named));
}

function installedModel(own: InstalledModel): Model {
  return {
    ...model(own.name, 'local', own.dimension, own.maxTokens, false, {
      tokenizer: own.tokenizer,
    }),
    revision: own.revision,
    prefixes: own.prefixes,
    local: { name: own.name, isInstalled: own.isHere },
  };
}

/**
 * Serve a model of the settings with an installed model. A new revision of the latter is a new revision of the former.
 */
function servedBy(known: Model, own: InstalledModel): Model {
  return {
    ...known,
    revision: `${known.revision}@${own.name}@${own.revision}`,
    maxTokens: Math.min(known.maxTokens, own.maxTokens),
    prefixes: { ...own.prefixes, ...known.prefixes },
    tokenizer: own.tokenizer,
    local: { name: own.name, isInstalled: own.isHere },
  };
}

/**
 * Add the prompts of a model that needs them. Prefixes in the settings replace all of them. Vectors with prompts aren't
 * comparable with those of releases without prompts, so their revision differs.
 */
function prompted(known: Model, name: string, hasOwnPrefixes: boolean): Model {
  const prompts = known.local === null ? promptsOf(name) : null;
  if (prompts === null) return known;
  if (hasOwnPrefixes) return { ...known, takesTaskType: false };
  return { ...known, prefixes: prompts, takesTaskType: false, revision: `${known.revision}+prompts` };
}

/** Merge a model of the catalog with the operator's settings. */
function configured(known: Model | undefined, own: ModelSettings): Model {
  const vendor = own.local === undefined ? (own.vendor ?? known?.vendor) : 'local';
  const dimensions = own.dimensions ?? known?.defaultDimension;
  const maxTokens = own.maxTokens ?? known?.maxTokens;
  if (vendor === undefined || dimensions === undefined || maxTokens === undefined) {
    throw invalidModel(own.id, 'is not in the catalog, so it needs vendor or local, dimensions and max_tokens');
  }
  if (own.local !== undefined && own.vendor !== undefined) throw invalidModel(own.id, 'needs either vendor or local');
  if (known && known.kind !== 'semantic') throw invalidModel(own.id, 'is built in and cannot be changed');
  // For a catalog model, `dimensions` is the default of our responses, not the length that the vendor sends.
  const native = own.upstreamDimensions ?? known?.nativeDimension ?? dimensions;
  const base = known ?? model(own.id, vendor, dimensions, maxTokens, false);
  return {
    ...base,
    vendor,
    defaultDimension: dimensions,
    nativeDimension: native,
    maxTokens,
    variableDimensions: own.variableDimensions ?? base.variableDimensions,
    revision: own.revision ?? base.revision,
    prefixes: { ...base.prefixes, ...own.prefixes },
    tokenizer: own.tokenizer === undefined ? base.tokenizer : tokenizerOf(own.tokenizer),
    upstreamDimensions: own.upstreamDimensions ?? null,
    pricePerMillion: own.pricePerMillion ?? base.pricePerMillion,
    local: own.local === undefined ? null : { name: own.local, isInstalled: false },
  };
}

/** Return the default upstream name of a model: its id without the vendor's prefix. */
export function withoutVendor({ id, vendor }: Pick<Model, 'id' | 'vendor'>): string {
  return id.startsWith(`${vendor}/`) ? id.slice(vendor.length + 1) : id;
}

function invalidModel(id: string, why: string): AppError {
  return invalidSettings([`models: ${id} ${why}`]);
}

function invalidName(name: string, why: string): AppError {
  return invalidSettings([`model_names: "${name}" ${why}`]);
}

function tokenizerOf(setting: string): TokenizerChoice {
  if (setting === 'cl100k' || setting === 'estimate') return { kind: setting };
  return { kind: 'file', path: setting };
}

/** Model fields that can change at run time. */
export type ModelState = Pick<ModelView, 'available' | 'calibrated' | 'status' | 'space' | 'map_version' | 'score'>;

export function viewOf(entry: Model, state: ModelState): ModelView {
  return {
    id: entry.id,
    object: 'model',
    owned_by: entry.vendor,
    kind: entry.kind,
    default_dimension: entry.defaultDimension,
    max_tokens: entry.maxTokens,
    variable_dimensions: entry.variableDimensions,
    ...state,
  };
}
