import { DedicatedThread } from '../dedicated-thread.ts';
import { dependencyDown } from '../errors.ts';
import { type Changed, type DurableChange, toError } from './durable-changes.ts';

/**
 * Makes changes of files below a folder durable on a thread, which starts on first use. A file takes about ten system
 * calls. Asynchronously, each would wake a thread of libuv. The thread also flushes many files with one call.
 */
export class DurableWriter {
  readonly #root: string;
  #thread: DedicatedThread<DurableChange> | null = null;

  constructor(root: string) {
    this.#root = root;
  }

  /**
   * Make a change.
   * @param transfer buffers to move instead of copying
   * @returns SHA-256, in hexadecimal, of the content of each file that was written
   * @throws the error of the file system, with `code` and `syscall`; AppError `objects_unavailable` if the thread ends
   */
  async make(change: DurableChange, transfer: readonly ArrayBuffer[] = []): Promise<readonly string[]> {
    const { fault, sha256 } = await this.prepare()
      .call<Changed>(change, transfer)
      .catch((error: unknown) => {
        throw dependencyDown('objects', 'the file storage cannot be used right now; try again', error);
      });
    if (fault !== null) throw toError(fault);
    return sha256;
  }

  /** Start the thread unless it is running. */
  prepare(): DedicatedThread<DurableChange> {
    if (this.#thread === null || this.#thread.isEnded) {
      this.#thread = new DedicatedThread(new URL('./durable-thread.ts', import.meta.url), 'durable files', this.#root);
    }
    return this.#thread;
  }

  /** End the thread. Changes in progress fail. */
  async close(): Promise<void> {
    await this.#thread?.close();
  }
}
