import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'bin-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(file: string, args: string[], env: NodeJS.ProcessEnv) {
  const { status, stdout, stderr } = spawnSync(file, args, { env, encoding: 'utf8', timeout: 20_000, cwd: folder });
  return { status, stdout, stderr };
}

/** Make a copy of the wrapper without any installation, and a `node` of this version on the search path. */
function bareCheckout(name: string, version: string) {
  const bin = path.join(folder, name, 'bin');
  const tools = path.join(folder, name, 'tools');
  mkdirSync(bin, { recursive: true });
  mkdirSync(tools);
  copyFileSync(path.join(ROOT, 'bin', 'service'), path.join(bin, 'service'));
  const fake = `#!/bin/sh\nif [ "$1" = --version ]; then echo ${version}; else echo "ran $*"; fi\n`;
  writeFileSync(path.join(tools, 'node'), fake, { mode: 0o755 });
  return { service: path.join(bin, 'service'), env: { PATH: `${tools}:/usr/bin:/bin` } };
}

test('bin/service runs through links and from any folder, without any node on the search path', () => {
  symlinkSync(path.join(ROOT, 'bin', 'service'), path.join(folder, 'first'));
  symlinkSync('first', path.join(folder, 'second'));
  const result = run(path.join(folder, 'second'), ['--version'], { PATH: '/usr/bin:/bin' });
  expect(result).toMatchObject({ status: 0, stdout: expect.stringMatching(/^service\/\d+\.\d+\.\d+ /) });
});

test('under the name embed-service, help, messages and completion have that name, and variables work', () => {
  const alias = path.join(folder, 'embed-service');
  symlinkSync(path.join(ROOT, 'bin', 'service'), alias);
  const env = { PATH: '/usr/bin:/bin', HOME: folder };
  expect(run(alias, ['--help'], env).stdout).toContain('$ embed-service [COMMAND]');
  expect(run(alias, ['jobs', 'list', '--help'], env).stdout).toContain('$ embed-service jobs list');
  expect(run(alias, ['jobz'], env).stderr).toMatch(/^embed-service: .* \(see embed-service --help\)\n$/);
  const failed = run(alias, ['jobs', 'show'], { ...env, SERVICE_JSON: 'true' });
  expect(failed).toMatchObject({ status: 2, stderr: expect.stringMatching(/^embed-service: /) });
  expect(JSON.parse(failed.stdout).error.code).toBe('usage');
  expect(run(alias, ['autocomplete', 'bash'], env).stdout).toContain('embed-service autocomplete');
  const { status, stdout } = run(path.join(ROOT, 'bin', 'service'), ['--help'], env);
  expect(status).toBe(0);
  expect(stdout).toContain('embed-service');
});

test.each([['--help'], ['jobs', '--help'], ['jobs', 'list', '--help']])(
  'a command whose output nobody reads ends silently with 0: %s %s %s',
  async (...args) => {
    const child = spawn(path.join(ROOT, 'bin', 'service'), args, { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  },
);

test('bin/service uses a node of the host that is new enough if none is installed next to it', () => {
  for (const version of ['v22.18.0', 'v23.0.1', 'v30.1.0']) {
    const { service, env } = bareCheckout(version, version);
    expect(run(service, ['embed', 'a b'], env)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^ran .*service\.js embed a b\n$/),
    });
  }
});

test('bin/service reports in one line that no node is new enough', () => {
  for (const version of ['v20.19.0', 'v22.17.9', 'v8.0.0']) {
    const { service, env } = bareCheckout(version, version);
    const { status, stdout, stderr } = run(service, ['embed', 'x'], env);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      new RegExp(`^service: Node\\.js 22\\.18 or newer is required, found ${version}; run 'npm ci' in .*\\n$`),
    );
  }
});
