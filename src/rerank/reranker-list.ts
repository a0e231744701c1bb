import type { LocalModels } from '../local-models/open-local-models.ts';
import type { InstalledModel, ModelView } from '../models/catalog.ts';
import { AppError, invalidRequest } from '../platform/errors.ts';
import { findNearest } from '../platform/nearest-word.ts';
import { openLocalReranker } from './local-reranker.ts';
import type { Reranker } from './reranker.ts';

export interface RerankerListContext {
  /** Rerankers of the settings. The first one answers requests that name none; the others replace it. */
  readonly configured: readonly Reranker[];
  readonly localModels: Pick<LocalModels, 'score' | 'rerankers'>;
  /** Further names that the operator gives to models: id by name. */
  readonly names: Readonly<Record<string, string>>;
}

/** Limit of a local reranker that the settings do not name. A request has a shorter one. */
const LOCAL_TIMEOUT_MS = 600_000;

/** Rerankers that requests can name: those of the settings, then the others that are installed on this host. */
export class RerankerList {
  readonly #context: RerankerListContext;

  constructor(context: RerankerListContext) {
    this.#context = context;
  }

  /**
   * Choose the rerankers to try in order, at least one. The others of the settings replace the first one only, as the
   * fallback model replaces the primary one.
   *
   * @throws AppError `unknown_model` (400), `provider_unavailable` (502) if there is no reranker
   */
  choose(name: string | undefined): readonly Reranker[] {
    const { configured, names } = this.#context;
    const all = [...configured, ...this.#onlyInstalled()];
    const [first] = all;
    if (first === undefined) throw noReranker();
    const find = (id: string | undefined) => all.find((reranker) => reranker.id === id);
    const asked = name === undefined ? first : (find(name) ?? find(names[name]));
    if (asked === undefined) throw unknownReranker(name as string, all);
    return asked === configured[0] ? configured : [asked];
  }

  /** Find an installed reranker by its id. */
  installed(id: string): InstalledModel | null {
    return this.#context.localModels.rerankers().find(({ name }) => name === id) ?? null;
  }

  /** List the rerankers for `GET /v1/models`. */
  view(): ModelView[] {
    const { configured } = this.#context;
    return [...configured, ...this.#onlyInstalled()].map(({ id, owner }) => {
      const installed = this.installed(id);
      const available = owner !== 'local' || installed?.isHere === true;
      return {
        id,
        object: 'model',
        owned_by: owner,
        kind: 'reranker',
        default_dimension: null,
        max_tokens: installed?.maxTokens ?? null,
        variable_dimensions: false,
        available,
        calibrated: false,
        status: available ? 'served' : null,
        space: null,
        map_version: null,
        score: null,
      };
    });
  }

  #onlyInstalled(): Reranker[] {
    const { configured, localModels } = this.#context;
    const names = localModels.rerankers().map(({ name }) => name);
    return names
      .filter((name) => !configured.some(({ id }) => id === name))
      .map((model) => openLocalReranker({ model, timeoutMs: LOCAL_TIMEOUT_MS }, localModels));
  }
}

function noReranker(): AppError {
  return new AppError({
    code: 'provider_unavailable',
    status: 502,
    message:
      'no reranker is configured; the operator can set rerank in service.yaml, or install one with ' +
      '"service models install FOLDER --reranker"',
    details: { provider: 'rerank', cause: 'not_configured' },
  });
}

function unknownReranker(name: string, all: readonly Reranker[]): AppError {
  const ids = all.map(({ id }) => id);
  const nearest = findNearest(name, ids);
  const hint = nearest === null ? `the rerankers are ${ids.join(', ')}` : `did you mean "${nearest}"?`;
  return invalidRequest(`no reranker has the name "${name.slice(0, 200)}"; ${hint}`, 'model', 'unknown_model');
}
