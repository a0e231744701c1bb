import { z } from 'zod';
import { isLoopbackHost } from './networks.ts';
import { CREDENTIALS_ENCODED, decodePercent } from './percent-encoding.ts';
import { Secret } from './secret.ts';
import { caSetting } from './source-secrets.ts';

/** Settings specific to connections to MySQL or MariaDB. */
export const mysqlPlace = {
  url: z
    .string()
    .refine(...CREDENTIALS_ENCODED)
    .refine((url) => mysqlPlaceOf(url) !== null, 'must be mysql://user:password@host:port/database')
    .transform((value) => new Secret(value))
    .describe('address of the database, mysql://…'),
  tls: z
    .boolean()
    .optional()
    .describe('encrypt the connection and check the certificate; default: yes, unless the database is on this host'),
  ca: caSetting,
};

/** Parse a database address into its parts. Return null if one is missing. */
function mysqlPlaceOf(text: string) {
  const url = URL.canParse(text) ? new URL(text) : null;
  const database = decodePercent(url?.pathname.slice(1) ?? '');
  if (url?.protocol !== 'mysql:' || url.username === '' || database === '' || database.includes('/')) return null;
  return {
    host: url.hostname,
    port: Number(url.port || 3306),
    user: decodePercent(url.username),
    password: new Secret(decodePercent(url.password)),
    database,
  };
}

/** MySQL or MariaDB database, and the credentials for it. */
export interface MysqlConnection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: Secret;
  readonly database: string;
  /** Null for an unencrypted connection. */
  readonly ssl: { readonly ca: string | null } | null;
}

export function mysqlConnectionOf({ url, tls, ca }: z.output<z.ZodObject<typeof mysqlPlace>>): MysqlConnection {
  const place = mysqlPlaceOf(url.reveal());
  if (place === null) throw new Error('the address was checked when it was read');
  const isEncrypted = tls ?? !isLoopbackHost(place.host);
  return { ...place, ssl: isEncrypted ? { ca: ca ?? null } : null };
}
