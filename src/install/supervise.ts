import { copyFile, mkdir, rename, stat, truncate, writeFile } from 'node:fs/promises';
import { BoundSocket } from 'node:net';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { processEnvironment } from '../platform/environment.ts';
import { openLogger } from '../platform/logger.ts';
import { type Program, SupervisedProgram } from './supervised-program.ts';

/**
 * Supervisor of an installation on a host without systemd: `node supervise.ts --current DIR --run DIR --log FILE`.
 *
 * It binds the port and passes the socket to the API, so that connections wait in the kernel while the API restarts.
 * SIGTERM stops all programs. SIGHUP restarts them in sequence from the release that `--current` links to. It writes
 * their state to `<run>/status.json`.
 */

const LOG_BYTES_MAX = 64 * 1024 * 1024;
const LOG_CHECK_MS = 60_000;
/** Standard error, which the start script redirects to the log file. All programs write to it. */
const LOG_FD = 2;

/**
 * With the embedded database, a single process does everything. With an external one, each kind of work has its own
 * process.
 */
const EMBEDDED: readonly Program[] = [{ name: 'api', args: ['serve'], listens: true }];
/** In restart order: a job of a new kind is accepted only when the workers know it. */
const SEPARATE: readonly Program[] = [
  { name: 'reaper', args: ['reaper'], listens: false },
  { name: 'worker-ingest', args: ['worker', 'ingest'], listens: false },
  { name: 'worker-embed', args: ['worker', 'embed'], listens: false },
  { name: 'api', args: ['serve', '--no-workers'], listens: true },
];

/** Bind a socket without accepting connections. The first program that receives it starts listening. */
function bind(host: string, port: number): BoundSocket {
  try {
    return new BoundSocket({ host, port });
  } catch (error) {
    const reason = (error as Error).message;
    throw new Error(
      `${host} port ${port} cannot be bound (${reason}); stop what listens there, or choose another port`,
    );
  }
}

async function writeStatus(file: string, status: object): Promise<void> {
  await writeFile(`${file}.new`, `${JSON.stringify(status)}\n`, { mode: 0o644 });
  await rename(`${file}.new`, file);
}

/** Rename a log that is too large to `<log>.1`. The programs append, so they continue at the start of the file. */
async function rotate(log: string): Promise<void> {
  const found = await stat(log).catch(() => null);
  if (found === null || found.size < LOG_BYTES_MAX) return;
  await copyFile(log, `${log}.1`);
  await truncate(log);
}

async function supervise(): Promise<void> {
  const { values } = parseArgs({
    options: { current: { type: 'string' }, run: { type: 'string' }, log: { type: 'string' } },
  });
  const { current, run, log } = values;
  if (!current || !run || !log) throw new Error('supervise.ts needs --current DIR, --run DIR and --log FILE');
  const env = processEnvironment();
  const logger = openLogger('info');
  const socket = bind(env['SERVICE_HOST'] || '127.0.0.1', Number(env['SERVICE_PORT'] || 8080));
  await mkdir(run, { recursive: true });
  const statusFile = path.join(run, 'status.json');
  let restarts = 0;
  let writing = Promise.resolve();
  const programs: SupervisedProgram[] = [];
  const onChange = () => {
    writing = writing
      .then(() =>
        writeStatus(statusFile, { pid: process.pid, restarts, programs: programs.map(({ status }) => status) }),
      )
      .catch((error) => logger.error({ err: error }, 'the status file cannot be written'));
  };
  const surroundings = {
    env,
    directory: env['SERVICE_DATA_DIR'] || '/',
    logFd: LOG_FD,
    socketFd: socket.fd(),
    logger,
    onChange,
    executable: () => path.join(current, 'bin', 'service'),
  };
  for (const program of env['DATABASE_URL'] ? SEPARATE : EMBEDDED) {
    programs.push(new SupervisedProgram(program, surroundings));
  }
  for (const program of programs) program.start();

  setInterval(() => {
    rotate(log).catch((error) => logger.error({ err: error }, 'the log file cannot be rotated'));
  }, LOG_CHECK_MS);
  let work = Promise.resolve();
  let isStopping = false;
  process.on('SIGHUP', () => {
    work = work
      .then(async () => {
        for (const program of programs) {
          if (isStopping) return;
          await program.stop();
          program.start();
        }
        restarts++;
        onChange();
      })
      .catch((error) => logger.error({ err: error }, 'the programs could not be restarted; send SIGHUP again'));
  });
  const stop = () => {
    if (isStopping) return;
    isStopping = true;
    work = work
      .then(async () => {
        await Promise.all(programs.map((program) => program.stop()));
        await writing;
        process.exit(0);
      })
      .catch((error) => {
        logger.error({ err: error }, 'the programs could not be stopped');
        logger.flush();
        process.exit(1);
      });
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

await supervise();
