import { z } from 'zod';
import { AppError } from '../platform/errors.ts';
import type { HttpReply } from '../platform/upstream/transport.ts';

/** Error body of the service, in one of its shapes. */
const ErrorBody = z.union([
  z.object({ detail: z.string() }).transform(({ detail }) => detail),
  z.object({ error: z.object({ message: z.string() }) }).transform(({ error }) => error.message),
  z.object({ error_description: z.string() }).transform((body) => body.error_description),
]);

const MESSAGE_CHARS_MAX = 2000;

/** Create the error for a refusal by the API, with the API's own status and message. */
export function apiRefused(reply: HttpReply): AppError {
  const { status } = reply;
  const retryAfter = Number(reply.headers['retry-after']);
  return new AppError({
    code: 'api_refused',
    status,
    message: messageOf(reply).slice(0, MESSAGE_CHARS_MAX),
    retryable: status === 429 || status >= 500,
    ...(Number.isFinite(retryAfter) ? { retryAfterSeconds: retryAfter } : {}),
    details: { request_id: reply.headers['x-request-id'] ?? null },
  });
}

function messageOf(reply: HttpReply): string {
  try {
    return ErrorBody.parse(JSON.parse(reply.body.toString('utf8')));
  } catch {
    return `the API answered with status ${reply.status}`;
  }
}

/** Create the error for an API that doesn't respond at its address, or not in time. */
export function apiUnreachable(origin: string, why: string, cause: unknown): AppError {
  return new AppError({
    code: 'api_unreachable',
    status: 503,
    message: `the API at ${origin} cannot be reached: ${why}`,
    retryable: true,
    cause,
  });
}

/** Create the error for a response that doesn't look like one of this API. */
export function notTheApi(origin: string, why: string): AppError {
  return new AppError({
    code: 'api_not_understood',
    status: 502,
    message: `${origin} does not answer as this service does: ${why}; check SERVICE_API_BASE_URL`,
  });
}
