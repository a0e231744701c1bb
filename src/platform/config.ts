import { statSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { answerConfigOf, answerSettings } from './answer-settings.ts';
import { backupConfigOf, backupSettings } from './backup-settings.ts';
import { channelConfigOf, channelSettings } from './channel-settings.ts';
import { consoleConfigOf, consoleSettings } from './console-settings.ts';
import { processEnvironment } from './environment.ts';
import { invalidSettings } from './errors.ts';
import { localModelSettings, localModelsConfigOf } from './local-model-settings.ts';
import { isNetwork } from './networks.ts';
import { integerSetting, numberSetting } from './number-settings.ts';
import { oidcConfigOf, oidcSettings } from './oidc-settings.ts';
import { CREDENTIALS_ENCODED } from './percent-encoding.ts';
import { projectionConfigOf, projectionSettings } from './projection-settings.ts';
import { embeddingConfigOf, embeddingSettings } from './provider-settings.ts';
import { redisConfigOf, redisFaults, redisSettings } from './redis-settings.ts';
import { searchConfigOf, searchSettings } from './search-settings.ts';
import { Secret } from './secret.ts';
import { serverConfigOf, serverSettings } from './server-settings.ts';
import { describeFaults } from './settings-faults.ts';
import { collectSettings, isSetInFile, type LoadOptions, type SettingSource, sourceOf } from './settings-layers.ts';
import { isTree, type Tree } from './settings-tree.ts';
import { signInConfigOf, signInSettings } from './sign-in-settings.ts';
import { sourceFaults, sourceSettings, sourcesConfigOf } from './source-settings.ts';
import { storageConfigOf, storageFaults, storageSettings } from './storage-settings.ts';
import { tlsConfigOf, tlsFaults, tlsSettings } from './tls-settings.ts';
import { tracingConfigOf, tracingSettings } from './tracing-settings.ts';
import { warnOfDoubledPaths } from './vendor-settings.ts';
import { webhookConfigOf, webhookSettings } from './webhook-settings.ts';
import { PARSE_OPTIONS } from './zod-faults.ts';

const MIB = 1024 * 1024;
/** First file descriptor that systemd passes to a process; see sd_listen_fds(3). */
const FIRST_INHERITED_FD = 3;

const postgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, 'must be the URL of a PostgreSQL database: postgres://user:password@host:5432/database')
  .refine(...CREDENTIALS_ENCODED)
  .transform((value) => new Secret(value));

