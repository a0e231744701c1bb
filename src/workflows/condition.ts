import { isDeepStrictEqual } from 'node:util';

export const OPERATORS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'contains', 'exists'] as const;
export type Operator = (typeof OPERATORS)[number];

/**
 * Compare two JSON values. Order comparisons are numeric for two numbers, textual otherwise, and false if either side
 * is missing. `contains` looks for a text in a text, an item in a list, or a key in an object.
 */
export function test(left: unknown, op: Operator, right: unknown): boolean {
  switch (op) {
    case 'eq':
      return isDeepStrictEqual(left, right);
    case 'ne':
      return !isDeepStrictEqual(left, right);
    case 'exists':
      return left !== null && left !== undefined;
    case 'contains':
      return contains(left, right);
    default:
      return isInOrder(left, op, right);
  }
}

function isScalar(value: unknown): value is string | number | boolean {
  return value !== null && value !== undefined && typeof value !== 'object';
}

function contains(left: unknown, right: unknown): boolean {
  if (typeof left === 'string') return isScalar(right) && left.includes(String(right));
  if (Array.isArray(left)) return left.some((item) => isDeepStrictEqual(item, right));
  return typeof left === 'object' && left !== null && isScalar(right) && Object.hasOwn(left, String(right));
}

function isInOrder(left: unknown, op: 'gt' | 'gte' | 'lt' | 'lte', right: unknown): boolean {
  if (!isScalar(left) || !isScalar(right)) return false;
  const areNumbers = typeof left === 'number' && typeof right === 'number';
  const [a, b] = areNumbers ? [left, right] : [String(left), String(right)];
  if (op === 'gt') return a > b;
  if (op === 'gte') return a >= b;
  return op === 'lt' ? a < b : a <= b;
}

/** Return true if a value lets a block run: anything except false, null, 0, "" and "false". */
export function isTrue(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() !== '' && value.trim() !== 'false';
  return value !== null && value !== undefined && value !== false && value !== 0;
}
