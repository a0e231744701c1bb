import { AppError, invalidRequest } from '../platform/errors.ts';

/**
 * Replace the field name in an input error by the name that users type: `--top-k` for `top_k`, or the name in `names`.
 * In errors of an operation, use only `names`. Return any other error unchanged.
 */
export function nameFault(error: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof AppError) || error.status !== 400) return error;
  const { path, reason } = error.details ?? {};
  if (error.code !== 'invalid_request' || !Array.isArray(path) || typeof reason !== 'string') {
    return renameStart(error, (field) => names[field]);
  }
  const [field, ...inside] = path as (string | number)[];
  if (field === undefined) return invalidRequest(reason);
  return invalidRequest(`${typedName(field, inside, names)}: ${reason}`, String(field));
}

/**
 * Replace the field name at the start of a message, as in `name: must not be empty`, by the name that users type.
 *
 * @param nameOf returns the typed name of a field, or undefined to keep it
 */
export function renameStart(error: AppError, nameOf: (field: string) => string | undefined): AppError {
  const [field = ''] = /^\w+/.exec(error.param ?? '') ?? [];
  const { message, code, status, param, details, retryable, retryAfterSeconds, cause } = error;
  const rest = message.slice(field.length);
  const name = nameOf(field);
  const isNamed = field !== '' && message.startsWith(field) && /^[.[:]|^ (?:must|has|is) /.test(rest);
  if (!isNamed || name === undefined) return error;
  return new AppError({
    code,
    status,
    param,
    retryable,
    cause,
    message: name + rest,
    ...(details === undefined ? {} : { details }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

/** Render the path of a field with the name of its flag or argument. */
export function typedName(
  field: PropertyKey,
  inside: readonly PropertyKey[],
  names: Readonly<Record<string, string>>,
): string {
  const name = names[String(field)] ?? `--${String(field).replaceAll('_', '-')}`;
  const place = inside.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return `${name}${place}`;
}
