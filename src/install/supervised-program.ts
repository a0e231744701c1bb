import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Logger } from '../platform/logger.ts';

/** Program that the supervisor keeps running. */
export interface Program {
  readonly name: string;
  /** Arguments of `bin/service`. */
  readonly args: readonly string[];
  /** True if the program receives the listening socket. */
  readonly listens: boolean;
}

/** State of a program in the supervisor's status file. */
export interface ProgramStatus {
  readonly name: string;
  readonly pid: number | null;
  /** Number of times that the program exited by itself since its last requested start. */
  readonly crashes: number;
}

/** Resources for every start of a program. */
export interface Surroundings {
  /** Return the `bin/service` of the current release. */
  readonly executable: () => string;
  readonly env: NodeJS.ProcessEnv;
  readonly directory: string;
  /** File descriptors of the log and the listening socket. */
  readonly logFd: number;
  readonly socketFd: number;
  readonly logger: Logger;
  readonly onChange: () => void;
}

const RESTART_MS_MIN = 500;
const RESTART_MS_MAX = 30_000;
/** Uptime after which a program counts as stable and restarts quickly after its next crash. */
const STABLE_MS = 60_000;
/** Time between SIGTERM and SIGKILL; longer than a program takes to drain. */
const STOP_MS = 30_000;

/** The socket is file descriptor 3 of the program. Only the process named by LISTEN_PID may use it. */
const LISTEN_SCRIPT = 'export LISTEN_FDS=1 LISTEN_PID=$$; exec "$0" "$@"';

/** Program that runs until it is stopped. After every exit it is restarted, with growing pauses. */
export class SupervisedProgram {
  readonly #program: Program;
  readonly #surroundings: Surroundings;
  #child: ChildProcess | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isWanted = false;
  #crashes = 0;
  #pauseMs = RESTART_MS_MIN;

  constructor(program: Program, surroundings: Surroundings) {
    this.#program = program;
    this.#surroundings = surroundings;
  }

  get status(): ProgramStatus {
    return { name: this.#program.name, pid: this.#child?.pid ?? null, crashes: this.#crashes };
  }

  start(): void {
    this.#isWanted = true;
    this.#crashes = 0;
    this.#pauseMs = RESTART_MS_MIN;
    this.#spawn();
  }

  /** Ask the program to finish its work and exit, and wait for that. */
  async stop(): Promise<void> {
    this.#isWanted = false;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const child = this.#child;
    if (child === null) return;
    // A program that couldn't be started never exits.
    const exited = once(child, child.pid === undefined ? 'error' : 'exit');
    child.kill('SIGTERM');
    const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await exited;
    clearTimeout(deadline);
  }

  #spawn(): void {
    this.#timer = null;
    const { executable, env, directory, logFd, socketFd } = this.#surroundings;
    const { name, args, listens } = this.#program;
    const startedMs = performance.now();
    let child: ChildProcess;
    try {
      child = spawn('/bin/sh', ['-c', listens ? LISTEN_SCRIPT : 'exec "$0" "$@"', executable(), ...args], {
        cwd: directory,
        env,
        stdio: listens ? ['ignore', logFd, logFd, socketFd] : ['ignore', logFd, logFd],
      });
    } catch (error) {
      // Some start failures are thrown, others are `error` events.
      this.#restartLater({ err: error }, 0);
      this.#surroundings.onChange();
      return;
    }
    this.#child = child;
    let hasEnded = false;
    const onEnd = (reason: object) => {
      if (hasEnded) return;
      hasEnded = true;
      this.#child = null;
      if (this.#isWanted) this.#restartLater(reason, performance.now() - startedMs);
      this.#surroundings.onChange();
    };
    child.on('exit', (code, signal) => onEnd({ code, signal }));
    child.on('error', (error) => onEnd({ err: error }));
    this.#surroundings.logger.info({ program: name, pid: child.pid }, 'the program was started');
    this.#surroundings.onChange();
  }

  #restartLater(reason: object, ranMs: number): void {
    this.#crashes++;
    if (ranMs >= STABLE_MS) this.#pauseMs = RESTART_MS_MIN;
    this.#surroundings.logger.error(
      { program: this.#program.name, ...reason, restart_ms: this.#pauseMs },
      'the program ended unexpectedly and is started again after a pause',
    );
    this.#timer = setTimeout(() => this.#spawn(), this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, RESTART_MS_MAX);
  }
}
