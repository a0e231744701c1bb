import type { IncomingHttpHeaders } from 'node:http';
import { isJson, unsupportedType } from '../body/body-headers.ts';
import { jsonBodyReader } from '../body/json-body-reader.ts';
import type { RequestMiddleware } from '../request-state.ts';

/**
 * Read a body whose bytes are signed, without parsing it. Throws AppError 400 for an empty body, 413, 415,
 * `client_gone`.
 * @param limitBytes maximum size of the body
 * @param checkHeaders refuses an unsigned request, whatever its body
 */
export function readSigned(
  limitBytes: number,
  checkHeaders: (headers: IncomingHttpHeaders) => void = () => undefined,
): RequestMiddleware {
  const read = jsonBodyReader({ limitBytes, allowsEmpty: false });
  return async (ctx, next) => {
    const { headers } = ctx.req;
    checkHeaders(headers);
    if (!isJson(headers['content-type'])) throw unsupportedType('application/json');
    ctx.state.signed = { headers, bytes: (await read(ctx)) as Buffer };
    await next();
  };
}
