import { AppError } from '../../../platform/errors.ts';
import { mapPostgresError, openPostgres, type Sql } from '../../../platform/postgres.ts';
import type { Secret } from '../../../platform/secret.ts';
import { SourceFault } from '../source-reader.ts';
import * as store from './postgres-table-store.ts';
import type { TableDatabase } from './table-database.ts';

const TIME_TYPES = /^(date|timestamp)/;

/** Open a PostgreSQL database. @param ownIdentity identity of the service's own database, which no source may read */
export function openPostgresTables(url: Secret, ownIdentity: () => Promise<string>): TableDatabase {
  const sql = openPostgres({ url }, { poolMax: 2, applicationName: 'service/source' });
  return {
    describe: (name) =>
      asFault(async () => {
        await checkConnection(sql, ownIdentity);
        return store.readOnly(sql, (tx) => store.describeTable(tx, name));
      }),
    isTime: (type) => TIME_TYPES.test(type),
    list: (query, after, limit) => asFault(() => store.readOnly(sql, (tx) => store.listRows(tx, query, after, limit))),
    read: (query, keys, bytesMax) =>
      asFault(() => store.readOnly(sql, (tx) => store.readRows(tx, query, keys, bytesMax))),
    close: () => sql.end({ timeout: 1 }),
  };
}

async function checkConnection(sql: Sql, ownIdentity: () => Promise<string>): Promise<void> {
  const { identity, isSuperuser } = await store.describeConnection(sql);
  if (isSuperuser)
    throw new SourceFault('source_refused', 'the connection logs in as a superuser; give it a role that may only read');
  if (identity === (await ownIdentity()))
    throw new SourceFault('source_refused', "the connection leads to the service's own database");
}

/** SQLSTATE codes for a configured name or privilege that no longer exists. */
const GONE = new Set(['42P01', '42703', '42501', '3F000', '42883']);

async function asFault<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
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
