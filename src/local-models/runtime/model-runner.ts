import { type AppError, tryLater } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logger.ts';
import { unlessAborted } from '../../platform/unless-aborted.ts';
import { ModelFault, ModelProcess, type ModelTask } from './model-process.ts';
import type { ModelArgument } from './protocol.ts';

export interface RunnerOptions {
  /** Name of the model, as in `local/bge-m3-ko`. */
  readonly name: string;
  readonly argument: ModelArgument;
  /** Time without a task after which the process ends; 0 keeps it running. */
  readonly idleMs: number;
  /** Time without a finished batch after which a process with tasks counts as hung and is killed; default: 5 min. */
  readonly silenceMs?: number | undefined;
  /** Called with the reason if the model can't be loaded, so that another start would fail, too. */
  readonly onUnusable?: (fault: string) => void;
  readonly logger: Logger;
}

/** State of a model's process, for metrics and tests. */
export interface RunnerState {
  readonly name: string;
  readonly pid: number | null;
  readonly residentBytes: number;
  readonly textsQueued: number;
  /** Number of starts. All except the first follow an idle time or a crash. */
  readonly starts: number;
  readonly deaths: number;
}

/** Maximum number of queued texts per model. Each takes memory here and in the process. */
const QUEUED_TEXTS_MAX = 20_000;
const START_MS_MAX = 300_000;
/** Pause before restarting a model that couldn't be loaded. A killed process restarts immediately. */
const FAILED_START_PAUSE_MS = 5_000;
const RETRY_AFTER_SECONDS = 2;

/** Runs one model in a separate process, which starts on first use and again after a crash. */
export class ModelRunner {
  readonly #options: RunnerOptions;
  #process: Promise<ModelProcess> | null = null;
  #running: ModelProcess | null = null;
  #idle: NodeJS.Timeout | null = null;
  #tasks = 0;
  #texts = 0;
  #starts = 0;
  #deaths = 0;
  #failedStart: { readonly atMs: number; readonly error: AppError } | null = null;
  #isClosed = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  get state(): RunnerState {
    const { name } = this.#options;
    const { pid = null, residentBytes = 0 } = this.#running ?? {};
    return { name, pid, residentBytes, textsQueued: this.#texts, starts: this.#starts, deaths: this.#deaths };
  }

  /**
   * Compute unit vectors or scores, [texts x dimension].
   *
   * @throws AppError `provider_unavailable` (503, with Retry-After): the process exited, can't start, or is overloaded;
   *   the signal's reason once it is aborted
   */
  async run(task: ModelTask, signal: AbortSignal): Promise<Float32Array> {
    const { texts } = task;
    if (this.#texts + texts.length > QUEUED_TEXTS_MAX && this.#texts > 0) {
      throw this.#unavailable('overloaded', 'too many texts are already waiting for it');
    }
    this.#begin(texts.length);
    try {
      const process = await unlessAborted(this.#started(), signal);
      return await process.run(task, signal);
    } catch (error) {
      if (!(error instanceof ModelFault)) throw error;
      throw this.#unavailable(error.isFinal ? 'failed' : 'ended', error.message, error);
    } finally {
      this.#end(texts.length);
    }
  }

  /** Load the model and return its vector length, 1 for a reranker. @throws AppError of `run` */
  async dimension(signal: AbortSignal): Promise<number> {
    this.#begin(0);
    try {
      return (await unlessAborted(this.#started(), signal)).dimension;
    } finally {
      this.#end(0);
    }
  }

  /** End the process and reject its tasks. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#unload();
  }

  #begin(texts: number): void {
    if (this.#isClosed) throw this.#unavailable('closing', 'it was removed, or the service is shutting down');
    this.#tasks++;
    this.#texts += texts;
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = null;
  }

  #end(texts: number): void {
    this.#tasks--;
    this.#texts -= texts;
    const { idleMs, name, logger } = this.#options;
    if (this.#tasks > 0 || idleMs === 0 || this.#isClosed) return;
    this.#idle = setTimeout(() => {
      logger.info({ model: name, idleMs }, 'a local model is unloaded, since nothing needed it');
      void this.#unload();
    }, idleMs);
    this.#idle.unref();
  }

  #started(): Promise<ModelProcess> {
    const failed = this.#failedStart;
    if (failed && performance.now() - failed.atMs < FAILED_START_PAUSE_MS) return Promise.reject(failed.error);
    this.#process ??= this.#start();
    return this.#process;
  }

  async #start(): Promise<ModelProcess> {
    const { argument, name, logger, silenceMs } = this.#options;
    this.#starts++;
    const beganMs = performance.now();
    try {
      const started = await ModelProcess.start(argument, START_MS_MAX, silenceMs);
      this.#running = started;
      this.#failedStart = null;
      void started.ended.then(() => this.#onEnd(started));
      if (this.#isClosed) await started.stop();
      logger.info(
        { model: name, pid: started.pid, ms: Math.round(performance.now() - beganMs) },
        'a local model is loaded',
      );
      return started;
    } catch (error) {
      this.#process = null;
      const why = error instanceof Error ? error.message : String(error);
      const failure = this.#unavailable('not_loaded', why, error);
      const isFinal = !(error instanceof ModelFault) || error.isFinal;
      this.#failedStart = isFinal ? { atMs: performance.now(), error: failure } : null;
      logger.error({ model: name, err: error }, 'a local model cannot be loaded');
      if (isFinal) this.#options.onUnusable?.(why);
      throw failure;
    }
  }

  #onEnd(ended: ModelProcess): void {
    if (this.#running !== ended) return;
    this.#running = null;
    this.#process = null;
    this.#deaths++;
    const { name, logger } = this.#options;
    if (!this.#isClosed)
      logger.error({ model: name }, 'the process of a local model died; the next request starts it again');
  }

  async #unload(): Promise<void> {
    if (this.#idle) clearTimeout(this.#idle);
    const unloaded = this.#process;
    this.#process = null;
    const running = this.#running;
    this.#running = null;
    await running?.stop();
    await unloaded?.then((process) => process.stop()).catch(() => {});
  }

  #unavailable(cause: string, why: string, error?: unknown): AppError {
    const { name } = this.#options;
    return tryLater(`the local model ${name} is unavailable (${cause}); try again`, 'provider_unavailable', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
      details: { provider: 'local', cause },
      cause: error ?? new Error(why),
    });
  }
}
