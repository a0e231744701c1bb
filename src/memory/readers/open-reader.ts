import type { Logger } from '../../platform/logger.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { ConnectionSettings } from '../../platform/source-settings.ts';
import { type Connections, findConnection } from '../connections.ts';
import { copiesFolder } from '../remove-copies.ts';
import type { SourceType } from '../schema.ts';
import type { Source } from '../source-store.ts';
import { CONFIG_BY_TYPE, type ConfigOf } from './configs.ts';
import { openFolderReader } from './folder-reader.ts';
import { type ReaderState, SourceFault, type SourceReader } from './source-reader.ts';
import { openTableReader } from './tables/table-reader.ts';

export interface ReaderContext {
  readonly sql: Sql;
  /** Connections that the operator allows. */
  readonly connections: Connections;
  readonly dataDir: string;
  /** Maximum document size in bytes. */
  readonly bytesMax: number;
  readonly logger: Logger;
  /** Identity of the service's own database. */
  readonly ownIdentity: () => Promise<string>;
}

type ConnectionOf<T extends SourceType> = Extract<ConnectionSettings, { readonly type: T }>;

/** Context for opening a reader, besides its connection and config. */
interface Opening extends ReaderContext {
  /** Source id; null to preview a source that isn't connected. */
  readonly sourceId: string | null;
  readonly state: ReaderState;
}

/** Function that opens the sources of each type. Readers with large libraries load on first use. */
const OPEN: {
  readonly [T in SourceType]: (
    connection: ConnectionOf<T>,
    config: ConfigOf<T>,
    opening: Opening,
  ) => SourceReader | Promise<SourceReader>;
} = {
  folder: ({ root }, { path, ...globs }, { dataDir, bytesMax }) =>
    openFolderReader({ root, path, globs, dataDir, bytesMax }),
  async s3({ s3 }, { prefix, ...globs }, { bytesMax, logger }) {
    const { openS3Reader } = await import('./s3-reader.ts');
    return openS3Reader({ s3, prefix: s3.prefix + prefix, globs, bytesMax, logger });
  },
  async postgres({ url }, config, { ownIdentity }) {
    const { openPostgresTables } = await import('./tables/postgres-tables.ts');
    return openTableReader(openPostgresTables(url, ownIdentity), 'postgres', config);
  },
  async mysql({ mysql }, config) {
    const { openMysqlTables } = await import('./tables/mysql-tables.ts');
    return openTableReader(openMysqlTables(mysql), 'mysql', { schema: mysql.database, ...config });
  },
  async confluence({ confluence }, config) {
    const { openConfluenceReader } = await import('./cloud/confluence-reader.ts');
    return openConfluenceReader(confluence, config);
  },
  async notion({ notion }) {
    const { openNotionReader } = await import('./cloud/notion-reader.ts');
    return openNotionReader(notion);
  },
  async gdrive({ gdrive }, config, { bytesMax }) {
    const { openGoogleDriveReader } = await import('./cloud/google-drive-reader.ts');
    return openGoogleDriveReader(gdrive, config, bytesMax);
  },
  async sharepoint({ sharepoint }, config, { bytesMax }) {
    const { openSharePointReader } = await import('./cloud/sharepoint-reader.ts');
    return openSharePointReader(sharepoint, config, bytesMax);
  },
  async slack({ root }, _config, { dataDir, bytesMax }) {
    const { openSlackExportReader } = await import('./cloud/slack-export-reader.ts');
    return openSlackExportReader({ root, dataDir, bytesMax });
  },
  async sqlite({ file }, config) {
    const { openSqliteTables } = await import('./tables/sqlite-tables.ts');
    return openTableReader(openSqliteTables(file), 'sqlite', { schema: 'main', ...config });
  },
  async git({ git: connection }, config, { dataDir, sourceId, bytesMax }) {
    const { openGitReader } = await import('./git/git-reader.ts');
    return openGitReader({ connection, config, cacheDir: copiesFolder(dataDir), copy: sourceId, bytesMax });
  },
  async web({ web }, config, { bytesMax, dataDir, state }) {
    const { openWebReader } = await import('./web/web-reader.ts');
    return openWebReader({ web, config, bytesMax, dataDir, state });
  },
  async imap({ imap }, config, { bytesMax }) {
    const { openImapReader } = await import('./imap/imap-reader.ts');
    return openImapReader({ imap, ...config, bytesMax });
  },
  async webdav({ webdav }, { path, ...globs }, { bytesMax }) {
    const { openWebdavReader } = await import('./webdav/webdav-reader.ts');
    return openWebdavReader({ webdav, path, globs, bytesMax });
  },
};

/**
 * Open a source for reading.
 *
 * @param state data that the reader kept from earlier synchronisations
 * @throws SourceFault if the operator's settings no longer allow the source
 */
export async function openReader(
  context: ReaderContext,
  source: Pick<Source, 'orgId' | 'type' | 'connection' | 'config'> & { readonly id: string | null },
  state: ReaderState,
): Promise<SourceReader> {
  const { sql, connections } = context;
  const connection = await findConnection(sql, connections, source);
  if (connection === null || connection.type !== source.type) {
    throw new SourceFault(
      'source_settings',
      `the settings have no connection "${source.connection}" of type ${source.type} for this organization; restart the service after a change`,
    );
  }
  return openOf(connection.type, connection, source.config, { ...context, state, sourceId: source.id });
}

function openOf<T extends SourceType>(type: T, connection: ConnectionSettings, config: unknown, opening: Opening) {
  const parsed = CONFIG_BY_TYPE[type].safeParse(config);
  if (!parsed.success) throw new SourceFault('source_settings', `config: ${parsed.error.issues[0]?.message}`);
  return OPEN[type](connection as ConnectionOf<T>, parsed.data as ConfigOf<T>, opening);
}
