/**
 * Program that stops the embedded PostgreSQL of a data directory unless a process uses it, which ends it with status 1.
 */
import { stopUnusedServer } from '../embedded-postgres.ts';

const [dataDir] = process.argv.slice(2);
process.exitCode = dataDir !== undefined && (await stopUnusedServer(dataDir)) ? 0 : 1;
