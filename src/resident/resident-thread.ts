import { DedicatedThread } from '../platform/dedicated-thread.ts';
import type { Operation, OperationName, Operations } from './protocol.ts';

/** Thread that holds resident tables. It starts immediately, and ends with `close` or after an error. */
export class ResidentThread {
  readonly #thread = new DedicatedThread<Operation>(new URL('./thread.ts', import.meta.url), 'resident indexes');

  get isEnded(): boolean {
    return this.#thread.isEnded;
  }

  /** Run an operation. @throws Error if it fails, or if the thread has ended */
  call<Name extends OperationName>(
    name: Name,
    argument: Operations[Name]['argument'],
  ): Promise<Operations[Name]['result']> {
    return this.#thread.call({ name, argument });
  }

  async close(): Promise<void> {
    await this.#thread.close();
  }
}
