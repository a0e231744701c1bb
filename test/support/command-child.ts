import fs from 'node:fs';
import module from 'node:module';

export interface CommandCall {
  readonly args: readonly string[];
  /** All of the environment that the command sees. */
  readonly env: NodeJS.ProcessEnv;
  /** Both streams end with this text after the command. */
  readonly end: string;
}

const ROOT = new URL('../../', import.meta.url);
const STDERR = 2;

// The log writes by fs.write, which may still be at work when a command has ended; a process that ends waits for it.
const write = fs.write as (...args: unknown[]) => void;
const writeAtOnce = (fd: number, text: string, ...rest: unknown[]) => {
  if (fd !== STDERR) return write(fd, text, ...rest);
  const written = fs.writeSync(fd, text);
  process.nextTick(rest.at(-1) as () => void, null, written);
};
Object.assign(fs, { write: writeAtOnce });

module.enableCompileCache();
const { runCommandLine } = await import('../../src/cli/run-command-line.ts');

/** Runs command lines one after the other, as `bin/service` runs one: most of what that takes is the start of Node. */
process.on('message', async ({ args, env, end }: CommandCall) => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.exitCode = undefined;
  await runCommandLine(ROOT, args);
  const code = process.exitCode ?? 0;
  process.stdout.removeAllListeners('drain'); // one is left by every flush of oclif
  process.stdout.write(end);
  process.stderr.write(end);
  process.send?.({ code });
});
process.on('disconnect', () => process.exit());
