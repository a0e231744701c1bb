import { DECIMAL_TEXT } from '../../documents/decimal-text.ts';
import type { Filter, Scalar } from './filter.ts';
import { FILTER_COLUMNS, type FilterColumn } from './filter-keys.ts';

/** Document fields that a filter may name. */
export type FilteredFields = Readonly<Record<FilterColumn, string | null>> & {
  readonly metadata: Readonly<Record<string, string>>;
};

const NUMBER = new RegExp(DECIMAL_TEXT);
/** Maximum number of digits up to which floating-point comparison orders decimals correctly. */
const EXACT_DIGITS = 15;

/** Count the conditions of a filter. Each may be compared with every document. */
export function countConditions(filter: Filter): number {
  return 'filters' in filter ? filter.filters.reduce((sum, part) => sum + countConditions(part), 0) : 1;
}

/** Build a predicate that selects the same documents as `filterSql`. */
export function matcherOf(filter: Filter): (document: FilteredFields) => boolean {
  switch (filter.type) {
    case 'and': {
      const parts = filter.filters.map(matcherOf);
      return (document) => parts.every((matches) => matches(document));
    }
    case 'or': {
      const parts = filter.filters.map(matcherOf);
      return (document) => parts.some((matches) => matches(document));
    }
    case 'in':
    case 'nin': {
      const values = new Set(filter.value.map(String));
      const isIn = filter.type === 'in';
      return testOf(filter.key, (field) => field !== null && values.has(field) === isIn);
    }
    case 'eq':
    case 'ne': {
      const value = String(filter.value);
      const isEqual = filter.type === 'eq';
      return testOf(filter.key, (field) => field !== null && (field === value) === isEqual);
    }
    case 'contains':
    case 'ncontains':
    case 'starts_with':
    case 'ends_with': {
      const { value } = filter;
      const holds = TEXT_TESTS[filter.type];
      return testOf(filter.key, (field) => field !== null && holds(field, value));
    }
    case 'exists':
      return testOf(filter.key, (field) => field !== null && field !== '');
    case 'missing':
      return testOf(filter.key, (field) => field === null || field === '');
    default: {
      const holds = { gt: isAbove, gte: isAtLeast, lt: isBelow, lte: isAtMost }[filter.type];
      const order = orderTo(filter.value);
      return testOf(filter.key, (field) => {
        return field !== null && holds(order(field));
      });
    }
  }
}

const TEXT_TESTS = {
  contains: (field: string, value: string) => field.includes(value),
  ncontains: (field: string, value: string) => !field.includes(value),
  starts_with: (field: string, value: string) => field.startsWith(value),
  ends_with: (field: string, value: string) => field.endsWith(value),
};

const isAbove = (order: number) => order > 0;
const isAtLeast = (order: number) => order >= 0;
const isBelow = (order: number) => order < 0;
const isAtMost = (order: number) => order <= 0;

function testOf(key: string, test: (field: string | null) => boolean): (document: FilteredFields) => boolean {
  if (FILTER_COLUMNS.has(key)) return (document) => test(document[key as FilterColumn]);
  return ({ metadata }) => test(Object.hasOwn(metadata, key) ? (metadata[key] as string) : null);
}

/**
 * Build a function that compares a field with a value: as numbers if both are numbers, otherwise as text. Its result is
 * negative, zero or positive.
 */
function orderTo(value: Scalar): (field: string) => number {
  const bytes = Buffer.from(String(value));
  const byText = (field: string) => Buffer.compare(Buffer.from(field), bytes);
  if (typeof value === 'number') {
    const isShort = isExact(String(value));
    return (field) => {
      if (!NUMBER.test(field)) return byText(field);
      if (isShort && isExact(field)) return Number(field) - value;
      return compareDecimals(field, String(value));
    };
  }
  return byText;
}

function isExact(number: string): boolean {
  return number.length <= EXACT_DIGITS;
}

/** Compare decimal numbers of any length. */
function compareDecimals(a: string, b: string): number {
  const [left, right] = [parseDecimal(a), parseDecimal(b)];
  const exponent = Math.min(left.exponent, right.exponent);
  const scaled = ({ digits, exponent: own }: Decimal) => digits * 10n ** BigInt(own - exponent);
  const difference = scaled(left) - scaled(right);
  return difference === 0n ? 0 : difference > 0n ? 1 : -1;
}

/** Number `digits` x 10 ^ `exponent`. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

function parseDecimal(text: string): Decimal {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}
