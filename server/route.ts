import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Caller, Scope } from '../src/access/caller.ts';
import type { Secret } from '../src/platform/secret.ts';
import type { RateAxis } from '../src/usage/schema.ts';
import type { ClientSdk } from './client-sdk.ts';

/**
 * Rule that decides who may call a route. There is no default: a route without a policy doesn't compile and isn't
 * mounted.
 * - `public`: no credentials are needed;
 * - `signature`: no credentials are needed; the handler verifies a signature over the bytes of the body;
 * - `loopback_or_platform_admin`: a peer on this machine without a proxy in between, or the scope `platform_admin`;
 * - `cron_or_platform_admin`: the header `X-Cron-Secret`, or the scope `platform_admin`;
 * - `caller`: any valid key or token (reads of the organization's own resources);
 * - a scope: a key or token that has it.
 */
export type AccessPolicy =
  | 'public'
  | 'signature'
  | 'loopback_or_platform_admin'
  | 'cron_or_platform_admin'
  | 'caller'
  | Scope;

/** Type of the caller in a handler: null if the policy needs none. */
type CallerOf<A extends AccessPolicy> = A extends 'public' | 'signature'
  ? null
  : A extends 'loopback_or_platform_admin' | 'cron_or_platform_admin'
    ? Caller | null
    : Caller;

/**
 * Shape of a route's errors. `embedding` is the object `error` that OpenAI's clients read. `detail` is a sentence.
 * `both` contains both, for routes with both kinds of clients. `oauth` is the shape of RFC 6749, `knowledge` that of
 * Dify's external knowledge API, and `scim` that of RFC 7644.
 */
export type ErrorFamily = 'embedding' | 'detail' | 'both' | 'oauth' | 'knowledge' | 'scim';

/**
 * File of a multipart request, written to `path` by the body reader. It is removed when the handler is done, so a
 * handler that keeps the file must move it.
 */
export interface UploadedFile {
  readonly path: string;
  /** Name sent by the client, decoded as UTF-8. It may contain `../` and control characters; never use it as a path. */
  readonly fileName: string;
  readonly contentType: string | null;
  readonly sizeBytes: number;
  /** SHA-256 of the bytes, lowercase hex. */
  readonly sha256: string;
}

/** Request as sent. The handler verifies its signature before it uses any of it. */
export interface SignedRequest {
  readonly headers: IncomingHttpHeaders;
  /** Body, exactly as sent. */
  readonly bytes: Buffer;
}

/** Identity of a request that runs only once per `Idempotency-Key`. */
export interface IdempotentRequest {
  readonly key: string;
  /** SHA-256 of the request as sent. */
  readonly fingerprint: Buffer;
}

/** Validated input of a handler, independent of Koa. */
export interface RouteContext<Params, Query, Body, A extends AccessPolicy = AccessPolicy> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** Part `file` of a multipart request; null for JSON requests. */
  readonly file: UploadedFile | null;
  /** Request as sent, if the route reads `signed`, which leaves `body` unset; null for every other route. */
  readonly signed: SignedRequest | null;
  /** Set if the route honours `Idempotency-Key` and the request has one; otherwise null. */
  readonly idempotent: IdempotentRequest | null;
  readonly caller: CallerOf<A>;
  /** Id of the session that identified the caller; null for a key or a token in the header. */
  readonly session: Secret | null;
  /**
   * Check again that the credential is valid and has the same rights as at the start of the request. Set for a route
   * that `streams`.
   */
  readonly recheck: () => Promise<boolean>;
  /** Header `Last-Event-ID`; null if there is none. */
  readonly lastEventId: string | null;
  /** Header `Accept-Encoding`, unparsed. */
  readonly encodings: string | undefined;
  /** Header `Cookie`, unparsed. */
  readonly cookies: string | undefined;
  /** Header `Authorization`, unparsed, for a route without a caller. */
  readonly authorization: string | undefined;
  /** Address of the client, even behind trusted proxies. */
  readonly clientAddress: string;
  readonly requestId: string;
  /** Address of this service for links in the response, without a trailing slash; null if unknown. */
  readonly origin: string | null;
  /** True if the client asks for a page (`Accept` names HTML, but not JSON). */
  readonly prefersHtml: boolean;
  /** Client library that identified itself; null if none did. */
  readonly sdk: ClientSdk | null;
  /** Aborted when the client disconnects or the drain deadline passes. */
  readonly signal: AbortSignal;
}

