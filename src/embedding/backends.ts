import { loadLanguageDetector } from '../language/detect-language.ts';
import { ALIAS_ID, type Catalog, LEXICAL_ID, type Model, SEMANTIC_ID } from '../models/catalog.ts';
import { AppError } from '../platform/errors.ts';
import { mapInto, type Projections, spaceOf } from '../projection/projections.ts';
import { type AliasSettings, type BackendGroup, chooseBackends, needsLanguageDetector } from './choose-backends.ts';
import type { Provider } from './providers/provider.ts';

const SEMANTIC_ALIAS: AliasSettings = { default: SEMANTIC_ID };
const LEXICAL_ALIAS: AliasSettings = { default: LEXICAL_ID };
/** Default backends of the alias. Only configured ones are used. */
const ALIAS_PREFERENCES = { ko: 'vendor-d/bge-m3-ko', default: 'vendor-e/embeddings-v3' } as const;

interface BackendsContext {
  readonly catalog: Catalog;
  /** Providers by vendor, with the built-in `local`. */
  readonly providers: ReadonlyMap<string, Provider>;
  readonly projections: Projections;
  readonly alias: AliasSettings | null;
  /** Built-in model that serves the alias if neither the settings nor the vendors name one. */
  readonly builtIn: 'semantic' | 'lexical';
}

/** Models with their providers, and the rules for comparing vectors of different models. */
export class Backends {
  readonly catalog: Catalog;
  readonly #providers: ReadonlyMap<string, Provider>;
  readonly #projections: Projections;
  /** Backends named by the settings or the vendors; null if the built-in model serves the alias. */
  readonly #chosen: AliasSettings | null;
  readonly #builtIn: 'semantic' | 'lexical';
  /** True if the operator named the backends of the alias. */
  readonly #isAliasSet: boolean;
  readonly #uncalibratedUses = new Set<Model>();

  constructor(context: BackendsContext) {
    this.catalog = context.catalog;
    this.#providers = context.providers;
    this.#projections = context.projections;
    this.#isAliasSet = context.alias !== null;
    this.#builtIn = context.builtIn;
    this.#chosen = context.alias ?? this.#vendorAlias();
  }

  /** Backends of the alias. Without the semantic built-in model, the lexical one takes its place. */
  get #alias(): AliasSettings {
    if (this.#chosen !== null) return this.#chosen;
    const isSemantic = this.#builtIn === 'semantic' && this.catalog.get(SEMANTIC_ID)?.local?.isInstalled === true;
    return isSemantic ? SEMANTIC_ALIAS : LEXICAL_ALIAS;
  }

