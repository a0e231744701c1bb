import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Caller, Scope } from '../src/access/caller.ts';
import type { Axis } from '../src/usage/schema.ts';

/**
 * Rule for who may call a route. There is no default: a route without a policy does not compile, and is not mounted.
 * - `public`: nobody is asked who they are;
 * - `loopback_or_platform_admin`: a peer on this machine that no proxy stands before, or the scope `platform_admin`;
 * - `cron_or_platform_admin`: the header `X-Cron-Secret`, or the scope `platform_admin`;
 * - `caller`: any valid key or token (reads of the organization's own resources);
 * - a scope: a key or token that has it.
 */
export type AccessPolicy = 'public' | 'loopback_or_platform_admin' | 'cron_or_platform_admin' | 'caller' | Scope;

/** The caller as a handler sees it: nobody where the policy asks for nobody. */
type CallerOf<A extends AccessPolicy> = A extends 'public'
  ? null
  : A extends 'loopback_or_platform_admin' | 'cron_or_platform_admin'
    ? Caller | null
    : Caller;

/** Shape of a route's errors: `embedding` as OpenAI clients parse them, `detail` everywhere else. */
export type ErrorFamily = 'embedding' | 'detail';

/**
 * A file that came with a multipart request, already written to `path` by the body reader. It is removed when the
 * handler is done; a handler that keeps it moves it away.
 */
export interface UploadedFile {
  readonly path: string;
  /** The name as the client wrote it, decoded as UTF-8: may hold `../`, control characters, any length. Never a path. */
  readonly fileName: string;
  readonly contentType: string | null;
  readonly sizeBytes: number;
  /** SHA-256 of the bytes, lowercase hex. */
  readonly sha256: string;
}

/** Validated input of a handler, and nothing of Koa. */
export interface RouteContext<Params, Query, Body, A extends AccessPolicy = AccessPolicy> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The part `file` of a multipart request; null for JSON requests. */
  readonly file: UploadedFile | null;
  readonly caller: CallerOf<A>;
  readonly requestId: string;
  /** Aborted when the client goes away or the server drains past its deadline. */
  readonly signal: AbortSignal;
}

/** Answer of a handler. `body` is JSON unless it is a Buffer or a stream (then `type` says what it is). */
export interface RouteReply {
  readonly status?: number;
  readonly body?: unknown | Buffer | Readable;
  /** Frees the body's memory; called once the answer is out, and not where it was cut off. */
  readonly freeBody?: () => void;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A route is data plus a thin handler; router, validation, OpenAPI and tests are rendered from this object. */
export interface Route<
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  A extends AccessPolicy = AccessPolicy,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Koa router path, `/v1/buckets/:bucket/documents`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly access: A;
  readonly errors: ErrorFamily;
  /** `none`: the body is never read. `upload`: multipart with one `file`, or JSON. */
  readonly reads: 'none' | 'json' | 'upload';
  /** Bound of the body in bytes, where it is not the server's own for `json` and for `upload`. */
  readonly bodyLimitBytes?: number;
  /** Honour `Idempotency-Key` on this route (everything that creates something). */
  readonly idempotent?: boolean;
  /** Headers of every answer of this route, refusals too. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The axis of the organization's request rate that a request counts on; 429 beyond it. */
  readonly axis?: (body: z.output<B>) => Axis;
  /**
   * Turn the body's bytes into what the handler gets, where parsing them would hold the event loop. It does what the
   * schema `body` does otherwise: refuse what is not JSON and what the schema refuses (AppError 400). The bytes are
   * its own, and may be moved to a thread. With `idempotent`, requests are the same where all of their bytes are.
   */
  readonly parse?: (bytes: Buffer, signal: AbortSignal) => Promise<z.output<B>>;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** Response bodies by status, for OpenAPI. */
  readonly responses: Readonly<Record<number, { description: string; schema?: z.ZodType }>>;
  readonly handle: (context: RouteContext<z.output<P>, z.output<Q>, z.output<B>, A>) => Promise<RouteReply>;
}

/** Keeps the types of params, query, body and caller between the declaration and the handler. */
export function defineRoute<
  P extends z.ZodType = z.ZodUndefined,
  Q extends z.ZodType = z.ZodUndefined,
  B extends z.ZodType = z.ZodUndefined,
  const A extends AccessPolicy = AccessPolicy,
>(route: Route<P, Q, B, A>): Route {
  return route as unknown as Route;
}

/** Check that requests of a route may come without a body. */
export function acceptsNoBody(route: Route): boolean {
  return route.body?.safeParse(undefined).success ?? true;
}
