import fs from 'node:fs';
import module from 'node:module';

export interface CommandCall {
  readonly args: readonly string[];
  /** Complete environment of the command. */
  readonly env: NodeJS.ProcessEnv;
  /** Text to write to both streams after the command. */
  readonly end: string;
}

const ROOT = new URL('../../', import.meta.url);
const STDERR = 2;

// The log writes with fs.write, which may still be pending when a command has ended. An exiting process waits for it.
const write = fs.write as (...args: unknown[]) => void;
const writeSynchronously = (fd: number, text: string, ...rest: unknown[]) => {
  if (fd !== STDERR) return write(fd, text, ...rest);
  const written = fs.writeSync(fd, text);
  process.nextTick(rest.at(-1) as () => void, null, written);
};
Object.assign(fs, { write: writeSynchronously });

module.enableCompileCache();
const { runCommandLine } = await import('../../src/cli/run-command-line.ts');

/** Run command lines in sequence like `bin/service`, without starting Node for each. */
process.on('message', async ({ args, env, end }: CommandCall) => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.exitCode = undefined;
  await runCommandLine(ROOT, args);
  const code = process.exitCode ?? 0;
  process.stdout.removeAllListeners('drain'); // Every oclif flush leaves a listener.
  process.stdout.write(end);
  process.stderr.write(end);
  process.send?.({ code });
});
process.on('disconnect', () => process.exit());
