import { isUtf8 } from 'node:buffer';
import { AppError, invalidRequest } from '../../src/platform/errors.ts';
import { checkJsonShape } from './check-json-shape.ts';

/** Maximum number of values in a body. No request needs more, and each invalid value adds a fault to the report. */
export const VALUES_MAX = 10_000;

/**
 * Parse a body that must be one JSON object, well-formed UTF-8, with at most 64 levels and `valuesMax` values. It must
 * not contain `__proto__` or `constructor.prototype`. Escaped lone surrogates are accepted. The time is proportional to
 * the size, so parse bodies of more than 256 kB on a thread.
 * @throws AppError 400 that describes the fault
 */
export function parseJsonObject(bytes: Buffer, valuesMax: number = VALUES_MAX): Record<string, unknown> {
  if (!isUtf8(bytes)) throw invalidRequest('the body is not valid UTF-8', null, 'invalid_utf8');
  checkJsonShape(bytes, valuesMax);
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (error) {
    // The parser's own message would quote the body.
    throw new AppError({ code: 'invalid_json', status: 400, message: 'the body is not valid JSON', cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidRequest('the body must be a JSON object', null, 'invalid_json');
  }
  refuseForbiddenKeys(value);
  return value as Record<string, unknown>;
}

/** Refuse keys that could modify a prototype. `checkJsonShape` has limited the recursion depth. */
function refuseForbiddenKeys(value: object): void {
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object' && item !== null) refuseForbiddenKeys(item);
    return;
  }
  for (const key of Object.keys(value)) {
    if (key === '__proto__') throw forbiddenKey(key);
    const item = (value as Record<string, unknown>)[key];
    if (typeof item !== 'object' || item === null) continue;
    if (key === 'constructor' && Object.hasOwn(item, 'prototype')) throw forbiddenKey('constructor.prototype');
    refuseForbiddenKeys(item);
  }
}

function forbiddenKey(key: string): AppError {
  return invalidRequest(`the key "${key}" is not allowed`, null, 'forbidden_key');
}
