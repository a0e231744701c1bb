import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { backupConfigOf, backupSettings } from './backup-settings.ts';
import { channelConfigOf, channelSettings } from './channel-settings.ts';
import { consoleConfigOf, consoleSettings } from './console-settings.ts';
import { AppError } from './errors.ts';
import { projectionConfigOf, projectionSettings } from './projection-settings.ts';
import { embeddingConfigOf, embeddingSettings } from './provider-settings.ts';
import { searchConfigOf, searchSettings } from './search-settings.ts';
import { Secret } from './secret.ts';
import { serverConfigOf, serverSettings } from './server-settings.ts';
import { interpolate, isTree, merge, type Tree, valueAt } from './settings-tree.ts';
import { sourceSettings, sourcesConfigOf } from './source-settings.ts';
import { storageConfigOf, storageFaults, storageSettings } from './storage-settings.ts';

const MIB = 1024 * 1024;
/** First file descriptor that systemd passes to a process; see sd_listen_fds(3). */
const FIRST_INHERITED_FD = 3;

const postgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, 'must be the URL of a PostgreSQL database: postgres://user:password@host:5432/database')
  .transform((value) => new Secret(value));

/** Schema of `service.yaml`. Unknown settings are faults, so that a typo is never silently ignored. */
const ConfigFile = z.strictObject({
  data_dir: z.string().min(1),
  host: z.string().min(1).default('127.0.0.1'),
  port: z.coerce.number().int().min(0).max(65535).default(8080),
  base_url: z.url().optional(),
  log_level: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  database_url: postgresUrl.optional(),
  database_direct_url: postgresUrl.optional(),
  redis_url: z
    .string()
    .regex(/^rediss?:\/\/|^\//, 'must be a redis:// or rediss:// URL, or the path of a socket')
    .transform((value) => new Secret(value))
    .optional(),
  secret_key: z
    .string()
    .min(32, 'must have at least 32 characters')
    .transform((value) => new Secret(value))
    .optional(),
  cron_secret: z
    .string()
    .min(16, 'must have at least 16 characters')
    .transform((value) => new Secret(value))
    .optional(),
  trust_proxy: z.boolean().default(false),
  oidc: z
    .strictObject({
      issuer: z.url(),
      audience: z.string().min(1),
      algorithm: z
        .enum(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'])
        .default('RS256'),
      token_type: z.enum(['at+jwt', 'JWT']).optional(),
      authorized_parties: z.array(z.string().min(1)).min(1).optional(),
      client_id: z.string().min(1).optional(),
      client_secret: z
        .string()
        .min(1)
        .transform((value) => new Secret(value))
        .optional(),
      scopes: z.array(z.string().regex(/^[!#-[\]-~]+$/)).default(['openid', 'email']),
    })
    .optional(),
  ...storageSettings,
  ...embeddingSettings,
  ...channelSettings,
  ...backupSettings,
  ...projectionSettings,
  ...sourceSettings,
  ...consoleSettings,
  ...searchSettings,
  ...serverSettings,
  embeddings: z
    .strictObject({
      base64: z.enum(['auto', 'always', 'never']).default('auto'),
      deadline_seconds: z.number().positive().max(600).default(30),
      image_deadline_seconds: z.number().positive().max(600).default(90),
      cache_bytes: z
        .number()
        .int()
        .min(0)
        .default(128 * MIB),
    })
    .prefault({}),
  limits: z
    .strictObject({
      body_bytes: z
        .number()
        .int()
        .positive()
        .default(16 * MIB),
      upload_bytes: z
        .number()
        .int()
        .positive()
        .default(512 * MIB),
      bulk_body_bytes: z
        .number()
        .int()
        .positive()
        .default(64 * MIB),
      image_body_bytes: z
        .number()
        .int()
        .positive()
        .default(280 * MIB),
      document_memory_bytes: z
        .number()
        .int()
        .min(128 * MIB)
        .default(512 * MIB),
      failed_logins_per_minute: z.number().int().min(1).default(60),
      document_seconds: z.number().int().min(1).max(3600).default(60),
    })
    .prefault({}),
  bulk: z
    .strictObject({
      calls_in_flight: z.number().int().min(1).max(64).default(8),
      retention_days: z.number().positive().max(3650).default(7),
      retry_window_hours: z.number().min(0).max(720).default(24),
    })
    .prefault({}),
  workers: z
    .strictObject({
      embed_concurrency: z.number().int().min(1).max(64).default(2),
      ingest_concurrency: z.number().int().min(1).max(64).default(12),
      lease_seconds: z.number().int().min(5).max(3600).default(30),
      retries_max: z.number().int().min(0).max(100).default(5),
    })
    .prefault({}),
});

const CheckedFile = ConfigFile.superRefine((file, context) => {
  for (const fault of storageFaults(file)) context.addIssue({ code: 'custom', ...fault });
});

const ConfigSchema = CheckedFile.transform((file) => ({
  dataDir: path.resolve(file.data_dir),
  host: file.host,
  port: file.port,
  baseUrl: file.base_url ?? null,
  logLevel: file.log_level,
  databaseUrl: file.database_url ?? null,
  databaseDirectUrl: file.database_direct_url ?? file.database_url ?? null,
  redisUrl: file.redis_url ?? null,
  secretKey: file.secret_key ?? null,
  cronSecret: file.cron_secret ?? null,
  trustProxy: file.trust_proxy,
  oidc: file.oidc === undefined ? null : oidcOf(file.oidc),
  ...storageConfigOf(file),
  ...embeddingConfigOf(file),
  channels: channelConfigOf(file),
  ...backupConfigOf(file),
  projections: projectionConfigOf(file),
  ...sourcesConfigOf(file),
  console: consoleConfigOf(file),
  ...searchConfigOf(file),
  ...serverConfigOf(file),
  embeddings: {
    base64: file.embeddings.base64,
    deadlineMs: file.embeddings.deadline_seconds * 1000,
    imageDeadlineMs: file.embeddings.image_deadline_seconds * 1000,
    cacheBytes: file.embeddings.cache_bytes,
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

function oidcOf(oidc: NonNullable<z.output<typeof ConfigFile>['oidc']>) {
  const { issuer, audience, algorithm, scopes } = oidc;
  return {
    ...{ issuer, audience, algorithm },
    tokenType: oidc.token_type ?? null,
    authorizedParties: oidc.authorized_parties ?? null,
    clientId: oidc.client_id ?? null,
    clientSecret: oidc.client_secret ?? null,
    scopes: [...new Set(['openid', ...scopes])],
  };
}

/** Effective settings of this process: validated, with units in names, frozen. */
export type Config = z.output<typeof ConfigSchema> & {
  /** Sentences about settings that work but should be changed. */
  readonly warnings: readonly string[];
};

/** Environment variables and the keys that they set. The environment takes precedence over the file. */
const ENVIRONMENT = {
  SERVICE_DATA_DIR: ['data_dir'],
  SERVICE_HOST: ['host'],
  SERVICE_PORT: ['port'],
  SERVICE_BASE_URL: ['base_url'],
  SERVICE_LOG_LEVEL: ['log_level'],
  SERVICE_SECRET_KEY: ['secret_key'],
  SERVICE_CRON_SECRET: ['cron_secret'],
  SERVICE_OIDC_ISSUER: ['oidc', 'issuer'],
  SERVICE_OIDC_AUDIENCE: ['oidc', 'audience'],
  DATABASE_URL: ['database_url'],
  DATABASE_DIRECT_URL: ['database_direct_url'],
  REDIS_URL: ['redis_url'],
  S3_BUCKET: ['objects', 'bucket'],
  S3_ENDPOINT: ['objects', 'endpoint'],
  S3_REGION: ['objects', 'region'],
  AWS_ACCESS_KEY_ID: ['objects', 'access_key_id'],
  AWS_SECRET_ACCESS_KEY: ['objects', 'secret_access_key'],
  AWS_SESSION_TOKEN: ['objects', 'session_token'],
} as const satisfies Record<string, readonly string[]>;

/**
 * Read the settings: defaults, then `service.yaml` (`SERVICE_CONFIG`, else `<data dir>/service.yaml` if it
 * exists), then the environment, then `overrides` (command-line flags, with the keys of the file).
 * `${NAME}` in the file is replaced by the environment variable.
 *
 * @throws AppError `config_invalid` with one line per fault; the message never contains values
 */
export function loadConfig(options: LoadOptions = {}): Config {
  const { tree, faults, file } = collectSettings(options);
  const parsed = ConfigSchema.safeParse(tree);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) faults.push(`${nameOf(issue.path)}: ${issue.message}`);
  }
  if (faults.length > 0 || !parsed.success) {
    throw new AppError({
      code: 'config_invalid',
      status: 500,
      message: `settings are not valid:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    });
  }
  return deepFreeze({ ...parsed.data, warnings: warningsOf(file) });
}

/** Warn of a file that every user of this machine can read: it may hold keys of vendors and passwords. */
function warningsOf(file: string): string[] {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
  // Modes mean nothing on Windows.
  if (process.platform === 'win32' || (mode & 0o004) === 0) return [];
  return [`${file} can be read by every user of this machine; close it by: chmod o-rwx ${file}`];
}

/** Setting in force, with its name in service.yaml (`limits.body_bytes`) and its origin. A value of null is not set. */
export interface EffectiveSetting {
  readonly name: string;
  readonly value: unknown;
  readonly from: 'default' | 'service.yaml' | 'environment' | 'command line';
}

/**
 * List every setting in the form of service.yaml; secrets are shown as `***`.
 *
 * @throws AppError `config_invalid` under the conditions of `loadConfig`
 */
export function listSettings(options: LoadOptions = {}): EffectiveSetting[] {
  loadConfig(options);
  const { tree, layers } = collectSettings(options);
  const settings = ConfigFile.parse(tree) as Tree;
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
      const layer = layers.findLast(([, layerTree]) => valueAt(layerTree, keys) !== undefined);
      list.push({
        name: keys.join('.'),
        value: value instanceof Secret ? String(value) : isTree(subtree) ? null : (value ?? null),
        from: layer?.[0] ?? 'default',
      });
    }
  };
  walk(settings, [], Object.keys(ConfigFile.shape));
  return list;
}

/** Return the environment of this process. No other code reads it. */
export function processEnvironment(): NodeJS.ProcessEnv {
  return process.env;
}

/**
 * Return the file descriptor of the listening socket that this process was started with (socket activation of systemd;
 * the supervisor does the same), or null. The socket outlives the process, so a restart refuses no connection.
 */
export function inheritedSocket(env: NodeJS.ProcessEnv = processEnvironment()): number | null {
  const isOurs = env['LISTEN_PID'] === String(process.pid) && Number(env['LISTEN_FDS']) >= 1;
  return isOurs ? FIRST_INHERITED_FD : null;
}

interface LoadOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly overrides?: Tree;
}

/** Collect the settings of every layer, separately and merged; later layers take precedence. */
function collectSettings(options: LoadOptions): {
  tree: Tree;
  layers: (readonly [EffectiveSetting['from'], Tree])[];
  faults: string[];
  /** Path of service.yaml, which may be missing. */
  file: string;
} {
  const env = options.env ?? processEnvironment();
  const faults: string[] = [];
  const fromEnvironment = readEnvironment(env);
  const overrides = options.overrides ?? {};
  const dataDir = String(overrides['data_dir'] ?? fromEnvironment['data_dir'] ?? defaultDataDir(env));
  const file = env['SERVICE_CONFIG'] || path.join(dataDir, 'service.yaml');
  const fromFile = readConfigFile(env, file, faults);
  return {
    file,
    tree: merge({ data_dir: dataDir }, fromFile, fromEnvironment, overrides),
    layers: [
      ['service.yaml', fromFile],
      ['environment', fromEnvironment],
      ['command line', overrides],
    ],
    faults,
  };
}

function defaultDataDir(env: NodeJS.ProcessEnv): string {
  // The user that PostgreSQL must run as cannot enter the home directory of root.
  if (process.getuid?.() === 0) return '/var/lib/service';
  return path.join(env['XDG_DATA_HOME'] || path.join(env['HOME'] || homedir(), '.local', 'share'), 'service');
}

function readEnvironment(env: NodeJS.ProcessEnv): Tree {
  const tree: Tree = {};
  for (const [name, keys] of Object.entries(ENVIRONMENT)) {
    const value = env[name];
    if (value === undefined || value === '') continue;
    let node = tree;
    for (const key of keys.slice(0, -1)) {
      node[key] ??= {};
      node = node[key] as Tree;
    }
    node[keys.at(-1) as string] = value;
  }
  return tree;
}

function readConfigFile(env: NodeJS.ProcessEnv, file: string, faults: string[]): Tree {
  const explicit = env['SERVICE_CONFIG'];
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (explicit || (error as NodeJS.ErrnoException).code !== 'ENOENT') {
      faults.push(`SERVICE_CONFIG: cannot read ${file} (${(error as NodeJS.ErrnoException).code})`);
    }
    return {};
  }
  try {
    const tree: unknown = parseYaml(text);
    if (tree === null || tree === undefined) return {};
    if (typeof tree !== 'object' || Array.isArray(tree)) {
      faults.push(`${file}: must be a mapping of settings`);
      return {};
    }
    return interpolate(tree, env, faults) as Tree;
  } catch {
    faults.push(`${file}: is not valid YAML`);
    return {};
  }
}

function nameOf(keys: readonly PropertyKey[]): string {
  const dotted = keys.join('.');
  const variable = Object.entries(ENVIRONMENT).find(([, path]) => path.join('.') === dotted)?.[0];
  return variable ? `${dotted} (${variable})` : dotted || 'service.yaml';
}

function deepFreeze<T>(value: T): T {
  if (value && typeof value === 'object' && !(value instanceof Secret) && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const child of Object.values(value)) deepFreeze(child);
  }
  return value;
}
