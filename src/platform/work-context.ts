import { AsyncLocalStorage } from 'node:async_hooks';
import type { Place } from './fair-gate.ts';
import type { Span } from './span.ts';

/** Request and job that the running code works for. It is propagated through `await`. */
export interface WorkContext {
  readonly requestId: string | null;
  readonly jobId: string | null;
  readonly orgId: string | null;
  /** Innermost span in progress; null without tracing. */
  readonly span: Span | null;
  /** Place of the request in the fair gate of all organizations, if it needs one. */
  readonly place?: Place;
}

const storage = new AsyncLocalStorage<WorkContext | undefined>();

/** Return the request and job of the running code; undefined outside of both. */
export function currentWork(): WorkContext | undefined {
  return storage.getStore();
}

/** Run a function, and everything that it starts, on behalf of a request or job (`undefined` for none). */
export function runFor<T>(work: WorkContext | undefined, fn: () => T): T {
  return storage.run(work, fn);
}

/** Run a function, and everything that it starts, on behalf of an organization within the current request or job. */
export function runForOrganization<T>(orgId: string, fn: () => T): T {
  const work = storage.getStore();
  if (work?.orgId === orgId) return fn();
  return storage.run({ requestId: null, jobId: null, span: null, ...work, orgId }, fn);
}

/** Wait for another service. Meanwhile, give the place of the running code to other requests. */
export function leavePlaceFor<T>(wait: () => Promise<T>): Promise<T> {
  const place = storage.getStore()?.place;
  return place === undefined ? wait() : place.leaveFor(wait);
}

/** Return the fields for every log line of the running code. */
export function logFields(): Record<string, string> {
  const work = storage.getStore();
  if (work === undefined) return {};
  const { requestId, jobId, orgId, span } = work;
  return {
    ...(requestId === null ? {} : { request_id: requestId }),
    ...(jobId === null ? {} : { job_id: jobId }),
    ...(orgId === null ? {} : { org_id: orgId }),
    ...(span === null ? {} : { trace_id: span.traceId, span_id: span.spanId }),
  };
}
