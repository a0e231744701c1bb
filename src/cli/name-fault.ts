import { AppError, invalidRequest } from '../platform/errors.ts';

/**
 * Name the field of a refused input as it is typed: `--top-k` for `top_k`, or the name in `names`. Any other error is
 * returned unchanged.
 */
export function nameFault(error: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof AppError) || error.code !== 'invalid_request') return error;
  const { path, reason } = error.details ?? {};
  if (!Array.isArray(path) || typeof reason !== 'string') return error;
  const [field, ...inside] = path as (string | number)[];
  if (field === undefined) return invalidRequest(reason);
  return invalidRequest(`${typedName(field, inside, names)}: ${reason}`, String(field));
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
