import type { z } from 'zod';

const KEYS_SHOWN_MAX = 3;
const KEY_SHOWN_CHARS = 60;

type RawIssue = z.core.$ZodRawIssue;
type Issue = z.core.$ZodIssue;

/** Parse options that describe faults in plain words. Schemas with their own message keep it. */
export const PARSE_OPTIONS = { error: (issue: RawIssue) => describe(issue) };

export interface Fault {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** True if the value has the wrong type, so that nothing inside it was checked. */
  readonly isTypeFault: boolean;
}

/**
 * Choose the fault to report for a union without a match: that of the branch that parsed furthest. `["a", 3]` against
 * "string or strings" is wrong at `input[1]`, not at `input`, and a list that is too long isn't reported as "not a
 * string".
 */
export function mostTelling(issue: Issue): Fault {
  const { path, message } = issue;
  if (issue.code !== 'invalid_union') return { path, message, isTypeFault: issue.code === 'invalid_type' };
  const firsts = issue.errors.flatMap((branch) => (branch[0] ? [mostTelling(branch[0])] : []));
  const depth = Math.max(0, ...firsts.map((first) => first.path.length));
  const deepest = firsts.filter((first) => first.path.length === depth);
  const ofRightType = deepest.filter((first) => !first.isTypeFault);
  const chosen = ofRightType.length > 0 ? ofRightType : deepest;
  const [first] = chosen;
  if (first === undefined) return { path, message, isTypeFault: false };
  const messages = depth > 0 ? [first.message] : [...new Set(chosen.map((fault) => fault.message))];
  return { path: [...path, ...first.path], message: messages.join(', or '), isTypeFault: first.isTypeFault };
}

/** Render a path as `input[3].text`; null for the value as a whole. */
export function placeOf(path: readonly PropertyKey[]): string | null {
  let place = '';
  for (const key of path) {
    if (typeof key === 'number') place += `[${key}]`;
    else if (/^[A-Za-z_][\w-]*$/.test(String(key))) place += place === '' ? String(key) : `.${String(key)}`;
    else place += `[${JSON.stringify(String(key))}]`;
    if (place.length > KEY_SHOWN_CHARS * 4) return `${place.slice(0, KEY_SHOWN_CHARS * 4)}…`;
  }
  return place === '' ? null : place;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  tuple: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const UNIT: Readonly<Record<string, [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
  set: ['item', 'items'],
  file: ['byte', 'bytes'],
};

/** Describe a fault in words that fit after `path: `; undefined to keep zod's message. Never repeat values. */
function describe(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `must be ${EXPECTED[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return bound(issue.origin, issue.minimum, issue.exact, issue.inclusive ? 'at least' : 'more than');
    case 'too_big':
      return bound(issue.origin, issue.maximum, issue.exact, issue.inclusive ? 'at most' : 'less than');
    case 'invalid_value':
      return oneOf(issue.values);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return issue.format === 'regex' ? 'does not have the expected form' : `must be a valid ${issue.format}`;
    case 'invalid_key':
      return `its name ${issue.issues[0]?.message ?? 'is not allowed'}`;
    case 'unrecognized_keys':
      return `unknown field ${issue.keys
        .slice(0, KEYS_SHOWN_MAX)
        .map((key) => show(key.slice(0, KEY_SHOWN_CHARS)))
        .join(', ')}`;
    case 'invalid_union':
      // No branch of a discriminated union has this discriminator.
      if ('options' in issue && Array.isArray(issue.options) && issue.options.length > 0) return oneOf(issue.options);
      return 'has none of the accepted forms';
    default:
      return undefined;
  }
}

function oneOf(values: readonly unknown[]): string {
  return `must be ${values.length > 1 ? 'one of ' : ''}${values.map((value) => show(value)).join(', ')}`;
}

function bound(origin: string, limit: number | bigint, exact: boolean | undefined, comparison: string): string {
  const unit = UNIT[origin];
  if (unit === undefined) return `must be ${exact ? 'exactly' : comparison} ${limit}`;
  if (comparison === 'at least' && Number(limit) === 1 && !exact) return 'must not be empty';
  return `must have ${exact ? 'exactly' : comparison} ${limit} ${Number(limit) === 1 ? unit[0] : unit[1]}`;
}

function show(value: unknown): string {
  return typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? String(value));
}
