import { AppError } from '../../src/platform/errors.ts';
import type { Logger } from '../../src/platform/logger.ts';
import { mapPostgresError } from '../../src/platform/postgres.ts';
import { clientGone, familyOfPath, renderError } from '../errors.ts';
import type { RequestContext, RequestMiddleware, RequestState } from '../request-state.ts';

/** Render a thrown error in the error family of its route. No other middleware renders errors of requests. */
export function renderErrors(logger: Logger): RequestMiddleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      writeError(ctx, error, logger);
    }
  };
}

function writeError(ctx: RequestContext, thrown: unknown, logger: Logger): void {
  const { state, res } = ctx;
  const error = appErrorOf(thrown, state);
  if (error.status >= 500) {
    const fault = { err: thrown, request_id: state.requestId, operation: state.route?.operationId };
    logger[error === thrown ? 'warn' : 'error'](fault, 'request failed');
  }
  if (res.headersSent || state.clientIsGone) return;
  const rendered = renderError(error, state.route?.errors ?? familyOfPath(ctx.req.url ?? ''), state.requestId);
  ctx.status = rendered.status;
  ctx.set(rendered.headers);
  ctx.body = rendered.body;
}

/**
 * Map a thrown value to the error for the client. An unknown error is an internal fault: the client sees only the
 * request id under which it is logged. After the client has disconnected or the drain deadline has passed, errors come
 * from aborted handlers and aren't faults.
 */
function appErrorOf(thrown: unknown, state: RequestState): AppError {
  if (state.clientIsGone) return clientGone(thrown);
  const known = mapPostgresError(thrown);
  if (known instanceof AppError) return known;
  if (state.isDrained) return shuttingDown(thrown);
  return new AppError({
    code: 'internal_error',
    status: 500,
    message: `an internal error occurred; quote the request id ${state.requestId} in a report`,
    cause: thrown,
  });
}

/** Create the error 503 for a request aborted by a stopping process. */
function shuttingDown(cause: unknown): AppError {
  return new AppError({
    code: 'shutting_down',
    status: 503,
    message: 'the service is shutting down; try again',
    retryable: true,
    retryAfterSeconds: 1,
    cause,
  });
}