/** Schema of `service.yaml`. Unknown settings are faults, so that a typo is never silently ignored. */
export const ConfigFile = z.strictObject({
  data_dir: z
    .string()
    .min(1)
    .describe(
      'folder where the installation keeps its data (default: /var/lib/service for root, else ~/.local/share/service)',
    ),
  host: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('address to listen on; all addresses (::) by default with tls.domain'),
  port: z.coerce
    .number()
    .int()
    .min(0)
    .max(65535)
    .default(8080)
    .describe('port to listen on; 0 picks a free one; 443 by default with TLS'),
  base_url: z
    .url()
    .optional()
    .describe('public address of the service, for links in responses (default: that of the request)'),
  log_level: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('lowest level of log lines'),
  database_url: postgresUrl
    .optional()
    .describe(
      'address of a PostgreSQL server, version 15 or later (default: the service runs its own in the data directory)',
    ),
  database_direct_url: postgresUrl
    .optional()
    .describe(
      'direct address for locks and notifications, if database_url goes through a pooler (default: database_url)',
    ),
  database_replica_url: postgresUrl
    .optional()
    .describe('address of a streaming replica, from which the service reads lists, documents and usage'),
  database_replica_max_lag_seconds: numberSetting(
    { min: 2, max: 3600, default: 5 },
    'maximum lag of the replica for usage; if it lags more, the service reads from the primary',
  ),
  ...redisSettings,
  secret_key: z
    .string()
    .min(32, 'must have at least 32 characters')
    .transform((value) => new Secret(value))
    .optional()
    .describe(
      'key from which all other keys are derived; must be equal on every host (default: secret.key in the data directory)',
    ),
  cron_secret: z
    .string()
    .min(16, 'must have at least 16 characters')
    .transform((value) => new Secret(value))
    .optional()
    .describe('secret with which a scheduler authenticates its calls'),
  trust_proxy: z
    .array(z.string().refine(isNetwork, 'must be an address or a network, such as 127.0.0.1 or 10.0.0.0/8'), {
      error: 'must list the addresses of your proxies, such as [127.0.0.1, 10.0.0.0/8]',
    })
    .default([])
    .describe('addresses and networks of your proxies; the service trusts their X-Forwarded headers'),
  ...oidcSettings,
  ...storageSettings,
  ...embeddingSettings,
  ...answerSettings,
  ...channelSettings,
  ...backupSettings,
  ...projectionSettings,
  ...sourceSettings,
  ...consoleSettings,
  ...signInSettings,
  ...searchSettings,
  ...serverSettings,
  ...tlsSettings,
  ...tracingSettings,
  ...localModelSettings,
  ...webhookSettings,
  embeddings: z
    .strictObject({
      base64: z
        .enum(['auto', 'always', 'never'])
        .default('auto')
        .describe(
          'use of base64 for vectors in responses: auto (if the client asks for it and is not known to read lists), always or never',
        ),
      deadline_seconds: numberSetting({ above: 0, max: 600, default: 30 }, 'time limit of a request'),
      image_deadline_seconds: numberSetting({ above: 0, max: 600, default: 90 }, 'time limit of a request with images'),
      cache_bytes: integerSetting({ min: 0, default: 128 * MIB }, 'memory for the cache of vectors; 0 turns it off'),
      built_in: z
        .enum(['semantic', 'lexical'])
        .optional()
        .describe(
          'built-in model to use without a vendor; semantic matches meanings, lexical matches words (default: semantic; lexical in installations of earlier versions and on hosts with less than 3 GB of memory)',
        ),
    })
    .prefault({})
    .describe('requests for embeddings'),
  limits: z
    .strictObject({
      body_bytes: integerSetting({ above: 0, default: 16 * MIB }, 'largest JSON body'),
      upload_bytes: integerSetting({ above: 0, default: 512 * MIB }, 'largest uploaded file'),
      bulk_body_bytes: integerSetting({ above: 0, default: 64 * MIB }, 'largest body of a bulk embedding job'),
      image_body_bytes: integerSetting({ above: 0, default: 280 * MIB }, 'largest body with images'),
      document_memory_bytes: integerSetting(
        { min: 128 * MIB, default: 512 * MIB },
        'memory limit of the process that reads a document',
      ),
      failed_logins_per_minute: integerSetting(
        { min: 1, default: 60 },
        'number of refused credentials after which responses to an address are delayed',
      ),
      document_seconds: integerSetting({ min: 1, max: 3600, default: 60 }, 'processor time for reading a document'),
    })
    .prefault({})
    .describe('limits of requests and documents'),
  bulk: z
    .strictObject({
      calls_in_flight: integerSetting(
        { min: 1, max: 64, default: 8 },
        'maximum number of calls to a provider at the same time for one job',
      ),
      retention_days: numberSetting({ above: 0, max: 3650, default: 7 }, 'days for which results are kept'),
      retry_window_hours: numberSetting(
        { min: 0, max: 720, default: 24 },
        'hours for which a job waits for a provider that is down',
      ),
    })
    .prefault({})
    .describe('bulk embedding jobs'),
  workers: z
    .strictObject({
      embed_concurrency: integerSetting({ min: 1, max: 64, default: 2 }, 'bulk jobs and batches at the same time'),
      ingest_concurrency: integerSetting({ min: 1, max: 64, default: 12 }, 'documents at the same time'),
      lease_seconds: integerSetting(
        { min: 5, max: 3600, default: 30 },
        'time without a heartbeat after which a worker loses its job',
      ),
      retries_max: integerSetting({ min: 0, max: 100, default: 5 }, 'number of attempts after the first one'),
    })
    .prefault({})
    .describe('workers of jobs'),
});

const CheckedFile = ConfigFile.superRefine((file, context) => {
  for (const fault of [...storageFaults(file), ...redisFaults(file), ...sourceFaults(file), ...tlsFaults(file)])
    context.addIssue({ code: 'custom', ...fault });
  if (file.database_replica_url !== undefined && file.database_url === undefined) {
    const message = 'needs DATABASE_URL; the embedded PostgreSQL has no replica';
    context.addIssue({ code: 'custom', path: ['database_replica_url'], message });
  }
});

const ConfigSchema = CheckedFile.transform((file) => ({
  dataDir: path.resolve(file.data_dir),
  host: file.host,
  port: file.port,
  tls: tlsConfigOf(file),
  baseUrl: file.base_url ?? null,
  logLevel: file.log_level,
  databaseUrl: file.database_url ?? null,
  databaseDirectUrl: file.database_direct_url ?? file.database_url ?? null,
  /** Read replica and the maximum age of its data; null without one. */
  databaseReplica:
    file.database_replica_url === undefined
      ? null
      : { url: file.database_replica_url, maxLagMs: file.database_replica_max_lag_seconds * 1000 },
  ...redisConfigOf(file),
  secretKey: file.secret_key ?? null,
  cronSecret: file.cron_secret ?? null,
  trustProxy: file.trust_proxy,
  oidc: oidcConfigOf(file),
  ...storageConfigOf(file),
  ...embeddingConfigOf(file),
  ...answerConfigOf(file),
  channels: channelConfigOf(file),
  ...backupConfigOf(file),
  projections: projectionConfigOf(file),
  ...sourcesConfigOf(file),
  console: consoleConfigOf(file),
  ...signInConfigOf(file),
  ...searchConfigOf(file),
  ...serverConfigOf(file),
  ...tracingConfigOf(file),
  localModels: localModelsConfigOf(file),
  ...webhookConfigOf(file),
  embeddings: {
    base64: file.embeddings.base64,
    deadlineMs: file.embeddings.deadline_seconds * 1000,
    imageDeadlineMs: file.embeddings.image_deadline_seconds * 1000,
    cacheBytes: file.embeddings.cache_bytes,
    builtIn: file.embeddings.built_in ?? null,
  },
  limits: {
    bodyBytes: file.limits.body_bytes,
    uploadBytes: file.limits.upload_bytes,
    bulkBodyBytes: file.limits.bulk_body_bytes,
    imageBodyBytes: file.limits.image_body_bytes,
    documentMemoryBytes: file.limits.document_memory_bytes,
    documentMs: file.limits.document_seconds * 1000,
    failedLoginsPerMinute: file.limits.failed_logins_per_minute,
  },
  bulk: {
    callsInFlight: file.bulk.calls_in_flight,
    retentionMs: file.bulk.retention_days * 24 * 3_600_000,
    retryWindowMs: file.bulk.retry_window_hours * 3_600_000,
  },
  workers: {
    embedConcurrency: file.workers.embed_concurrency,
    ingestConcurrency: file.workers.ingest_concurrency,
    leaseMs: file.workers.lease_seconds * 1000,
    retriesMax: file.workers.retries_max,
  },
}));

