import { EventSourceParserStream } from 'eventsource-parser/stream';
import { acceptSession, csrfToken, type SessionReply, session, waitForSignIn } from './session.ts';

/** Refusal by the API, or a failed connection (status 0). The message is a sentence for people. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(status: number, message: string, more: { code?: string | null; retryAfterSeconds?: number | null } = {}) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = more.code ?? null;
    this.retryAfterSeconds = more.retryAfterSeconds ?? null;
  }
}

export type QueryValues = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Request {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly query?: QueryValues;
  readonly json?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Key by which the server executes a repeated request only once. */
  readonly idempotencyKey?: string;
}

/** Join path segments, escaping each. */
export function pathOf(...segments: readonly string[]): string {
  return `/${segments.map(encodeURIComponent).join('/')}`;
}

export function withQuery(path: string, query: QueryValues = {}): string {
  const entries = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null || value === '' ? [] : [[name, String(value)]],
  );
  return entries.length === 0 ? path : `${path}?${new URLSearchParams(entries)}`;
}

/**
 * Call the API. If the session has ended, wait for a new sign-in and repeat the call, so that no form input is lost.
 *
 * @throws ApiError
 */
export async function call<T>(path: string, request: Request = {}): Promise<T> {
  const response = await respond(path, request);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** Server-sent event of a stream. */
export interface StreamEvent {
  readonly name: string;
  /** Parsed JSON of the event. The caller knows its shape by the name. */
  readonly data: unknown;
}

/** Call the API like `call`, and return the server-sent events of the response. @throws ApiError */
export async function* openStream(path: string, request: Request): AsyncGenerator<StreamEvent, void> {
  const { body } = await respond(path, request);
  const reader = body?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done || value === undefined) return;
      yield { name: value.event ?? 'message', data: JSON.parse(value.data) };
    }
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
}

/**
 * Send a request, repeatedly if the session is refused, and return the response.
 * @throws ApiError for other refusals
 */
async function respond(path: string, request: Request): Promise<Response> {
  for (let attempt = 0; ; attempt += 1) {
    const token = csrfToken();
    const response = await send(path, request);
    if (response.ok) return response;
    const error = await readError(response);
    if (error.status === 401 && session.get().kind !== 'loading') {
      await waitForSignIn(request.signal);
    } else if (error.status === 403 && /csrf/i.test(`${error.code} ${error.message}`) && attempt === 0) {
      if (csrfToken() === token) acceptSession(await call<SessionReply>('/v1/sessions/current'));
    } else {
      throw error;
    }
  }
}

/** Call a session route. A refusal doesn't open a sign-in. @throws ApiError */
export async function callOnce<T>(path: string, request: Request = {}): Promise<T> {
  const response = await send(path, request);
  if (!response.ok) throw await readError(response);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** Signals of background loads, which don't keep a session alive. */
const backgroundLoads = new WeakSet<AbortSignal>();

export function markBackground(signal: AbortSignal): void {
  backgroundLoads.add(signal);
}

async function send(path: string, { method = 'GET', query, json, signal, idempotencyKey }: Request): Promise<Response> {
  const headers = new Headers({ Accept: 'application/json' });
  const token = csrfToken();
  if (method !== 'GET' && token !== null) headers.set('X-CSRF-Token', token);
  if (signal && backgroundLoads.has(signal)) headers.set('X-Background', '1');
  if (json !== undefined) headers.set('Content-Type', 'application/json');
  if (idempotencyKey !== undefined) headers.set('Idempotency-Key', idempotencyKey);
  const body = json === undefined ? null : JSON.stringify(json);
  try {
    return await fetch(withQuery(path, query), { method, headers, body, signal: signal ?? null, redirect: 'error' });
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw new ApiError(0, error instanceof Error ? error.message : String(error), { code: 'unreachable' });
  }
}

async function readError(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  return errorOf(response.status, text, response.headers.get('Retry-After'));
}

/** Create the error of a response from its body, in either shape of the API. */
export function errorOf(status: number, text: string, retryAfter: string | null): ApiError {
  const retryAfterSeconds = retryAfter === null ? null : Number(retryAfter) || null;
  try {
    const body = JSON.parse(text) as { detail?: string; code?: string; error?: { message?: string; code?: string } };
    const message = body.error?.message ?? body.detail;
    if (typeof message === 'string') {
      return new ApiError(status, message, { code: body.error?.code ?? body.code ?? null, retryAfterSeconds });
    }
  } catch {
    // A proxy in front of our API responded in HTML.
  }
  return new ApiError(status, `the server answered with status ${status}`, { retryAfterSeconds });
}
