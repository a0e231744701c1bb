import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { Options } from 'postgres';
import { Secret } from '../secret.ts';

/** Server on a unix socket or a host. The embedded PostgreSQL returns one. */
export interface PostgresConnection {
  /** Directory of the unix socket, or a host name. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly username: string;
  readonly password: Secret;
}

/**
 * Address of a database: a connection URI in the syntax of libpq, or its parts. Through a pooler, statements aren't
 * prepared unless the URI has `prepare=true` (docs/decisions/0047-poolers-and-sentinels.md).
 */
export type PostgresTarget = { readonly url: Secret | string; readonly isPooled?: boolean } | PostgresConnection;

/** Client-side parameters of a libpq URI. postgres.js would send them, and a server refuses them. */
const CLIENT_ONLY = [
  'channel_binding',
  'gssencmode',
  'krbsrvname',
  'sslcompression',
  'sslsni',
  'sslcrl',
  'requirepeer',
];

/**
 * Convert a target to the arguments of postgres.js. In addition to the URIs that postgres.js reads itself, this
 * supports a unix socket (`?host=/directory`) and `sslrootcert`, `sslcert` and `sslkey` files, and drops client-side
 * parameters. The TLS options name the server, because postgres.js doesn't know the host of a socket from `dial`.
 */
export function toClientOptions(target: PostgresTarget): [url: string, options: Options<Record<never, never>>] {
  if (!('url' in target)) {
    const { host, port, database, username, password } = target;
    return ['', { host, port, database, username, password: password.reveal(), ssl: false }];
  }
  const url = target.url instanceof Secret ? target.url.reveal() : target.url;
  const [base = '', query = ''] = url.split('?', 2);
  const params = new URLSearchParams(query);
  const take = (name: string): string | null => {
    const value = params.get(name);
    params.delete(name);
    return value;
  };
  for (const name of CLIENT_ONLY) params.delete(name);

  const options: Options<Record<never, never>> = {};
  const prepare = take('prepare');
  options.prepare = prepare === null ? target.isPooled !== true : prepare !== 'false';
  const host = take('host');
  const port = take('port');
  const user = take('user');
  const password = take('password');
  const database = take('dbname');
  if (host !== null) options.host = host;
  if (port !== null) options.port = Number(port);
  if (user !== null) options.username = user;
  if (password !== null) options.password = password;
  if (database !== null) options.database = database;
  options.port ??= Number(/:(\d+)(?:\/|$)/.exec(base.slice(base.lastIndexOf('@') + 1))?.[1] ?? 5432);
  if (base.includes(',')) delete options.port; // several hosts, each with its own port

  const mode = take('sslmode') ?? take('ssl');
  params.delete('ssl');
  const files = { ca: take('sslrootcert'), cert: take('sslcert'), key: take('sslkey') };
  options.ssl = tlsOptions(mode, files);
  if (typeof options.ssl === 'object') {
    const serverName = options.host ?? hostOf(base);
    if (serverName !== null && isIP(serverName) === 0) options.ssl = { servername: serverName, ...options.ssl };
  }
  const remaining = params.toString();
  return [remaining === '' ? base : `${base}?${remaining}`, options];
}

/**
 * Return the TLS settings for the `sslmode` and the files of a URI: options of `tls.connect`, `prefer`, or false for a
 * connection without TLS.
 */
function tlsOptions(
  mode: string | null,
  { ca, cert, key }: { ca: string | null; cert: string | null; key: string | null },
): object | 'prefer' | false {
  if ((ca !== null && ca !== 'system') || cert !== null) {
    return {
      ...(ca === null || ca === 'system' ? {} : { ca: readFileSync(ca) }),
      ...(cert === null ? {} : { cert: readFileSync(cert) }),
      ...(key === null ? {} : { key: readFileSync(key) }),
      rejectUnauthorized: ca !== null,
      ...(mode === null || mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
    };
  }
  if (ca === 'system') return {};
  if (mode === null || mode === 'disable' || mode === 'false') return false;
  if (mode === 'prefer') return mode;
  return mode === 'require' || mode === 'allow' ? { rejectUnauthorized: false } : {};
}

/** Return the host of a URI; null if it has none, or several. */
function hostOf(base: string): string | null {
  return /^postgres(?:ql)?:\/\/(?:[^/@]*@)?([^/:,[\]]+)(?::\d+)?(?:\/|$)/.exec(base)?.[1] ?? null;
}

/** Return true unless the URI of a target names several hosts. */
export function hasOneHost(target: PostgresTarget): boolean {
  const [url] = toClientOptions(target);
  return !url.split('?', 1)[0]?.includes(',');
}

/** Format the server of a target for people, `user@host:port/database`, without its password. */
export function serverAddressOf(target: PostgresTarget): string {
  const [url, options] = toClientOptions(target);
  // A URI with several hosts isn't a valid WHATWG URL. Show its host part unchanged.
  const [, authority = '', database = ''] = /^postgres(?:ql)?:\/\/([^/?]*)(?:\/([^?]*))?/.exec(url) ?? [];
  const [host, user] = [authority.slice(authority.lastIndexOf('@') + 1), authority.split('@')[0]?.split(':')[0]];
  const at = options.host === undefined ? host : `${options.host}:${options.port ?? 5432}`;
  const name = options.username ?? (authority.includes('@') ? user : '');
  return `${name ? `${name}@` : ''}${at}/${options.database ?? database}`;
}

/** Return the connection URI, with the password, for other programs and for `DATABASE_URL` of a child process. */
export function postgresUrl(connection: PostgresConnection): string {
  const { host, port, database, username, password } = connection;
  const isSocket = host.startsWith('/');
  const url = new URL(`postgres://${isSocket ? 'localhost' : host}:${port}/${encodeURIComponent(database)}`);
  url.username = encodeURIComponent(username);
  url.password = encodeURIComponent(password.reveal());
  if (isSocket) url.searchParams.set('host', host);
  return url.href;
}
