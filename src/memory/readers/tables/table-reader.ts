import { fileNameOf } from '../../../platform/printable.ts';
import { parseRowTemplate, type RowTemplate } from '../../template.ts';
import {
  type EntryFault,
  type ListedEntry,
  longKeyFault,
  type ReadEntry,
  SourceFault,
  type SourceReader,
  tooLargeFault,
} from '../source-reader.ts';
import { readReaders } from './read-readers.ts';
import type { Column, ListedRow, RowQuery, TableDatabase, TableRow } from './table-database.ts';

const PAGE_ROWS = 1_000;
/** Maximum length of a metadata value, which holds the key of a row. */
const KEY_CHARS_MAX = 512;
/** Maximum size of a row as text. A page of rows is held in memory. */
const ROW_BYTES_MAX = 16 * 1024 * 1024;

export interface TableConfig {
  readonly schema: string;
  readonly table: string;
  readonly key?: readonly string[] | undefined;
  readonly text: string;
  readonly title?: string | undefined;
  readonly updated_at?: string | undefined;
  readonly event_time?: string | undefined;
  readonly readers?: string | undefined;
  readonly where?: Readonly<Record<string, string | number | boolean>> | undefined;
}

/**
 * Open a table or view as a source. Each row is an entry, whose version is its hash or an update column.
 *
 * @param kind value of the metadata `source_kind`
 */
export function openTableReader(database: TableDatabase, kind: string, config: TableConfig): SourceReader {
  const template = parseRowTemplate(config.text);
  if ('fault' in template) throw new SourceFault('source_settings', `text: ${template.fault}`);
  let prepared: Promise<RowQuery> | null = null;
  const prepare = (signal: AbortSignal) => {
    prepared ??= prepareQuery(database, config, template, signal);
    return prepared;
  };
  return {
    async *list(signal) {
      const query = await prepare(signal);
      let after: readonly string[] | null = null;
      for (;;) {
        signal.throwIfAborted();
        const rows: readonly ListedRow[] = await database.list(query, after, PAGE_ROWS, signal);
        yield toListing(rows, config);
        after = rows.at(-1)?.key ?? null;
        if (rows.length < PAGE_ROWS) return;
      }
    },
    async read(entries, signal) {
      signal.throwIfAborted();
      const query = await prepare(signal);
      const keys = entries.map((entry) => JSON.parse(entry.key) as string[]);
      const rows = await database.read(query, keys, ROW_BYTES_MAX, signal);
      return rows.map((row) => toEntry(row, kind, query, config, template));
    },
    close: () => database.close(),
  };
}

/** Check the connection and resolve the configured names. @throws SourceFault */
async function prepareQuery(
  database: TableDatabase,
  config: TableConfig,
  template: RowTemplate,
  signal: AbortSignal,
): Promise<RowQuery> {
  const { schema, table } = config;
  const found = await database.describe(config, signal);
  if (found === null) throw new SourceFault('source_missing', `there is no table or view ${schema}.${table}`);
  if (!found.isReadable)
    throw new SourceFault('source_refused', `the role of the connection may not read ${schema}.${table}`);
  const typeOf = (name: string): Column => {
    const column = found.columns.find((each) => each.name === name);
    if (column === undefined) throw new SourceFault('source_missing', `${schema}.${table} has no column ${name}`);
    return column;
  };
  const key = config.key ?? found.primaryKey;
  if (key.length === 0) {
    throw new SourceFault(
      'source_settings',
      `${schema}.${table} has no primary key; name columns that identify a row in config.key`,
    );
  }
  const named = [config.title, config.readers].filter((name) => name !== undefined);
  for (const name of [...template.columns, ...named, config.updated_at]) if (name !== undefined) typeOf(name);
  const where = Object.entries(config.where ?? {}).map(([name, value]) => ({ ...typeOf(name), value: String(value) }));
  if (config.event_time !== undefined && !database.isTime(typeOf(config.event_time).type)) {
    throw new SourceFault('source_settings', `the column ${config.event_time} is not a date or timestamp`);
  }
  return {
    schema,
    table,
    key: key.map(typeOf),
    columns: [...new Set([...template.columns, ...named])],
    updatedAt: config.updated_at ?? null,
    eventTime: config.event_time ?? null,
    where,
  };
}

/** Return the version of a row. Enabling the import of readers makes all rows new. */
function versionOf({ version }: { readonly version: string }, { readers }: TableConfig): string {
  return readers === undefined ? version : `${version} ${readers}`;
}

function toListing(rows: readonly ListedRow[], config: TableConfig): { entries: ListedEntry[]; faults: EntryFault[] } {
  const entries: ListedEntry[] = [];
  const faults: EntryFault[] = [];
  for (const row of rows) {
    const { key, sizeBytes } = row;
    const name = JSON.stringify(key);
    const fault = pkOf(key).length > KEY_CHARS_MAX ? keyFault(name) : longKeyFault(name);
    if (fault === null) entries.push({ key: name, version: versionOf(row, config), sizeBytes });
    else faults.push(fault);
  }
  return { entries, faults };
}

function keyFault(name: string): EntryFault {
  return { key: `${name.slice(0, 80)}…`, fault: `its key is longer than ${KEY_CHARS_MAX} characters` };
}

/** Render a primary key as text: its only value, or else a JSON list. */
function pkOf(key: readonly string[]): string {
  const [only] = key;
  return key.length === 1 && only !== undefined ? only : JSON.stringify(key);
}

function toEntry(
  row: TableRow,
  kind: string,
  { schema, table }: RowQuery,
  config: TableConfig,
  template: RowTemplate,
): ReadEntry | EntryFault {
  const key = JSON.stringify(row.key);
  if (row.values === null) {
    return tooLargeFault(`row ${pkOf(row.key)}`, row.sizeBytes, ROW_BYTES_MAX) ?? { key, fault: 'it is too large' };
  }
  const text = template.render(row.values);
  const title = config.title === undefined ? null : row.values[config.title];
  const pk = pkOf(row.key);
  const name = fileNameOf(title?.trim() || `${table}-${pk}`).slice(0, 240);
  return {
    key,
    version: versionOf(row, config),
    fileName: `${name.toWellFormed()}.txt`,
    contentType: 'text/plain',
    content: text.trim() === '' ? null : { bytes: Buffer.from(text, 'utf8') },
    sourcePath: null,
    metadata: {
      source_kind: kind,
      source_schema: schema,
      source_table: table,
      source_pk: pk,
      source_row_id: pk,
      'schift.source_schema': schema,
      'schift.source_table': table,
      'schift.source_pk': pk,
    },
    eventTimeMs: row.eventTimeMs,
    ...(config.readers === undefined ? {} : { readers: readReaders(row.values[config.readers] ?? null) }),
  };
}