  /**
   * Check the backends of the alias after the models of added vendors are in the catalog.
   *
   * @throws AppError `config_invalid` if the alias names a model that is not in the catalog
   */
  checkAlias(): void {
    for (const id of Object.values(this.#chosen ?? {})) this.#checkBackend(id);
  }

  /** Load the language detector if the alias needs one. */
  async prepare(): Promise<void> {
    if (needsLanguageDetector(this.#alias)) await loadLanguageDetector();
  }

  isAvailable(model: Model): boolean {
    const ids = model.kind === 'alias' ? Object.values(this.#alias) : [model.id];
    return ids.every((id) => {
      const { vendor, local } = this.catalog.find(id);
      return this.#providers.has(vendor) && local?.isInstalled !== false;
    });
  }

  /** Return true if a provider of the model currently refuses calls after repeated failures. */
  isBlocked(model: Model): boolean {
    const ids = model.kind === 'alias' ? Object.values(this.#alias) : [model.id];
    return ids.some((id) => this.#providers.get(this.catalog.find(id).vendor)?.isBlocked?.() === true);
  }

  /**
   * Require a provider for the model, or for every backend of the alias.
   *
   * @throws AppError `provider_unavailable` (502)
   */
  requireProviders(model: Model): void {
    const ids = model.kind === 'alias' ? Object.values(this.#alias) : [model.id];
    for (const id of ids) this.providerOf(this.catalog.find(id));
  }

  /** @throws AppError `provider_unavailable` (502) if the vendor is not configured */
  providerOf(model: Model): Provider {
    const provider = this.#providers.get(model.vendor);
    if (provider && model.local?.isInstalled !== false) return provider;
    if (provider) throw notInstalled(model);
    throw new AppError({
      code: 'provider_unavailable',
      status: 502,
      param: 'model',
      message: `no provider is configured for ${model.id}; ask the operator to configure one, or use ${ALIAS_ID}; the setting model_names can give this name to another model`,
      details: { provider: model.vendor, cause: 'not_configured' },
    });
  }

  /** Return true if all vectors of these models, which may be aliases, share one latent space. */
  areComparable(modelIds: readonly string[]): boolean {
    const spaces = new Set(
      modelIds
        .flatMap((id) => (id === ALIAS_ID ? Object.values(this.#alias) : [id]))
        .map((id) => spaceOf(this.#projections, this.catalog.find(id))),
    );
    return spaces.size <= 1;
  }

  /** Return true if a model, or every backend of the alias, produces vectors of this latent space. */
  gives(model: Model, space: string): boolean {
    if (model.kind !== 'alias') return mapInto(this.#projections, model, space) !== undefined;
    return Object.values(this.#alias).every((id) => this.gives(this.catalog.find(id), space));
  }

  /** Return true if the model, or every backend of the alias, produces vectors of the canonical space. */
  isCalibrated(model: Model): boolean {
    const ids = model.kind === 'alias' ? Object.values(this.#alias) : [model.id];
    return ids.every((id) => this.#projections.mapOf(this.catalog.find(id)) !== null);
  }

  /**
   * True if the alias has several backends whose vectors aren't comparable. Unless the operator named them, one backend
   * then embeds every language.
   */
  get isAliasUncalibrated(): boolean {
    return new Set(Object.values(this.#alias)).size > 1 && !this.areComparable([ALIAS_ID]);
  }

  /** True if the alias has several backends in one latent space, so that the language selects one. */
  get isAliasMixed(): boolean {
    return new Set(Object.values(this.#alias)).size > 1 && this.areComparable([ALIAS_ID]);
  }

  /** True if neither the settings nor a vendor serves the alias. */
  get isAliasBuiltIn(): boolean {
    return this.#chosen === null;
  }

  get aliasBackends(): readonly Model[] {
    return [...new Set(Object.values(this.#alias))].map((id) => this.catalog.find(id));
  }

  /** Return the first semantic model of each configured vendor, or one that the operator named. */
  modelOfEachVendor(): readonly Model[] {
    const models = this.catalog.list().filter((model) => model.kind === 'semantic' && this.isAvailable(model));
    const byVendor = Map.groupBy(models, ({ vendor }) => vendor);
    return [...byVendor.values()].map((own) => own.find(({ id }) => this.catalog.isNamed(id)) ?? (own[0] as Model));
  }

  /** Return true for the built-in model if there is no other semantic model whose vectors could be compared. */
  needsNoMap({ id }: Model): boolean {
    if (id !== SEMANTIC_ID) return false;
    return !this.catalog.list().some((each) => each.kind === 'semantic' && each.id !== id && this.isAvailable(each));
  }

  /** Record the use of a model without a map, so that it gets calibrated. */
  noteUncalibratedUse(model: Model): void {
    if (model.kind === 'semantic' && !this.needsNoMap(model)) this.#uncalibratedUses.add(model);
  }

  /** Return the models without a map that were used since the previous call. */
  takeUncalibratedUses(): readonly Model[] {
    const models = [...this.#uncalibratedUses];
    this.#uncalibratedUses.clear();
    return models;
  }

  /**
   * Return the models that embed for an index in place of `model`. If the backends of the alias are comparable, return
   * the alias itself. Otherwise its default backend embeds everything.
   */
  indexModelsOf(model: Model): { embedder: Model; models: readonly Model[] } {
    if (model.kind !== 'alias') return { embedder: model, models: [model] };
    if (!this.isAliasMixed) {
      const backend = this.catalog.find(this.#alias.default);
      return { embedder: backend, models: [backend] };
    }
    return { embedder: model, models: [...new Set(Object.values(this.#alias))].map((id) => this.catalog.find(id)) };
  }

  /**
   * Choose the backend of each text.
   *
   * @param asOne use one backend for all texts, by majority of characters. Since vectors of other calls must be
   *   comparable, too, the language decides only if all backends share a space
   */
  async choose(model: Model, texts: readonly string[], asOne: boolean): Promise<readonly BackendGroup[]> {
    const all = (modelId: string) => [{ modelId, indexes: texts.map((_, index) => index) }];
    if (model.kind !== 'alias') return all(model.id);
    if ((asOne || !this.#isAliasSet) && this.isAliasUncalibrated) return all(this.#alias.default);
    const groups = await chooseBackends(texts, this.#alias, (ids) => this.areComparable(ids));
    if (!asOne || groups.length <= 1) return groups;
    const sizeOf = ({ indexes }: BackendGroup) =>
      indexes.reduce((sum, index) => sum + (texts[index] as string).length, 0);
    return all(groups.reduce((most, group) => (sizeOf(group) > sizeOf(most) ? group : most)).modelId);
  }

  /** Choose the configured vendors that serve the alias; null if none can. */
  #vendorAlias(): AliasSettings | null {
    // The alias uses an installed model only if the settings name it, so that installing a model doesn't change
    // vectors.
    const isServed = (id: string) => {
      const { vendor, local } = this.catalog.find(id);
      return local === null && this.#providers.has(vendor);
    };
    const served = this.catalog.list().filter((model) => model.kind === 'semantic' && isServed(model.id));
    const [first] = served;
    if (first === undefined) return null;
    const byDefault = isServed(ALIAS_PREFERENCES.default) ? ALIAS_PREFERENCES.default : first.id;
    return isServed(ALIAS_PREFERENCES.ko) ? { default: byDefault, ko: ALIAS_PREFERENCES.ko } : { default: byDefault };
  }

  #checkBackend(id: string): void {
    const model = this.catalog.list().find((each) => each.id === id);
    if (model && model.kind !== 'alias') return;
    const fault = model ? 'is the alias itself; name another model' : 'is not in the catalog; add it to models';
    throw new AppError({
      code: 'config_invalid',
      status: 500,
      message: `settings are not valid:\n  - alias.${ALIAS_ID}: ${id} ${fault}`,
    });
  }
}

function notInstalled(model: Model): AppError {
  return new AppError({
    code: 'provider_unavailable',
    status: 502,
    param: 'model',
    message: `${model.id} needs ${model.local?.name}, which is not installed on this host; ask the operator`,
    details: { provider: 'local', cause: 'not_installed' },
    retryable: true,
  });
}
