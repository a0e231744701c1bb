import { invalidRequest } from '../../src/platform/errors.ts';
import { unsupportedType } from '../body/body-headers.ts';
import { jsonBodyReader } from '../body/json-body-reader.ts';
import type { RequestMiddleware } from '../request-state.ts';

const MEDIA_TYPE = 'application/x-www-form-urlencoded';

/**
 * Read a request's form into an object of strings. Throws AppError 400 for a repeated field, 413, 415, `client_gone`.
 */
export function readForm(limitBytes: number): RequestMiddleware {
  const read = jsonBodyReader({ limitBytes, allowsEmpty: true, types: ['urlencoded'] });
  return async (ctx, next) => {
    const [type] = (ctx.req.headers['content-type'] ?? '').split(';');
    if (type?.trim().toLowerCase() !== MEDIA_TYPE) throw unsupportedType(MEDIA_TYPE);
    const bytes = await read(ctx);
    ctx.state.body = parseForm(bytes?.toString('utf8') ?? '');
    await next();
  };
}

/** @throws AppError `invalid_request` (400) for a repeated field */
function parseForm(text: string): Record<string, string> {
  const fields = new URLSearchParams(text);
  const form: Record<string, string> = Object.create(null);
  for (const [name, value] of fields) {
    if (name in form) throw invalidRequest(`the field ${name} is given more than once`, name);
    form[name] = value;
  }
  return { ...form };
}