/** Reply of a handler. `body` is sent as JSON unless it is a Buffer or a stream (`type` is then its media type). */
export interface RouteReply {
  readonly status?: number;
  readonly body?: unknown | Buffer | Readable;
  /** Free the body's memory. Called once the response has been sent or cut off. */
  readonly freeBody?: () => void;
  /** Set to slow the sender's further requests, as for refused credentials. For a route that `signsIn`. */
  readonly countsAsAttempt?: true;
  /** Set for a body shared by all requests, so that it doesn't count towards this request's memory. */
  readonly isShared?: true;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

/** Response of a route, for OpenAPI. */
export interface RouteResponse {
  readonly description: string;
  /** Schema of a JSON body. */
  readonly schema?: z.ZodType;
  /** Media type of the body, if it is not JSON. */
  readonly mediaType?: string;
  /** Media type of an alternative to the JSON body, selected by `Accept`. */
  readonly otherMediaType?: string;
  /** Possible headers in addition to those of every response. */
  readonly headers?: readonly DescribedHeader[];
}

/**
 * Body that a route reads. `none`: no body is read. `upload`: multipart with one `file`, or JSON. `signed`: JSON whose
 * bytes are signed; the handler parses and validates them, and only OpenAPI uses `body`. `form`: the form of a web page
 * (`application/x-www-form-urlencoded`).
 */
type BodyKind = 'none' | 'json' | 'form' | 'signed' | 'upload';

/** Resource of the server that organizations share. */
export type Capacity = 'queries' | 'search' | 'runs' | 'maps' | 'rehearsals';

/** Statuses with which handlers refuse requests. */
export type RefusalStatus = 401 | 402 | 403 | 404 | 409 | 410 | 422 | 429 | 502;

/** Headers that responses of some routes have. */
export type DescribedHeader =
  | 'X-Service-Warning'
  | 'X-Service-Projection'
  | 'X-Service-Effective-Dimensions'
  | 'X-Read-Staleness'
  | 'Content-Disposition'
  | 'openai-poll-after-ms'
  | 'Retry-After';

/** Declaration of a route: data plus a thin handler. */
interface RouteDeclaration<
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
  /** `detail` by default. */
  readonly errors?: ErrorFamily;
  /** By default, `json` if the route has a `body`, otherwise `none`. */
  readonly reads?: BodyKind;
  /** Refuse JSON on a route that reads `upload`, so that every request has a file. */
  readonly isMultipartOnly?: true;
  /** Refuse a `signed` request by its headers, before its body is checked or read. Throws AppError. */
  readonly checkHeaders?: (headers: IncomingHttpHeaders) => void;
  /** Refuse fields unknown to the body's schema, since one may be a misspelt restriction. */
  readonly refusesUnknownFields?: true;
  /** Limit of the body in bytes, if it differs from the server's limit for `json` or `upload`. */
  readonly bodyLimitBytes?: number;
  /** Limit on values of a JSON body, if it differs from `VALUES_MAX` of the parser. */
  readonly bodyValuesMax?: number;
  /** Fault to report beyond that limit: the field with so many values, and its limit. */
  readonly tooManyValues?: { readonly param: string; readonly message: string };
  /** Set if the response takes long, so that the caller is rechecked meanwhile. */
  readonly streams?: true;
  /**
   * Set for a non-GET route that still works while the organization moves to another installation, because it changes
   * nothing in the export.
   */
  readonly whileMoving?: true;
  /** Delay refusals of this route, which checks a credential in its body. */
  readonly signsIn?: true;
  /** Support `Idempotency-Key` on this route (every route that creates something). */
  readonly idempotent?: boolean;
  /**
   * Set if the reply shows documents. Its copy for `Idempotency-Key` isn't resent if the caller can no longer read one
   * of them. Instead, the handler answers, since it knows the key.
   */
  readonly repliesDocuments?: true;
  /** Set if the reply contains a secret, so that its copy for `Idempotency-Key` is encrypted. */
  readonly repliesSecret?: true;
  /**
   * Capacity of the server that a request uses: `queries` (default), `search`, `runs` (of workflows), `maps` (of
   * buckets), `rehearsals`, or `none` for a route that mostly waits for others. Each organization has a share of it.
   */
  readonly capacity?: Capacity | 'none';
  /** Headers of every response of this route, including refusals. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Axis on which a request counts towards the organization's request rate; 429 beyond the rate. */
  readonly axis?: (body: z.output<B>) => RateAxis;
  /**
   * Parse the bytes of a JSON body whose parsing would block the event loop. This replaces validation by the schema
   * `body`, except for a multipart upload. It refuses invalid JSON and values that the schema refuses (AppError 400).
   * It owns the bytes and may transfer them to a thread. With `idempotent`, two requests are equal if all their bytes
   * are equal.
   */
  readonly parse?: (bytes: Buffer, signal: AbortSignal) => Promise<z.output<B>>;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** Responses by status, for OpenAPI. */
  readonly responses: Readonly<Record<number, RouteResponse>>;
  /** Statuses of the handler's refusals, for OpenAPI, in addition to those of the steps before it. */
  readonly refusals?: readonly RefusalStatus[];
  readonly handle: (context: RouteContext<z.output<P>, z.output<Q>, z.output<B>, A>) => Promise<RouteReply>;
}

/** Declared route, from which router, validation, OpenAPI and tests are derived. */
export interface Route<
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  A extends AccessPolicy = AccessPolicy,
> extends RouteDeclaration<P, Q, B, A> {
  readonly errors: ErrorFamily;
  readonly reads: BodyKind;
}

/** Declare a route, and pass the types of params, query, body and caller from the declaration to the handler. */
export function defineRoute<
  P extends z.ZodType = z.ZodUndefined,
  Q extends z.ZodType = z.ZodUndefined,
  B extends z.ZodType = z.ZodUndefined,
  const A extends AccessPolicy = AccessPolicy,
>(route: RouteDeclaration<P, Q, B, A>): Route {
  return { errors: 'detail', reads: route.body === undefined ? 'none' : 'json', ...route } as unknown as Route;
}

/** Return true if requests of a route may have no body. */
export function acceptsNoBody(route: Route): boolean {
  return route.body?.safeParse(undefined).success ?? true;
}
