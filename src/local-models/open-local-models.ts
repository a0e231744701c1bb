import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type InstalledModel, SEMANTIC_ID } from '../models/catalog.ts';
import type { Config } from '../platform/config.ts';
import { AppError, tryLater } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { repeatingTask } from '../platform/repeating-task.ts';
import { BUILT_IN_FOLDER, BUILT_IN_MODEL, chooseBuiltIn, faultOfFiles } from './built-in/built-in-model.ts';
import { ensureFiles, folderOf, removeRevision, sweepIncoming } from './model-folders.ts';
import { openRunnerMetrics } from './runner-metrics.ts';
import { findLibrary } from './runtime/find-library.ts';
import { ModelRunner, type RunnerState } from './runtime/model-runner.ts';
import type { ModelArgument } from './runtime/protocol.ts';
import type { BuiltInChoice, LocalModel, ModelSpec } from './schema.ts';
import { selectLocalModels } from './store.ts';

/** Refresh interval, after which a model installed by another process is usable. */
const REFRESH_MS = 5_000;
/**
 * Maximum tokens of a batch, including padding. A request waits for the current batch: at most half a second on one
 * core.
 */
const BATCH_TOKENS_MAX = 512;
/** Maximum tokens per text for `local/semantic-1`, which averages the parts of a long text. */
const BUILT_IN_TOKENS_MAX = 8192;

/** Models on this host. Each runs in its own process while needed. */
export interface LocalModels {
  /** Default built-in model. */
  readonly builtIn: BuiltInChoice;
  /**
   * Embed texts with an installed model.
   *
   * @returns Float32Array [n x dimension], row-major, rows of unit length
   * @throws AppError `provider_unavailable` (503): it isn't installed, its process crashed or can't start, or it is
   *   overloaded; the signal's reason once it is aborted
   */
  embed(
    name: string,
    texts: readonly string[],
    options: { readonly isBackground: boolean },
    signal: AbortSignal,
  ): Promise<Float32Array>;
  /** Score from 0 to 1 how well each text answers a query. @throws AppError of `embed` */
  score(name: string, query: string, texts: readonly string[], signal: AbortSignal): Promise<number[]>;
  /** Models whose files are on this host: `local/semantic-1` and the installed ones. */
  list(): readonly LocalModel[];
  /** Installed rerankers, by name. */
  rerankers(): readonly InstalledModel[];
  states(): readonly RunnerState[];
  /** Call `listener` with the embedding models now and after every change. @returns a function that unsubscribes it */
  watch(listener: (installed: readonly InstalledModel[]) => void): () => void;
  refresh(): Promise<void>;
  close(): Promise<void>;
}

export interface LocalModelsContext {
  readonly config: Pick<Config, 'dataDir' | 'objects' | 'localModels' | 'embeddings'>;
  readonly sql: Sql;
  readonly objects: Objects;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export async function openLocalModels(context: LocalModelsContext): Promise<LocalModels> {
  const builtIn = await chooseBuiltIn(context.sql, context.config.embeddings.builtIn, context.logger);
  const registry = new Registry(context, builtIn);
  await registry.refresh();
  const unregister = openRunnerMetrics(context.metrics.registry, () => registry.states());
  const service = repeatingTask('refresh of local models', REFRESH_MS, context.logger, () => registry.refresh());
  await service.start(new AbortController().signal);
  await sweepIncoming(context.config.dataDir);
  return {
    builtIn,
    embed: (name, texts, { isBackground }, signal) => registry.run(name, { texts, query: null, isBackground }, signal),
    async score(name, query, texts, signal) {
      return [...(await registry.run(name, { texts, query, isBackground: false }, signal))];
    },
    list: () => registry.list(),
    rerankers: () => registry.installed('reranker'),
    states: () => registry.states(),
    watch: (listener) => registry.watch(listener),
    refresh: () => registry.refresh(),
    async close() {
      unregister();
      await service.stop();
      await registry.close();
    },
  };
}

/** Build the argument of a model process. @throws AppError `model_runtime_missing` (503) */
export function argumentOf(
  spec: Omit<ModelSpec, 'dimension' | 'files'>,
  folder: string,
  settings: Config['localModels'],
): ModelArgument {
  return {
    library: findLibrary(settings.runtimeLibrary),
    model: path.join(folder, spec.modelFile),
    sha256: null,
    tokenizer: path.join(folder, 'tokenizer.json'),
    kind: spec.kind,
    pooling: spec.pooling,
    maxTokens: spec.maxTokens,
    longTexts: 'cut',
    padId: spec.padId,
    threads: Math.min(settings.threads ?? Number.POSITIVE_INFINITY, os.availableParallelism()),
    batchTokensMax: BATCH_TOKENS_MAX,
  };
}

type Listener = (installed: readonly InstalledModel[]) => void;

/** Installed models and the processes that run them. */
class Registry {
  readonly #context: LocalModelsContext;
  readonly #builtIn: BuiltInChoice;
  readonly #runners = new Map<string, { readonly revision: string; readonly runner: ModelRunner }>();
  readonly #listeners = new Set<Listener>();
  readonly #closing = new AbortController();
  /** Revisions whose files are being fetched or can never be fetched. */
  readonly #fetched = new Map<string, Promise<void>>();
  #models: readonly LocalModel[] = [];
  /** Reason why `local/semantic-1` can't run, or null. */
  #builtInFault: string | null;
  /** Installed models whose files aren't on this host yet. */
  #absent: readonly LocalModel[] = [];
  #absentKey = '';
  #last: Promise<void> = Promise.resolve();

