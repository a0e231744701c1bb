import { open } from 'node:fs/promises';
import { invalidRequest } from '../../platform/errors.ts';
import { type Columns, chooseColumns, describeColumns, rowOf } from './choose-columns.ts';
import { linesOf } from './json-rows.ts';
import type { OldIndex, OldIndexOptions, OldRow } from './old-row.ts';

// COPY in the text format: https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.55.9.2

/** `COPY public.items (id, embedding) FROM stdin;` in a plain dump. */
const COPY = /^COPY\s+(\S+)\s+\((.+)\)\s+FROM\s+stdin;/i;
/** Column identifier, possibly quoted. */
const IDENTIFIER = /"(?:[^"]|"")*"|[^,\s]+/g;
const END = '\\.';

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
}

/** Open a PostgreSQL dump: the plain format of `pg_dump`, or the output of `\copy`, whose columns the user names. */
export async function openCopyText(file: string, options: OldIndexOptions): Promise<OldIndex> {
  await refuseBinary(file);
  const table = options.columns === undefined ? await findTable(file, options) : null;
  const names = table?.columns ?? options.columns ?? [];
  const columns = chooseColumns(names, options);
  return {
    found: `${table === null ? 'COPY text' : `table ${table.name}`}: ${describeColumns(columns)}`,
    total: null,
    rows: () => readRows(file, table, names, columns),
  };
}

/** Refuse the formats of `pg_dump` that only `pg_restore` reads, and compressed files. */
async function refuseBinary(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(5), 0, 5, 0);
    const head = buffer.toString('latin1', 0, bytesRead);
    if (head === 'PGDMP') {
      throw invalidRequest(`${file} is in pg_dump's custom format; convert it: pg_restore --file=dump.sql ${file}`);
    }
    if (head.startsWith('\x1f\x8b') || head.startsWith('PK')) {
      throw invalidRequest(`${file} is compressed; unpack it first`, 'vectors');
    }
  } finally {
    await handle.close();
  }
}

/** Find the table with vectors in a dump. @throws AppError `invalid_request` (400) if there is none, or several */
async function findTable(file: string, options: OldIndexOptions): Promise<Table> {
  const tables: Table[] = [];
  let isData = false;
  for await (const line of linesOf(file)) {
    if (isData) {
      isData = line !== END;
      continue;
    }
    const table = tableOf(line);
    if (table === null) continue;
    tables.push(table);
    isData = true;
  }
  const fits =
    options.table === undefined
      ? tables.filter((each) => hasVectors(each, options))
      : tables.filter((each) => isNamed(each, options.table as string));
  const [first] = fits;
  if (first !== undefined && fits.length === 1) return first;
  const names = tables.map(({ name }) => name).join(', ');
  if (tables.length === 0) {
    throw invalidRequest(
      `${file} has no "COPY … FROM stdin" with data; make a plain dump (pg_dump --data-only), or name the columns of a \\copy output with --columns`,
      'vectors',
    );
  }
  if (fits.length > 1) throw invalidRequest(`${file} has several tables; name one with --table: ${names}`, 'table');
  if (options.table !== undefined) throw invalidRequest(`--table: ${file} has the tables ${names}`, 'table');
  throw invalidRequest(
    `cannot recognise a column of vectors in a table of ${file}; name it with --vector-column`,
    'vector-column',
  );
}

function tableOf(line: string): Table | null {
  const [, name = '', columns = ''] = COPY.exec(line) ?? [];
  return name === '' ? null : { name, columns: (columns.match(IDENTIFIER) ?? []).map(unquoted) };
}

/** Remove the quotes of an identifier. */
function unquoted(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name;
}

function isNamed({ name }: Table, asked: string): boolean {
  return name === asked || name.endsWith(`.${asked}`);
}

function hasVectors({ columns }: Table, options: OldIndexOptions): boolean {
  try {
    return chooseColumns(columns, options).vector !== null;
  } catch {
    return false;
  }
}

async function* readRows(
  file: string,
  table: Table | null,
  names: readonly string[],
  columns: Columns,
): AsyncGenerator<OldRow> {
  const places = new Map(names.map((name, at) => [name, at]));
  let isData = table === null;
  let number = 0;
  for await (const line of linesOf(file)) {
    number++;
    if (!isData) {
      isData = table !== null && tableOf(line)?.name === table.name;
      continue;
    }
    if (line === END) {
      if (table === null) return;
      isData = false;
      continue;
    }
    if (table === null && line === '') continue;
    const fields = line.split('\t');
    if (fields.length !== names.length) {
      throw invalidRequest(
        `${file}, line ${number}: has ${fields.length} columns in place of ${names.length}`,
        'vectors',
      );
    }
    const read = (column: string) => valueOfField(fields[places.get(column) as number] as string);
    yield rowOf(columns, read, { file, place: `line ${number}` });
  }
}

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** Decode a field of COPY text; null for `\N`. */
function valueOfField(field: string): string | null {
  if (field === '\\N') return null;
  if (!field.includes('\\')) return field;
  return field.replace(
    /\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|(.))/gs,
    (_, hex?: string, octal?: string, other = '') => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      return ESCAPES[other] ?? other;
    },
  );
}
