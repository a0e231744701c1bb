import { spawnSync } from 'node:child_process';
import path from 'node:path';

/**
 * Create a Python virtual environment in a directory.
 * @param requirements path of the requirements file
 * @param options more installation options
 * @returns path of its interpreter; null, after a line on stdout, if that fails
 */
export function openPython(directory: string, requirements: string, options: readonly string[] = []): string | null {
  const environment = path.join(directory, 'python');
  const python = path.join(environment, 'bin', 'python');
  const steps = [
    ['python3', '-m', 'venv', environment],
    [python, '-m', 'pip', 'install', '--quiet', '--no-compile', 'uv==0.13.9'],
    // uv installs in a tenth of the time of pip.
    [
      path.join(environment, 'bin', 'uv'),
      'pip',
      'install',
      '--quiet',
      '--python',
      python,
      '-r',
      requirements,
      ...options,
    ],
  ];
  for (const [command = '', ...args] of steps) {
    const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
    if (status === 0) continue;
    // biome-ignore lint/suspicious/noConsole: the reason of a skip belongs in the output
    console.log(`skipped: ${command} ${args.join(' ')} failed: ${(stderr ?? String(error)).trim().split('\n').at(-1)}`);
    return null;
  }
  return python;
}
