import { isUtf8 } from 'node:buffer';
import { AppError, invalidRequest } from '../../src/platform/errors.ts';

/** Bound on nesting: deeper bodies have no use in this API, and recursive code over them would overflow the stack. */
const DEPTH_MAX = 64;
/** Bound on values: reporting a fault for each of a million tiny values takes a hundred times the size of the body. */
const VALUES_MAX = 100_000;

/**
 * Parse a body that must be one JSON object, well-formed UTF-8, at most 64 levels deep and 100,000 values large, and
 * must not hold `__proto__` or `constructor.prototype`. Lone surrogates written as escapes are accepted.
 *
 * @throws AppError 400 saying what is wrong with the bytes
 */
export function parseJsonObject(bytes: Buffer): Record<string, unknown> {
  if (!isUtf8(bytes)) throw invalidRequest('the body is not valid UTF-8', null, 'invalid_utf8');
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (error) {
    // The parser's own message would repeat what was sent.
    throw new AppError({ code: 'invalid_json', status: 400, message: 'the body is not valid JSON', cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidRequest('the body must be a JSON object', null, 'invalid_json');
  }
  refuseHostileShape(value, 1, { values: 0 });
  return value as Record<string, unknown>;
}

/** Refuse values that are nested too deep, too many, or under a forbidden key. `DEPTH_MAX` bounds the recursion. */
function refuseHostileShape(value: object, depth: number, seen: { values: number }): void {
  if (depth > DEPTH_MAX) throw invalidRequest(`the body is nested deeper than ${DEPTH_MAX} levels`);
  if (Array.isArray(value)) {
    count(value.length, seen);
    for (const item of value) {
      if (typeof item === 'object' && item !== null) refuseHostileShape(item, depth + 1, seen);
    }
    return;
  }
  const keys = Object.keys(value);
  count(keys.length, seen);
  for (const key of keys) {
    if (key === '__proto__') throw forbiddenKey(key);
    const item = (value as Record<string, unknown>)[key];
    if (typeof item !== 'object' || item === null) continue;
    if (key === 'constructor' && Object.hasOwn(item, 'prototype')) throw forbiddenKey('constructor.prototype');
    refuseHostileShape(item, depth + 1, seen);
  }
}

function count(more: number, seen: { values: number }): void {
  seen.values += more;
  if (seen.values > VALUES_MAX) throw invalidRequest(`the body holds more than ${VALUES_MAX} values`);
}

function forbiddenKey(key: string): AppError {
  return invalidRequest(`the key "${key}" is not allowed`, null, 'forbidden_key');
}
