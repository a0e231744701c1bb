type Serialize = (value: unknown) => unknown;
type Parse = (text: string) => unknown;

/** Options of postgres.js that convert values, by type OID. */
export interface TypeOptions {
  readonly parsers: Record<number, Parse>;
  readonly serializers: Record<number, Serialize>;
  readonly shared: { readonly typeArrayMap: Record<number, number> };
}

/** Map of element types to array types: OIDs of built-in types, fixed in every PostgreSQL (its pg_type.dat). */
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

/**
 * Add the array types to postgres.js. It would query the server for them at every connection; a connection that is lost
 * during that query causes a rejection that cannot be caught, which ends the process.
 */
export function addArrayTypes(options: TypeOptions): void {
  for (const [key, array] of Object.entries(ARRAYS)) {
    const element = Number(key);
    const parse = options.parsers[element] ?? ((text: string) => text);
    const serialize = options.serializers[element] ?? String;
    options.parsers[array] = (text) => parseArray(text, parse);
    options.serializers[array] = (value) => serializeArray(value, serialize, !JSON_OIDS.has(element));
    options.shared.typeArrayMap[element] = array;
  }
}

/** Read an array literal (PostgreSQL manual, "Array Input and Output Syntax"): `{1,"a, b",NULL,{…}}`. */
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
