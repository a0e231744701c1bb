import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RouterContext, RouterMiddleware } from '@koa/router';
import type { Caller } from '../src/access/caller.ts';
import { announcesBody } from './body/body-headers.ts';
import { requestIdOf } from './request-id.ts';
import type { Route, RouteContext, RouteReply, UploadedFile } from './route.ts';

/** Koa's context with our state. */
export type RequestContext = RouterContext<RequestState>;

/** Middleware of this server: what it finds goes into `ctx.state`. */
export type RequestMiddleware = RouterMiddleware<RequestState>;

/** Identity of a request that is done once under its `Idempotency-Key`. */
export interface IdempotentRequest {
  readonly key: string;
  /** SHA-256 of the request as it was sent. */
  readonly fingerprint: Buffer;
}

/**
 * State of a request, in `ctx.state`: each field is set by one middleware, named beside it. A handler is given this
 * object and sees of it what `RouteContext` declares.
 *
 * A class, for its accessors: V8 makes a hidden class of its own for every object literal with a getter, and those are
 * collected with the whole heap only, each with its request.
 */
export class RequestState implements RouteContext<unknown, unknown, unknown> {
  readonly requestId: string;
  readonly startedAtMs = performance.now();
  /** The route that matched (`set-route`); null until then, and where none does. */
  route: Route | null = null;
  /** The caller (`authorize`); null where nobody has to be known. */
  caller: Caller | null = null;
  /** The body as sent (`read-json`, `read-upload`), then as the route's schema gives it (`validate-body`). */
  body: unknown = undefined;
  /** The file of a multipart body (`read-upload`). */
  file: UploadedFile | null = null;
  /** Path parameters and query parameters (`validate-url`). */
  params: unknown = undefined;
  query: unknown = undefined;
  /** Set by `read-idempotency-key`, for `idempotency`. */
  idempotent: IdempotentRequest | null = null;
  /** The handler's answer (`handle`), or the one it gave the first time (`idempotency`); sent by `write-reply`. */
  reply: RouteReply | null = null;

  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #aborts: RequestAborts;
  #controller: AbortController | null = null;

  constructor(req: IncomingMessage, res: ServerResponse, aborts: RequestAborts) {
    this.requestId = requestIdOf(req);
    this.#req = req;
    this.#res = res;
    this.#aborts = aborts;
  }

  /** Aborted when the client goes away or the server drains. Made when first asked for: most handlers never do. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (!this.#res.closed) this.#aborts.add(this.#controller, this.#res);
      else if (this.clientIsGone) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** The client closed the connection before its answer was complete: nobody reads it any more. */
  get clientIsGone(): boolean {
    return this.#res.closed && !this.#res.writableFinished;
  }

  /** The deadline of the server's drain has passed. */
  get isDrained(): boolean {
    return this.#aborts.isDrained;
  }

  /** Part of an announced body has not arrived: the connection cannot carry a next request. */
  get bodyIsPending(): boolean {
    return !this.#req.complete && announcesBody(this.#req);
  }
}

/** The abort controllers of requests under way; aborted together when the server drains past its deadline. */
export class RequestAborts {
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

  /** Keep a controller until its response is closed: finished, or cut off, which aborts it. */
  add(controller: AbortController, res: ServerResponse): void {
    if (this.#drain?.aborted) {
      controller.abort(this.#drain.reason);
      return;
    }
    this.#controllers.add(controller);
    res.on('close', () => {
      this.#controllers.delete(controller);
      if (!res.writableFinished) controller.abort();
    });
  }
}
