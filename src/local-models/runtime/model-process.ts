import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ModelArgument, ModelReply, ModelRequest } from './protocol.ts';

/** Fault of a model process. `isFinal` means that the model itself is unusable, so another start would also fail. */
export class ModelFault extends Error {
  override readonly name = 'ModelFault';
  readonly isFinal: boolean;

  constructor(message: string, { isFinal }: { readonly isFinal: boolean }) {
    super(message);
    this.isFinal = isFinal;
  }
}

export interface ModelTask {
  readonly texts: readonly string[];
  readonly query: string | null;
  readonly isBackground: boolean;
}

interface PendingTask {
  readonly resolve: (values: Float32Array) => void;
  readonly reject: (error: unknown) => void;
}

/** Time without a finished batch after which a process with tasks counts as hung. */
const SILENCE_MS = 300_000;
const STDERR_CHARS_MAX = 2000;
const HEAP_MIB = 1024;

/**
 * Process that holds one loaded model. Its environment is empty, and it exits with this process. When it exits, all its
 * tasks are rejected.
 */
export class ModelProcess {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, PendingTask>();
  readonly #ended: Promise<void>;
  #nextId = 1;
  #stderr = '';
  #dimension = 0;
  #residentBytes = 0;
  #isAlive = true;
  readonly #silenceMs: number;
  #silence: NodeJS.Timeout | null = null;

  private constructor(argument: ModelArgument, silenceMs: number) {
    this.#silenceMs = silenceMs;
    this.#child = fork(fileURLToPath(new URL('./model-child.ts', import.meta.url)), [JSON.stringify(argument)], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: {},
      // A small young generation saves 50 MB, since the process makes little garbage.
      execArgv: ['--no-warnings', `--max-old-space-size=${HEAP_MIB}`, '--max-semi-space-size=2'],
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      if (this.#stderr.length < STDERR_CHARS_MAX) this.#stderr += text.slice(0, STDERR_CHARS_MAX);
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ended = promise;
    const end = (why: string) => {
      this.#isAlive = false;
      this.#watch();
      const fault = new ModelFault(`the process of the model ended (${why}) ${this.#stderr}`.trim(), {
        isFinal: false,
      });
      for (const { reject } of this.#pending.values()) reject(fault);
      this.#pending.clear();
      resolve();
    };
    this.#child.on('error', (error) => end(error.message));
    this.#child.on('exit', (code, signal) => end(String(code ?? signal)));
  }

  /**
   * Start a process and load the model. The process is killed if it has tasks and finishes no batch for `silenceMs`.
   * @throws ModelFault if the model can't be loaded, or not within `withinMs`
   */
  static async start(argument: ModelArgument, withinMs: number, silenceMs = SILENCE_MS): Promise<ModelProcess> {
    const started = new ModelProcess(argument, silenceMs);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(
      () => reject(new ModelFault(`the model was not loaded within ${withinMs / 1000} s`, { isFinal: false })),
      withinMs,
    );
    started.#child.on('message', (message: ModelReply) => {
      if (message.type === 'unusable') reject(new ModelFault(message.reason, { isFinal: true }));
      else if (message.type === 'ready') {
        started.#dimension = message.dimension;
        started.#residentBytes = message.residentBytes;
        resolve();
      } else started.#receive(message);
    });
    void started.#ended.then(() =>
      reject(new ModelFault(`the process of the model ended ${started.#stderr}`.trim(), { isFinal: false })),
    );
    try {
      await promise;
    } catch (error) {
      await started.stop();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    return started;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get pid(): number | null {
    return this.#isAlive ? (this.#child.pid ?? null) : null;
  }

  /** Vector length; 1 for a reranker. */
  get dimension(): number {
    return this.#dimension;
  }

  /** Resident memory of the process after the last task. */
  get residentBytes(): number {
    return this.#isAlive ? this.#residentBytes : 0;
  }

  /** Promise that resolves once the process has exited. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /**
   * Compute vectors or scores, [texts x dimension].
   *
   * @throws ModelFault if the process exits or the model can't compute them; the signal's reason once it is aborted
   */
  async run(task: ModelTask, signal: AbortSignal): Promise<Float32Array> {
    signal.throwIfAborted();
    if (!this.#isAlive) throw new ModelFault('the process of the model has ended', { isFinal: false });
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<Float32Array>();
    this.#pending.set(id, { resolve, reject });
    if (this.#silence === null) this.#watch();
    const onAbort = () => {
      this.#send({ type: 'cancel', id });
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      this.#send({ type: 'run', id, ...task });
      return await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#pending.delete(id);
      if (this.#pending.size === 0) this.#watch();
    }
  }

  /** Wait for the next message with a deadline, or stop waiting if none is expected. */
  #watch(): void {
    if (this.#silence) clearTimeout(this.#silence);
    this.#silence = null;
    if (!this.#isAlive || this.#pending.size === 0) return;
    this.#silence = setTimeout(() => {
      this.#stderr = `it did not answer for ${this.#silenceMs / 1000} s`;
      this.#child.kill('SIGKILL');
    }, this.#silenceMs);
  }

  /** End the process and reject its tasks. */
  async stop(): Promise<void> {
    if (this.#isAlive) this.#child.kill('SIGKILL');
    await this.#ended;
  }

  #send(request: ModelRequest): void {
    // `exit` reports a process that has exited meanwhile.
    if (this.#child.connected) this.#child.send(request, () => {});
  }

  #receive(reply: ModelReply): void {
    this.#watch();
    if (reply.type !== 'done' && reply.type !== 'failed') return;
    const pending = this.#pending.get(reply.id);
    if (reply.type === 'failed') pending?.reject(new ModelFault(reply.reason, { isFinal: true }));
    else {
      this.#residentBytes = reply.residentBytes;
      pending?.resolve(reply.values);
    }
  }
}
