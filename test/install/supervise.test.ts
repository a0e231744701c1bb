import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import type { ProgramStatus } from '../../src/install/supervised-program.ts';
import { until } from '../support/until.ts';

const SUPERVISE = fileURLToPath(new URL('../../src/install/supervise.ts', import.meta.url));

interface Supervisor {
  readonly dataDir: string;
  /** Read the state of its only program; null before there is one. @throws Error once the supervisor has ended */
  program(): ProgramStatus | null;
  /** Signal the supervisor. */
  signal(name: NodeJS.Signals): void;
  /** Wait for the end and return the exit code. */
  end(): Promise<unknown>;
}

/** Supervise a program that does nothing until it is stopped. */
function startSupervisor(): Supervisor {
  const folder = mkdtempSync(path.join(tmpdir(), 'service-test-'));
  const [current, run, dataDir] = ['current', 'run', 'data'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const each of [path.join(current, 'bin'), run, dataDir]) mkdirSync(each, { recursive: true });
  writeFileSync(path.join(current, 'bin', 'service'), '#!/bin/sh\nexec sleep 600\n');
  chmodSync(path.join(current, 'bin', 'service'), 0o755);
  const log = path.join(folder, 'service.log');
  const child = spawn(
    process.execPath,
    ['--no-warnings', SUPERVISE, '--current', current, '--run', run, '--log', log],
    {
      env: { PATH: process.env['PATH'], SERVICE_PORT: '0', SERVICE_DATA_DIR: dataDir },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    dataDir,
    program() {
      if (child.exitCode !== null) throw new Error(`the supervisor ended with ${child.exitCode}: ${stderr}`);
      try {
        const { programs } = JSON.parse(readFileSync(path.join(run, 'status.json'), 'utf8'));
        return programs[0] ?? null;
      } catch {
        return null; // It is not written yet.
      }
    },
    signal: (name) => void child.kill(name),
    end: async () => (await exited)[0],
  };
}

it('the supervisor goes on when a program cannot be restarted, and starts it once that is possible', async () => {
  const { dataDir, program, signal, end } = startSupervisor();
  const before = await until(async () => program()?.pid, { what: 'the program' });
  renameSync(dataDir, `${dataDir}.away`);
  writeFileSync(dataDir, 'a file is no working directory');
  signal('SIGHUP');
  await until(async () => (program()?.crashes ?? 0) > 0, { what: 'the failed start' });
  rmSync(dataDir);
  renameSync(`${dataDir}.away`, dataDir);
  expect(await until(async () => program()?.pid, { what: 'the next start' })).not.toBe(before);
  signal('SIGTERM');
  expect(await end()).toBe(0);
});
