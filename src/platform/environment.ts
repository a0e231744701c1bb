import { homedir } from 'node:os';
import path from 'node:path';

/** Environment variables and the keys of service.yaml that they set. The environment takes precedence over the file. */
export const SETTING_VARIABLES = {
  SERVICE_DATA_DIR: ['data_dir'],
  SERVICE_HOST: ['host'],
  SERVICE_PORT: ['port'],
  SERVICE_BASE_URL: ['base_url'],
  SERVICE_LOG_LEVEL: ['log_level'],
  SERVICE_SECRET_KEY: ['secret_key'],
  SERVICE_CRON_SECRET: ['cron_secret'],
  SERVICE_METRICS_HOST: ['metrics', 'host'],
  SERVICE_METRICS_PORT: ['metrics', 'port'],
  SERVICE_OIDC_ISSUER: ['oidc', 'issuer'],
  SERVICE_OIDC_AUDIENCE: ['oidc', 'audience'],
  SERVICE_MCP_URL: ['tool_server', 'urls'],
  DATABASE_URL: ['database_url'],
  DATABASE_DIRECT_URL: ['database_direct_url'],
  DATABASE_REPLICA_URL: ['database_replica_url'],
  REDIS_URL: ['redis_url'],
  S3_BUCKET: ['objects', 'bucket'],
  S3_ENDPOINT: ['objects', 'endpoint'],
  S3_REGION: ['objects', 'region'],
  AWS_ACCESS_KEY_ID: ['objects', 'access_key_id'],
  AWS_SECRET_ACCESS_KEY: ['objects', 'secret_access_key'],
  AWS_SESSION_TOKEN: ['objects', 'session_token'],
  MILVUS_URL: ['index', 'milvus', 'url'],
  MILVUS_TOKEN: ['index', 'milvus', 'token'],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['tracing', 'endpoint'],
  OTEL_SERVICE_NAME: ['tracing', 'service_name'],
  SERVICE_BUILT_IN_MODEL: ['embeddings', 'built_in'],
  HF_ENDPOINT: ['local_models', 'hub_url'],
  HF_TOKEN: ['local_models', 'hub_token'],
} as const satisfies Record<string, readonly string[]>;

/** Return the environment of this process. No other code reads it. */
export function processEnvironment(): NodeJS.ProcessEnv {
  return process.env;
}

/** Return the name by which `bin/service` was called, or null if that is its own name. */
export function commandNameOf(env: NodeJS.ProcessEnv): string | null {
  return env['SERVICE_COMMAND_NAME'] || null;
}

/** Return the relative path by which the user typed the program, such as `bin/service`; null without one. */
export function commandPathOf(env: NodeJS.ProcessEnv): string | null {
  return env['SERVICE_COMMAND_PATH'] || null;
}

/** Return the data directory that a command uses if neither a flag nor service.yaml names one. */
export function dataDirOf(env: NodeJS.ProcessEnv): string {
  if (env['SERVICE_DATA_DIR']) return env['SERVICE_DATA_DIR'];
  // PostgreSQL must run as another user, who can't enter root's home directory.
  if (process.getuid?.() === 0) return '/var/lib/service';
  return path.join(env['XDG_DATA_HOME'] || path.join(env['HOME'] || homedir(), '.local', 'share'), 'service');
}

/** Return the path of service.yaml. The file may be missing. */
export function configFileOf(env: NodeJS.ProcessEnv, dataDir: string): string {
  return env['SERVICE_CONFIG'] || path.join(dataDir, 'service.yaml');
}
