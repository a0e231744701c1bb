import type { Logger } from '../../platform/logger.ts';
import type { ConnectionSettings } from '../../platform/source-settings.ts';
import { CONFIG_BY_TYPE, type FolderConfig, type PostgresConfig, type S3Config } from '../schema.ts';
import type { Source } from '../source-store.ts';
import { openFolderReader } from './folder-reader.ts';
import { SourceFault, type SourceReader } from './source-reader.ts';
import { openTableReader } from './table-reader.ts';

export interface ReaderContext {
  /** Places that the operator allows, by connection name. */
  readonly connections: Readonly<Record<string, ConnectionSettings>>;
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
  source: Pick<Source, 'type' | 'connection' | 'config'>,
): Promise<SourceReader> {
  const { connections, dataDir, bytesMax, logger } = context;
  const connection = Object.hasOwn(connections, source.connection) ? connections[source.connection] : undefined;
  if (connection === undefined || connection.type !== source.type) {
    throw new SourceFault(
      `the settings have no connection "${source.connection}" of type ${source.type}; restart the service after a change`,
    );
  }
  const parsed = CONFIG_BY_TYPE[connection.type].safeParse(source.config);
  if (!parsed.success) throw new SourceFault(`config: ${parsed.error.issues[0]?.message}`);
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
