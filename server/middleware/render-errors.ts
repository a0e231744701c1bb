import { AppError } from '../../src/platform/errors.ts';
import type { Logger } from '../../src/platform/logger.ts';
import { mapPostgresError } from '../../src/platform/postgres.ts';
import { clientGone, familyOfPath, renderError } from '../errors.ts';
import type { RequestContext, RequestMiddleware, RequestState } from '../request-state.ts';

/** Answer with what was thrown, in the family of its route. The only place that renders errors of requests. */
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
  for (const name in rendered.headers) res.setHeader(name, rendered.headers[name] ?? '');
  ctx.body = rendered.body;
}

/**
 * Map what was thrown to what the client is told. An unknown error is a fault of ours, of which nobody is shown more
 * than the id under which it is in the log; but while a client has left, or the drain's deadline has passed, errors
 * are what an aborted handler throws.
 */
function appErrorOf(thrown: unknown, state: RequestState): AppError {
  if (state.clientIsGone) return clientGone(thrown);
  const known = mapPostgresError(thrown);
  if (known instanceof AppError) return known;
  if (state.isDrained) return shuttingDown(thrown);
  return new AppError({
    code: 'internal_error',
    status: 500,
    message: `internal error; quote request id ${state.requestId}`,
    cause: thrown,
  });
}

/** 503: this process is stopping and gave up what was under way. */
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
