/**
 * Program that stops the embedded PostgreSQL of a data directory if no process uses it. It ends with status 1 if one does.
 */
import { stopUnusedServer } from '../embedded-postgres.ts';

const [dataDir] = process.argv.slice(2);
process.exitCode = dataDir !== undefined && (await stopUnusedServer(dataDir)) ? 0 : 1;
