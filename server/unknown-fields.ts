import { type AppError, invalidRequest } from '../src/platform/errors.ts';
import { findNearest } from '../src/platform/nearest-word.ts';
import { definitionOf, innerOf, type Schema } from '../src/platform/zod-definition.ts';
import { placeOf } from '../src/platform/zod-faults.ts';

const FIELD_CHARS_MAX = 60;

/**
 * Refuse fields unknown to an object schema, in the body and in nested objects. Otherwise, a misspelt `privacy_level`
 * would leave a document open.
 * @throws AppError `invalid_request` (400) that names the field and the probably intended one
 */
export function refuseUnknownFields(schema: Schema, body: unknown): void {
  const fault = findUnknown(schema, body, []);
  if (fault !== null) throw fault;
}

function findUnknown(schema: Schema, value: unknown, path: readonly string[]): AppError | null {
  const shape = shapeOf(schema);
  if (shape === null || typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  for (const [name, inner] of Object.entries(value)) {
    const known = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (known === undefined) return unknownField([...path, name.slice(0, FIELD_CHARS_MAX)], Object.keys(shape));
    const fault = findUnknown(known, inner, [...path, name]);
    if (fault !== null) return fault;
  }
  return null;
}

/** Find the fields of an object schema, inside optional and transformed ones; null for another type. */
function shapeOf(schema: Schema): Readonly<Record<string, Schema>> | null {
  const { type, shape } = definitionOf(schema);
  if (type === 'object') return shape ?? null;
  const inner = innerOf(schema);
  return inner === undefined ? null : shapeOf(inner);
}

function unknownField(path: readonly string[], known: readonly string[]): AppError {
  const place = placeOf(path);
  const nearest = findNearest(path.at(-1) ?? '', known);
  const advice = nearest === null ? `the fields are ${known.join(', ')}` : `did you mean ${nearest}?`;
  return invalidRequest(`${place}: there is no such field; ${advice}`, place);
}
