import type postgres from 'postgres';

/** Client of postgres.js with one connection. */
export type Client = postgres.Sql<Record<never, never>>;

/** Function that makes a client of one connection for the same database, with some options changed. */
export type Connect = (changes: Pick<postgres.Options<Record<never, never>>, 'onclose' | 'idle_timeout'>) => Client;
