import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { SERVICE_MCP } from './support.ts';

export interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Run `service-mcp` to its end, with only the search path of the test's environment. */
export async function runServiceMcp(
  args: readonly string[],
  env: Record<string, string>,
  options: { readonly cwd?: string; readonly input?: string } = {},
): Promise<Outcome> {
  const child = spawn(process.execPath, [SERVICE_MCP, ...args], {
    env: { PATH: process.env['PATH'], ...env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => undefined).end(options.input ?? '');
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stdout, stderr };
}
