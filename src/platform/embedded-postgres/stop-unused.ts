/** Program that stops the embedded PostgreSQL of a data directory. Exits with status 1 if a process uses the server. */
import { stopUnusedServer } from '../embedded-postgres.ts';

const [dataDir] = process.argv.slice(2);
process.exitCode = dataDir !== undefined && (await stopUnusedServer(dataDir)) ? 0 : 1;
