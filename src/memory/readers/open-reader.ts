import type { Logger } from '../../platform/logger.ts';
import type { Sql } from '../../platform/postgres.ts';
import { type Connections, findConnection } from '../connections.ts';
import { CONFIG_BY_TYPE, type FolderConfig, type PostgresConfig, type S3Config } from '../schema.ts';
import type { Source } from '../source-store.ts';
import { openFolderReader } from './folder-reader.ts';
import { SourceFault, type SourceReader } from './source-reader.ts';
import { openTableReader } from './table-reader.ts';

export interface ReaderContext {
  readonly sql: Sql;
  /** Places that the operator allows. */
  readonly connections: Connections;
  readonly dataDir: string;
  /** Maximum size of a document. */
  readonly bytesMax: number;
  readonly logger: Logger;
  /** Identity of the service's own database. */
  readonly ownIdentity: () => Promise<string>;
}

/** Open a source for reading. @throws SourceFault if the operator's settings no longer allow it */
export async function openReader(
  context: ReaderContext,
  source: Pick<Source, 'orgId' | 'type' | 'connection' | 'config'>,
): Promise<SourceReader> {
  const { sql, connections, dataDir, bytesMax, logger } = context;
  const connection = await findConnection(sql, connections, source);
  if (connection === null || connection.type !== source.type) {
    throw new SourceFault(
      'source_settings',
      `the settings have no connection "${source.connection}" of type ${source.type} for this organization; restart the service after a change`,
    );
  }
  const parsed = CONFIG_BY_TYPE[connection.type].safeParse(source.config);
  if (!parsed.success) throw new SourceFault('source_settings', `config: ${parsed.error.issues[0]?.message}`);
  if (connection.type === 'folder') {
    const { path, ...globs } = parsed.data as FolderConfig;
    return openFolderReader({ root: connection.root, path, globs, dataDir, bytesMax });
  }
  if (connection.type === 's3') {
    const { prefix, ...globs } = parsed.data as S3Config;
    const { openS3Reader } = await import('./s3-reader.ts'); // the SDK takes a while to load
    return openS3Reader({ s3: connection.s3, prefix: connection.s3.prefix + prefix, globs, bytesMax, logger });
  }
  const { url } = connection;
  return openTableReader({ url, config: parsed.data as PostgresConfig, ownIdentity: context.ownIdentity });
}
