import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { configFileOf, SETTING_VARIABLES } from '../platform/environment.ts';

/** Settings that don't affect the result of an operation, so they may differ between a command and the server. */
const IRRELEVANT = new Set([
  ...['SERVICE_DATA_DIR', 'SERVICE_HOST', 'SERVICE_PORT', 'SERVICE_BASE_URL'],
  ...['SERVICE_LOG_LEVEL', 'SERVICE_CRON_SECRET'],
]);

/** Digests of the sources of a server's settings. Null for a missing service.yaml. */
export interface SettingsDigest {
  readonly file: string | null;
  readonly variables: Readonly<Record<string, string>>;
}

/** Operator's access to a running server, from its record in the data directory. */
export interface OperatorAccess {
  /** Path of the server's operator socket. */
  readonly socket: string;
  /** Secret that authenticates the operator. Only the owner of the data directory can read it. */
  readonly secret: string;
  readonly version: string;
  readonly settings: SettingsDigest;
}

/** Return the folder of the records and sockets of running servers. */
export function serversFolder(dataDir: string): string {
  return path.join(dataDir, 'servers');
}

/**
 * Read the records of a data directory's servers, newest first. Some may have been killed. This file imports no
 * validator, because every command starts by reading the records.
 */
export function readOperatorAccess(dataDir: string): OperatorAccess[] {
  const folder = serversFolder(dataDir);
  const found: { readonly access: OperatorAccess; readonly mtimeMs: number }[] = [];
  for (const name of listNames(folder)) {
    if (!name.endsWith('.json')) continue;
    try {
      const file = path.join(folder, name);
      const { operator: access } = JSON.parse(readFileSync(file, 'utf8'));
      if (isAccess(access)) found.push({ access, mtimeMs: statSync(file).mtimeMs });
    } catch {
      // The server has just stopped, or the record belongs to another user.
    }
  }
  return found.sort((a, b) => b.mtimeMs - a.mtimeMs).map(({ access }) => access);
}

/** Compute the digests of service.yaml and of every set variable, keyed by `secret`. */
export function digestSettings(secret: string, env: NodeJS.ProcessEnv, dataDir: string): SettingsDigest {
  const digest = (text: string) => createHmac('sha256', secret).update(text).digest('base64url');
  const variables: Record<string, string> = {};
  for (const name of Object.keys(SETTING_VARIABLES)) {
    const value = env[name];
    if (value && !IRRELEVANT.has(name)) variables[name] = digest(value);
  }
  const file = readText(configFileOf(env, dataDir));
  return { file: file === null ? null : digest(file), variables };
}

/**
 * Return true if a command with these settings may ask the server: both have the same service.yaml, and no variable of
 * the command differs from the server's.
 */
export function hasSettingsOf(server: SettingsDigest, own: SettingsDigest): boolean {
  if (own.file !== server.file) return false;
  return Object.entries(own.variables).every(([name, digest]) => server.variables[name] === digest);
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function isAccess(value: unknown): value is OperatorAccess {
  if (typeof value !== 'object' || value === null) return false;
  const { socket, secret, version, settings } = value as Partial<OperatorAccess>;
  return [socket, secret, version].every((text) => typeof text === 'string') && typeof settings?.variables === 'object';
}
