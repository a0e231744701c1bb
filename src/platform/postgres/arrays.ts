import type postgres from 'postgres';
import type { Client } from './client.ts';

type Serialize = (value: unknown) => unknown;
type Parse = (text: string) => unknown;

/** Array types by element type: OIDs of built-in types, which are the same in every PostgreSQL (its pg_type.dat). */
const ARRAYS: Readonly<Record<number, number>> = {
  16: 1000, // boolean
  17: 1001, // bytea
  20: 1016, // bigint
  21: 1005, // smallint
  23: 1007, // integer
  25: 1009, // text
  26: 1028, // oid
  114: 199, // json
  700: 1021, // real
  701: 1022, // double precision
  1043: 1015, // varchar
  1082: 1182, // date
  1114: 1115, // timestamp
  1184: 1185, // timestamptz
  1700: 1231, // numeric
  2950: 2951, // uuid
  3802: 3807, // jsonb
};
const JSON_OIDS = new Set([114, 3802]);
const [BOOLEAN, BYTEA, BIGINT, TEXT, TIMESTAMPTZ, JSONB] = [16, 17, 20, 25, 1184, 3802];

const asText: Parse = (text) => text;
const asDate: Parse = (text) => new Date(text);
const asJson: Parse = (text) => JSON.parse(text);
/** Parsers of elements by type. Elements of other types remain strings. */
const PARSERS: Readonly<Record<number, Parse>> = {
  [BOOLEAN]: (text) => text === 't',
  [BYTEA]: (text) => Buffer.from(text.slice('\\x'.length), 'hex'),
  [BIGINT]: parseInt8,
  ...Object.fromEntries([21, 23, 26, 700, 701].map((oid) => [oid, Number])),
  ...Object.fromEntries([1082, 1114, 1184].map((oid) => [oid, asDate])),
  ...Object.fromEntries([...JSON_OIDS].map((oid) => [oid, asJson])),
};

function elementText(value: unknown, isJson: boolean): string {
  if (isJson) return JSON.stringify(value);
  if (value instanceof Date) return value.toISOString();
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : String(value);
}

/**
 * Types for postgres.js: `bigint`, and arrays of built-in types. By default, postgres.js queries the server for the
 * array types on every connection. Losing the connection during that query causes a rejection that can't be caught and
 * ends the process.
 */
export const TYPES: Record<string, postgres.PostgresType> = {
  int8: { to: BIGINT, from: [BIGINT], serialize: String, parse: parseInt8 },
  ...Object.fromEntries(
    Object.entries(ARRAYS).map(([key, array]) => {
      const element = Number(key);
      const isJson = JSON_OIDS.has(element);
      const parse = PARSERS[element] ?? asText;
      const serialize: Serialize = (value) => serializeArray(value, (item) => elementText(item, isJson), !isJson);
      return [
        `array${element}`,
        { to: array, from: [array], serialize, parse: (text: string) => parseArray(text, parse) },
      ];
    }),
  ),
};

/** Parse a `bigint`: a number if that is exact, else a BigInt. */
function parseInt8(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

/** Parameter with its PostgreSQL type. */
export class Parameter {
  readonly value: unknown;
  readonly type: number;

  constructor(value: unknown, type: number) {
    this.value = value;
    this.type = type;
  }
}

export function jsonParameter(value: unknown): Parameter {
  return new Parameter(value, JSONB);
}

/** @param element OID of the element type; by default that of the first element */
export function arrayParameter(values: readonly unknown[], element?: number): Parameter {
  return new Parameter(values, ARRAYS[element ?? elementTypeOf(values)] ?? 0);
}

function elementTypeOf(values: readonly unknown[]): number {
  const [first] = values;
  if (Array.isArray(first)) return elementTypeOf(first);
  if (first instanceof Date) return TIMESTAMPTZ;
  if (first instanceof Uint8Array) return BYTEA;
  if (typeof first === 'boolean') return BOOLEAN;
  if (typeof first === 'bigint') return BIGINT;
  return values.length === 0 ? 0 : TEXT;
}

/** Convert a value to a parameter of postgres.js. */
export function toTyped(client: Client, value: unknown): unknown {
  return value instanceof Parameter ? client.typed(value.value, value.type) : value;
}

/** Parse an array literal (PostgreSQL manual, "Array Input and Output Syntax"): `{1,"a, b",NULL,{…}}`. */
function parseArray(text: string, parse: Parse): unknown[] {
  let at = text.indexOf('{') + 1; // bounds that do not start at 1 precede the brace: `[0:1]={…}`
  const readItems = (): unknown[] => {
    const items: unknown[] = [];
    for (;;) {
      const start = text[at];
      if (start === '{') {
        at++;
        items.push(readItems());
      } else if (start === '"') {
        items.push(parse(readQuoted()));
      } else if (start !== '}') {
        let end = at;
        while (end < text.length && text[end] !== ',' && text[end] !== '}') end++;
        const item = text.slice(at, end);
        items.push(item === 'NULL' ? null : parse(item));
        at = end;
      }
      if (text[at++] !== ',') return items;
    }
  };
  const readQuoted = (): string => {
    const quoted = /"((?:[^"\\]|\\.)*)"/sy;
    quoted.lastIndex = at;
    const body = quoted.exec(text)?.[1] ?? '';
    at = quoted.lastIndex;
    return body.replace(/\\(.)/gs, '$1');
  };
  return readItems();
}

function serializeArray(value: unknown, serialize: Serialize, nests: boolean): unknown {
  if (!Array.isArray(value)) return value; // a literal
  const items = value.map((item: unknown) => {
    if (item === undefined) throw new TypeError('undefined cannot be an element of an array; pass null');
    if (item === null) return 'NULL';
    if (nests && Array.isArray(item)) return serializeArray(item, serialize, nests);
    return `"${String(serialize(item)).replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${items.join(',')}}`;
}