  constructor(context: LocalModelsContext, builtIn: BuiltInChoice) {
    this.#context = context;
    this.#builtIn = builtIn;
    this.#builtInFault = this.#checkBuiltIn();
  }

  list(): readonly LocalModel[] {
    return this.#builtInFault === null ? [BUILT_IN_MODEL, ...this.#models] : this.#models;
  }

  states(): readonly RunnerState[] {
    return [...this.#runners.values()].map(({ runner }) => runner.state);
  }

  /** Read the models. Reads are sequential, so that an older one never replaces a newer one. */
  refresh(): Promise<void> {
    this.#last = this.#last.catch(() => undefined).then(() => this.#read());
    return this.#last;
  }

  watch(listener: Listener): () => void {
    this.#listeners.add(listener);
    listener(this.#embeddingModels());
    return () => this.#listeners.delete(listener);
  }

  async run(
    name: string,
    task: { texts: readonly string[]; query: string | null; isBackground: boolean },
    signal: AbortSignal,
  ): Promise<Float32Array> {
    return this.#runnerOf(name).run(task, signal);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#fetched.values());
    await this.#last.catch(() => undefined);
    await Promise.all([...this.#runners.values()].map(({ runner }) => runner.close()));
  }

  async #read(): Promise<void> {
    const { sql, config } = this.#context;
    const all = await selectLocalModels(sql);
    const isHere = ({ spec, revision }: LocalModel) => existsSync(folderOf(config.dataDir, spec.name, revision));
    const found = all.filter(isHere);
    this.#absent = all.filter((model) => !found.includes(model));
    for (const model of this.#absent) this.#fetch(model);
    const absentKey = this.#absent.map(({ spec, revision }) => `${spec.name}@${revision}`).join();
    const isSame =
      absentKey === this.#absentKey &&
      found.length === this.#models.length &&
      found.every(({ spec, revision }) => isAmong(this.#models, spec.name, revision));
    const gone = this.#models.filter(({ spec, revision }) => !isAmong(all, spec.name, revision));
    this.#models = found;
    this.#absentKey = absentKey;
    if (isSame) return;
    for (const [name, { revision, runner }] of this.#runners) {
      if (name === SEMANTIC_ID || isAmong(found, name, revision)) continue;
      this.#runners.delete(name);
      void runner.close();
    }
    for (const model of gone) await this.#forget(model);
    for (const listener of this.#listeners) listener(this.#embeddingModels());
  }

  /**
   * Fetch a model's files to this host in the background, since a large model takes minutes. The next refresh retries
   * an unreachable store.
   */
  #fetch(model: LocalModel): void {
    const { config, objects, logger } = this.#context;
    const key = `${model.spec.name}@${model.revision}`;
    if (this.#fetched.has(key)) return;
    const shared = config.objects === null ? null : objects;
    const fetched = ensureFiles(config.dataDir, shared, model, this.#closing.signal).then(
      () =>
        this.refresh().catch((error: unknown) =>
          logger.warn({ err: error }, 'the installed local models could not be read; trying again later'),
        ),
      (error: unknown) => {
        if (this.#closing.signal.aborted) return;
        const isRetried = error instanceof AppError && error.retryable;
        if (isRetried) this.#fetched.delete(key);
        const message = 'a local model cannot be used on this host';
        logger.error({ err: error, model: model.spec.name }, isRetried ? `${message} yet` : message);
      },
    );
    this.#fetched.set(key, fetched);
  }

  /**
   * Delete the files of a revision that another host replaced or removed. On the command's own host, the command does
   * this.
   */
  async #forget({ spec, revision }: LocalModel): Promise<void> {
    const { config, logger } = this.#context;
    this.#fetched.delete(`${spec.name}@${revision}`);
    if (config.objects === null) return;
    try {
      await removeRevision(config.dataDir, spec.name, revision);
    } catch (error) {
      logger.error({ err: error, model: spec.name }, 'the files of a removed local model could not be deleted');
    }
  }

  /** Return why `local/semantic-1` can't run (after logging a warning), or null. */
  #checkBuiltIn(): string | null {
    const { localModels } = this.#context.config;
    let fault = faultOfFiles(BUILT_IN_FOLDER);
    try {
      findLibrary(localModels.runtimeLibrary);
    } catch (error) {
      fault ??= (error as Error).message;
    }
    if (fault !== null) this.#warnOfBuiltIn(fault);
    return fault;
  }

  #warnOfBuiltIn(fault: string): void {
    if (this.#builtIn === 'lexical') return;
    const message = `${SEMANTIC_ID} cannot run, so the built-in model matches words only; install the service again`;
    this.#context.logger.warn({ fault }, message);
  }

  /** Stop using the built-in model after its process reports that it can't be loaded. */
  #dropBuiltIn(fault: string): void {
    if (this.#builtInFault !== null) return;
    this.#builtInFault = fault;
    this.#warnOfBuiltIn(fault);
    for (const listener of this.#listeners) listener(this.#embeddingModels());
  }

  /** List the installed models of a kind, including those whose files are still being fetched. */
  installed(kind: ModelSpec['kind']): InstalledModel[] {
    const { dataDir } = this.#context.config;
    return [...this.#models, ...this.#absent].flatMap((model): InstalledModel[] => {
      const { spec, revision } = model;
      if (spec.kind !== kind) return [];
      const tokenizer = {
        kind: 'file',
        path: path.join(folderOf(dataDir, spec.name, revision), 'tokenizer.json'),
      } as const;
      const { name, dimension, maxTokens, prefixes } = spec;
      return [{ name, revision, dimension, maxTokens, prefixes, tokenizer, isHere: this.#models.includes(model) }];
    });
  }

  #embeddingModels(): InstalledModel[] {
    const { spec, revision } = BUILT_IN_MODEL;
    const builtIn = {
      name: spec.name,
      revision,
      dimension: spec.dimension,
      maxTokens: BUILT_IN_TOKENS_MAX,
      prefixes: spec.prefixes,
      // The model is free and accepts long texts, so exact counts aren't worth loading its vocabulary.
      tokenizer: { kind: 'estimate' },
      isHere: this.#builtInFault === null,
    } as const;
    return [builtIn, ...this.installed('embedding')];
  }

  #runnerOf(name: string): ModelRunner {
    const known = this.#runners.get(name);
    if (known) return known.runner;
    const { config, logger } = this.#context;
    const model = this.list().find(({ spec }) => spec.name === name);
    if (model === undefined) throw notInstalled(name);
    const { idleMs } = config.localModels;
    const own =
      model === BUILT_IN_MODEL
        ? {
            argument: argumentOfBuiltIn(config.localModels),
            onUnusable: (fault: string) => this.#dropBuiltIn(fault),
          }
        : { argument: argumentOf(model.spec, folderOf(config.dataDir, name, model.revision), config.localModels) };
    const runner = new ModelRunner({ name, idleMs, logger, ...own });
    this.#runners.set(name, { revision: model.revision, runner });
    return runner;
  }
}

/** Build the argument of the process of `local/semantic-1`. @throws AppError `model_runtime_missing` (503) */
export function argumentOfBuiltIn(settings: Config['localModels']): ModelArgument {
  const { spec } = BUILT_IN_MODEL;
  const sha256 = spec.files.find(({ path: file }) => file === spec.modelFile)?.sha256 ?? null;
  return { ...argumentOf(spec, BUILT_IN_FOLDER, settings), sha256, longTexts: 'mean' };
}

function isAmong(models: readonly LocalModel[], name: string, revision: string): boolean {
  return models.some((model) => model.spec.name === name && model.revision === revision);
}

function notInstalled(name: string): AppError {
  return tryLater(
    `${name} is not installed on this host; "service models list" shows the models`,
    'provider_unavailable',
    { retryAfterSeconds: REFRESH_MS / 1000, details: { provider: 'local', cause: 'not_installed' } },
  );
}
