import { AppError } from '../../platform/errors.ts';
import { mapPostgresError, openPostgres, type Sql } from '../../platform/postgres.ts';
import { fileNameOf } from '../../platform/printable.ts';
import type { Secret } from '../../platform/secret.ts';
import { parseRowTemplate, type RowTemplate } from '../template.ts';
import {
  type EntryFault,
  type ListedEntry,
  longKeyFault,
  type ReadEntry,
  SourceFault,
  type SourceReader,
  tooLargeFault,
} from './source-reader.ts';
import * as store from './table-store.ts';

const PAGE_ROWS = 1_000;
/** Longest value of metadata, which holds the key of a row. */
const KEY_CHARS_MAX = 512;
/** Maximum size of a row as text. A page of rows is held in memory. */
export const ROW_BYTES_MAX = 16 * 1024 * 1024;
const TIME_TYPES = /^(date|timestamp)/;

export interface TableConfig {
  readonly schema: string;
  readonly table: string;
  readonly key?: readonly string[] | undefined;
  readonly text: string;
  readonly title?: string | undefined;
  readonly updated_at?: string | undefined;
  readonly event_time?: string | undefined;
  readonly where?: Readonly<Record<string, string | number | boolean>> | undefined;
}

export interface TableOptions {
  readonly url: Secret;
  readonly config: TableConfig;
  /** Identity of the service's own database, which no source may read. */
  readonly ownIdentity: () => Promise<string>;
}

/** Open a table or view as a source. Each row is an entry. Its hash or an update column identifies its version. */
export function openTableReader({ url, config, ownIdentity }: TableOptions): SourceReader {
  const sql = openPostgres({ url }, { poolMax: 2, applicationName: 'service/source' });
  const template = parseRowTemplate(config.text);
  if ('fault' in template) throw new SourceFault('source_settings', `text: ${template.fault}`);
  let prepared: Promise<store.RowQuery> | null = null;
  const prepare = () => {
    prepared ??= prepareQuery(sql, config, template, ownIdentity);
    return prepared;
  };
  return {
    async *list(signal) {
      const query = await asFault(prepare());
      let after: readonly string[] | null = null;
      for (;;) {
        signal.throwIfAborted();
        const last: readonly string[] | null = after;
        const page = store.readOnly(sql, (tx) => store.listRows(tx, query, last, PAGE_ROWS));
        const rows: store.ListedRow[] = await asFault(page);
        yield toListing(rows);
        after = rows.at(-1)?.key ?? null;
        if (rows.length < PAGE_ROWS) return;
      }
    },
    async read(entries, signal) {
      signal.throwIfAborted();
      const query = await asFault(prepare());
      const keys = entries.map((entry) => JSON.parse(entry.key) as string[]);
      const rows = await asFault(store.readOnly(sql, (tx) => store.readRows(tx, query, keys, ROW_BYTES_MAX)));
      return rows.map((row) => toEntry(row, query, config, template));
    },
    close: () => sql.end({ timeout: 1 }),
  };
}

/** Check the connection and resolve the configured names. @throws SourceFault */
async function prepareQuery(
  sql: Sql,
  config: TableConfig,
  template: RowTemplate,
  ownIdentity: () => Promise<string>,
): Promise<store.RowQuery> {
  const { schema, table } = config;
  const { identity, isSuperuser } = await store.describeConnection(sql);
  if (isSuperuser)
    throw new SourceFault('source_refused', 'the connection logs in as a superuser; give it a role that may only read');
  if (identity === (await ownIdentity()))
    throw new SourceFault('source_refused', "the connection leads to the service's own database");
  const found = await store.readOnly(sql, (tx) => store.describeTable(tx, config));
  if (found === null) throw new SourceFault('source_missing', `there is no table or view ${schema}.${table}`);
  if (!found.isReadable)
    throw new SourceFault('source_refused', `the role of the connection may not read ${schema}.${table}`);
  const typeOf = (name: string): store.Column => {
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
  for (const name of [...template.columns, config.title, config.updated_at]) if (name !== undefined) typeOf(name);
  const where = Object.entries(config.where ?? {}).map(([name, value]) => ({ ...typeOf(name), value: String(value) }));
  if (config.event_time !== undefined && !TIME_TYPES.test(typeOf(config.event_time).type)) {
    throw new SourceFault('source_settings', `the column ${config.event_time} is no date or timestamp`);
  }
  return {
    schema,
    table,
    key: key.map(typeOf),
    columns: [...new Set([...template.columns, ...(config.title === undefined ? [] : [config.title])])],
    updatedAt: config.updated_at ?? null,
    eventTime: config.event_time ?? null,
    where,
  };
}

function toListing(rows: readonly store.ListedRow[]): { entries: ListedEntry[]; faults: EntryFault[] } {
  const entries: ListedEntry[] = [];
  const faults: EntryFault[] = [];
  for (const { key, version, sizeBytes } of rows) {
    const name = JSON.stringify(key);
    const fault = pkOf(key).length > KEY_CHARS_MAX ? keyFault(name) : longKeyFault(name);
    if (fault === null) entries.push({ key: name, version, sizeBytes });
    else faults.push(fault);
  }
  return { entries, faults };
}

function keyFault(name: string): EntryFault {
  return { key: `${name.slice(0, 80)}…`, fault: `its key is longer than ${KEY_CHARS_MAX} characters` };
}

/** Render a primary key as text: its only value, or a JSON list. */
function pkOf(key: readonly string[]): string {
  const [only] = key;
  return key.length === 1 && only !== undefined ? only : JSON.stringify(key);
}

function toEntry(
  row: store.TableRow,
  { schema, table }: store.RowQuery,
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
    version: row.version,
    fileName: `${name.toWellFormed()}.txt`,
    contentType: 'text/plain',
    content: text.trim() === '' ? null : { bytes: Buffer.from(text, 'utf8') },
    sourcePath: null,
    metadata: {
      source_kind: 'postgres',
      source_schema: schema,
      source_table: table,
      source_pk: pk,
      source_row_id: pk,
      'schift.source_schema': schema,
      'schift.source_table': table,
      'schift.source_pk': pk,
    },
    eventTimeMs: row.eventTimeMs,
  };
}

/** SQLSTATE codes for a configured name or a right that no longer exists. */
const GONE = new Set(['42P01', '42703', '42501', '3F000', '42883']);

async function asFault<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof SourceFault) throw error;
    const code = (error as { code?: unknown }).code;
    if (typeof code === 'string' && GONE.has(code)) {
      throw new SourceFault('source_missing', `the table cannot be read any more (${(error as Error).message})`, {
        cause: error,
      });
    }
    if (code === '57014')
      throw new SourceFault('source_unavailable', 'the database took too long to answer', {
        retryable: true,
        cause: error,
      });
    const known = mapPostgresError(error);
    if (known instanceof AppError) {
      const isRefused = known.code === 'postgres_refused';
      const message = isRefused ? 'the database refuses the login of the connection' : 'the database does not answer';
      throw new SourceFault(
        isRefused ? 'source_refused' : 'source_unavailable',
        `${message}; check the connection in the settings`,
        {
          retryable: !isRefused,
          cause: error,
        },
      );
    }
    throw new SourceFault('source_unavailable', `the table cannot be read (${String(code ?? 'unknown')})`, {
      cause: error,
    });
  }
}
