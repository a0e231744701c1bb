import type postgres from 'postgres';

/** postgres.js client with one connection. */
export type Client = postgres.Sql<Record<never, never>>;

/** Function that creates a client with one connection to the same database, with some options changed. */
export type Connect = (changes: Pick<postgres.Options<Record<never, never>>, 'onclose' | 'idle_timeout'>) => Client;
