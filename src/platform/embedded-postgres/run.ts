import { type ExecFileOptions, execFile, type SpawnOptions } from 'node:child_process';

/** Operating system user that runs the server; null for the user of this process. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

export interface RunResult {
  /** Exit status; null if the program could not be started, was killed or timed out. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Return the options to start a program as `user`. It starts in `/`, since the user may not have access to this
 * process's working directory, and with a fixed environment, so that PGDATA, PGOPTIONS and similar variables have no
 * effect.
 */
export function serverProcessOptions(user: ServerUser | null): SpawnOptions {
  return {
    cwd: '/',
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
  };
}

/** Run a program to its end as `user`. Never throws. */
export function run(
  file: string,
  args: readonly string[],
  options: { user?: ServerUser | null; timeoutMs?: number } = {},
): Promise<RunResult> {
  return new Promise((resolve) => {
    const done = (error: Error | null, stdout: string, stderr: string) => {
      if (error === null) return resolve({ status: 0, stdout, stderr });
      const { code } = error as { code?: unknown };
      resolve({ status: typeof code === 'number' ? code : null, stdout, stderr: stderr || error.message });
    };
    try {
      const spawnOptions = serverProcessOptions(options.user ?? null) as ExecFileOptions;
      execFile(file, args, { ...spawnOptions, timeout: options.timeoutMs ?? 30_000, encoding: 'utf8' }, done);
    } catch (error) {
      done(error as Error, '', ''); // some failures to start are thrown, others are passed to the callback
    }
  });
}
