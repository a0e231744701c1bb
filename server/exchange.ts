import type { IncomingMessage, ServerResponse } from 'node:http';
import { newId } from '../src/platform/ids.ts';
import type { Route } from './route.ts';

const SANE_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** The client's own request id where it is harmless in a header and in a log line, else a new one. */
export function requestIdOf(req: IncomingMessage): string {
  const inbound = req.headers['x-request-id'];
  return typeof inbound === 'string' && SANE_REQUEST_ID.test(inbound) ? inbound : newId('req');
}

/** Whether the headers announce a body (RFC 9112, section 6.3). */
export function announcesBody(req: IncomingMessage): boolean {
  const { headers } = req;
  if (headers['transfer-encoding'] !== undefined) return true;
  const length = headers['content-length'];
  return length !== undefined && length !== '0';
}

/** One request and its answer, from the first middleware until the response is closed. */
export class Exchange {
  readonly requestId: string;
  readonly startedAtMs = performance.now();
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The route that matched; null until then, and where none does. */
  route: Route | null = null;
  /** Who asked, for the log. */
  actor: string | null = null;
  #controller: AbortController | null = null;
  readonly #abortable: Abortable;

  constructor(req: IncomingMessage, res: ServerResponse, abortable: Abortable) {
    this.req = req;
    this.res = res;
    this.requestId = requestIdOf(req);
    this.#abortable = abortable;
  }

  /** Aborted when the client goes away or the server drains. Made when first asked for: most handlers never do. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.clientIsGone) this.#controller.abort();
      else this.#abortable.add(this.#controller);
    }
    return this.#controller.signal;
  }

  /** Nobody reads an answer any more. */
  get clientIsGone(): boolean {
    return this.res.closed && !this.res.writableFinished;
  }

  get isDrained(): boolean {
    return this.#abortable.isDrained;
  }

  /** Whether the body was announced and has not all arrived: the connection cannot carry a next request. */
  get bodyIsPending(): boolean {
    return !this.req.complete && announcesBody(this.req);
  }

  /** The response was closed: finished, or cut off. */
  close(): void {
    if (this.#controller === null) return;
    this.#abortable.delete(this.#controller);
    if (!this.res.writableFinished) this.#controller.abort();
  }
}

/** The abort controllers of requests under way; aborted together when the server drains past its deadline. */
export class Abortable {
  readonly #controllers = new Set<AbortController>();
  readonly #drain: AbortSignal | undefined;

  constructor(drain: AbortSignal | undefined) {
    this.#drain = drain;
    drain?.addEventListener('abort', () => {
      for (const controller of this.#controllers) controller.abort(drain.reason);
      this.#controllers.clear();
    });
  }

  get isDrained(): boolean {
    return this.#drain?.aborted ?? false;
  }

  add(controller: AbortController): void {
    if (this.#drain?.aborted) controller.abort(this.#drain.reason);
    else this.#controllers.add(controller);
  }

  delete(controller: AbortController): void {
    this.#controllers.delete(controller);
  }
}