/** Effective settings of this process: validated, with units in names, frozen. */
export type Config = z.output<typeof ConfigSchema> & {
  /** Warnings about settings that work but should be changed. */
  readonly warnings: readonly string[];
  /** Messages about providers that were left out because a variable is not set. */
  readonly omissions: readonly string[];
};

/**
 * Read the settings: defaults, then `service.yaml` (`SERVICE_CONFIG`, else `<data dir>/service.yaml` if it
 * exists), then the environment, then `overrides` (command-line flags, with the keys of the file).
 * `${NAME}` in the file is replaced by the environment variable.
 * @throws AppError `config_invalid` with one line per fault; the message never contains secrets or values of variables
 */
export function loadConfig(options: LoadOptions = {}): Config {
  const settings = collectSettings(options);
  const { tree, faults, file, text } = settings;
  const parsed = ConfigSchema.safeParse(tree, PARSE_OPTIONS);
  // A setting that can't be read is missing from the result. Don't report it again as missing.
  if (!parsed.success && faults.length === 0) {
    const isFromFile = (keys: readonly string[]) => isSetInFile(settings, keys);
    faults.push(...describeFaults(parsed.error.issues, { schema: ConfigFile, text, isFromFile }));
  }
  if (faults.length > 0 || !parsed.success) throw invalidSettings(faults);
  const warnings = [...warningsOf(file), ...warnOfDoubledPaths(parsed.data.providers)];
  return deepFreeze({ ...parsed.data, warnings, omissions: settings.omissions });
}

/** Warn if every user of this machine can read the file, which may hold API keys and passwords. */
function warningsOf(file: string): string[] {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
  // File modes mean nothing on Windows.
  if (process.platform === 'win32' || (mode & 0o004) === 0) return [];
  return [`${file} can be read by every user of this machine; close it by: chmod o-rwx ${file}`];
}

/** Setting in force, with its name in service.yaml (`limits.body_bytes`) and its origin. A value of null is not set. */
export interface EffectiveSetting {
  readonly name: string;
  readonly value: unknown;
  readonly from: SettingSource;
}

/**
 * List every setting in the form of service.yaml. Show secrets as `***`.
 * @throws AppError `config_invalid` as for `loadConfig`
 */
export function listSettings(options: LoadOptions = {}): EffectiveSetting[] {
  loadConfig(options);
  const collected = collectSettings(options);
  const settings = ConfigFile.parse(collected.tree) as Tree;
  const list: EffectiveSetting[] = [];
  const walk = (node: Tree, parents: string[], names: readonly string[]) => {
    for (const name of names) {
      const keys = [...parents, name];
      const value = node[name];
      const subtree = Array.isArray(value) ? ({ ...value } as Tree) : value;
      if (isTree(subtree) && !(subtree instanceof Secret) && Object.keys(subtree).length > 0) {
        walk(subtree, keys, Object.keys(subtree));
        continue;
      }
      list.push({
        name: keys.join('.'),
        value: value instanceof Secret ? String(value) : isTree(subtree) ? null : (value ?? null),
        from: sourceOf(collected, keys),
      });
    }
  };
  walk(settings, [], Object.keys(ConfigFile.shape));
  return list;
}

/**
 * Return the file descriptor of the listening socket that this process inherited (socket activation by systemd or by
 * the supervisor), or null. The socket outlives the process, so a restart refuses no connection.
 */
export function inheritedSocket(env: NodeJS.ProcessEnv = processEnvironment()): number | null {
  const isOurs = env['LISTEN_PID'] === String(process.pid) && Number(env['LISTEN_FDS']) >= 1;
  return isOurs ? FIRST_INHERITED_FD : null;
}

function deepFreeze<T>(value: T): T {
  if (value && typeof value === 'object' && !(value instanceof Secret) && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const child of Object.values(value)) deepFreeze(child);
  }
  return value;
}
