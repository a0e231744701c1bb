import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RouterContext, RouterMiddleware } from '@koa/router';
import type { Caller } from '../src/access/caller.ts';
import type { Secret } from '../src/platform/secret.ts';
import { SlotMap } from '../src/platform/slot-map.ts';
import type { Span } from '../src/platform/span.ts';
import { announcesBody } from './body/body-headers.ts';
import type { BodyReservation } from './body/body-memory.ts';
import { type ClientSdk, clientSdkOf } from './client-sdk.ts';
import { requestIdOf } from './request-id.ts';
import type { OriginOf } from './request-origin.ts';
import type { IdempotentRequest, Route, RouteContext, RouteReply, SignedRequest, UploadedFile } from './route.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

/** Koa's context with the state of this server. */
export type RequestContext = RouterContext<RequestState>;

/** Middleware of this server. It puts its results into `ctx.state`. */
export type RequestMiddleware = RouterMiddleware<RequestState>;

/** Parts of the server that a request's state uses. */
interface RequestServer {
  readonly aborts: RequestAborts;
  readonly originOf: OriginOf;
  readonly proxies: TrustedProxies;
}

/**
 * State of a request, in `ctx.state`. Each field is set by the middleware named next to it. A handler receives this
 * object as a `RouteContext`. It is a class because of its accessors: V8 creates a separate hidden class for every
 * object literal with a getter, and only a full collection frees that class and its request.
 */
export class RequestState implements RouteContext<unknown, unknown, unknown> {
  readonly requestId: string;
  readonly startedAtMs = performance.now();
  /** Span of the request (`start-request`); null without tracing. */
  span: Span | null = null;
  /** Matched route (`set-route`); null before the match, or if no route matches. */
  route: Route | null = null;
  /** Caller (`authorize`); null if the access policy needs none. */
  caller: Caller | null = null;
  /** Session that identified the caller (`authorize`); null for a key or a token in the header. */
  session: Secret | null = null;
  /** Check of the caller during a long response (`authorize`). */
  recheck: () => Promise<boolean> = isStillThere;
  /** Memory that the body takes (`reserve-memory`); null for a route without a body. */
  memory: BodyReservation | null = null;
  /**
   * Raw body (`read-json`, `read-upload`), as bytes if large; later the output of the route's schema (`validate-body`).
   */
  body: unknown = undefined;
  /** File of a multipart body (`read-upload`). */
  file: UploadedFile | null = null;
  /** Headers and bytes of a signed request (`read-signed`). */
  signed: SignedRequest | null = null;
  /** Path parameters and query parameters (`validate-url`). */
  params: unknown = undefined;
  query: unknown = undefined;
  /** Key and fingerprint (`read-idempotency-key`), used by `idempotency` and by handlers. */
  idempotent: IdempotentRequest | null = null;
  /** Reply of the handler (`handle`), or its stored first reply (`idempotency`). `write-reply` sends it. */
  reply: RouteReply | null = null;

  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #server: RequestServer;
  #controller: AbortController | null = null;

  constructor(req: IncomingMessage, res: ServerResponse, server: RequestServer) {
    this.requestId = requestIdOf(req);
    this.#req = req;
    this.#res = res;
    this.#server = server;
  }

  /** Address of this service for links in the response, without a trailing slash; null if unknown. */
  get origin(): string | null {
    return this.#server.originOf(this.#req);
  }

  /** Address of the client, even behind trusted proxies. */
  get clientAddress(): string {
    return this.#server.proxies.clientOf(this.#req);
  }

  /** Header `Cookie`, unparsed. */
  get cookies(): string | undefined {
    return this.#req.headers.cookie;
  }

  /** Header `Authorization`, unparsed. */
  get authorization(): string | undefined {
    return this.#req.headers.authorization;
  }

  /** Header `Last-Event-ID`; null if there is none. */
  get lastEventId(): string | null {
    return this.#req.headers['last-event-id']?.toString().slice(0, 100) ?? null;
  }

  /** Header `Accept-Encoding`, unparsed. */
  get encodings(): string | undefined {
    return this.#req.headers['accept-encoding']?.toString();
  }

  /** True if the client asks for a page (`Accept` names HTML, but not JSON). */
  get prefersHtml(): boolean {
    const accept = (this.#req.headers.accept ?? '').toLowerCase();
    return accept.includes('text/html') && !accept.includes('application/json');
  }

  /** Client library that identified itself; null if none did. */
  get sdk(): ClientSdk | null {
    return clientSdkOf(this.#req.headers);
  }

  /**
   * Signal that aborts when the client disconnects or the drain deadline passes. Created on first use, since most
   * handlers don't need it.
   */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (!this.#res.closed) this.#server.aborts.add(this.#controller, this.#res);
      else if (this.clientIsGone) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** True if the client closed the connection before the response was complete. */
  get clientIsGone(): boolean {
    return this.#res.closed && !this.#res.writableFinished;
  }

  /** True if the server's drain deadline has passed. */
  get isDrained(): boolean {
    return this.#server.aborts.isDrained;
  }

  /** True if part of an announced body hasn't arrived, so that the connection can't carry another request. */
  get bodyIsPending(): boolean {
    return !this.#req.complete && announcesBody(this.#req);
  }
}

const isStillThere = async () => true;

/** Abort controllers of running requests. All are aborted when the drain deadline passes. */
export class RequestAborts {
  readonly #controllers = new SlotMap<AbortController>();
  readonly #drain: AbortSignal | undefined;

  constructor(drain: AbortSignal | undefined) {
    this.#drain = drain;
    drain?.addEventListener('abort', () => {
      for (const controller of this.#controllers) controller.abort(drain.reason);
    });
  }

  get isDrained(): boolean {
    return this.#drain?.aborted ?? false;
  }

  /** Keep a controller until its response is closed. Abort it if the response is cut off. */
  add(controller: AbortController, res: ServerResponse): void {
    if (this.#drain?.aborted) {
      controller.abort(this.#drain.reason);
      return;
    }
    const id = this.#controllers.add(controller);
    res.on('close', () => {
      this.#controllers.delete(id);
      if (!res.writableFinished) controller.abort();
    });
  }
}
