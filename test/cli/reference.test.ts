import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { generateReference, linkProject, MANIFEST, readReference } from '../docs/cli-reference.ts';

test('docs/cli and oclif.manifest.json match the commands', async () => {
  const generated = await generateReference();
  expect(readReference(), 'not current: run "npm run docs:cli" and commit what it writes').toEqual(generated);
});

const RUN = `
  const [module, root, ...argv] = process.argv.slice(1);
  await (await import(module)).runCommandLine(new URL(root), argv);
`;

test('a command that is missing in the manifest runs all the same', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'stale-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  linkProject(folder);
  const { commands, ...rest } = JSON.parse(readReference()[MANIFEST] ?? '');
  const { 'config:check': _check, 'config:example': _example, ...others } = commands;
  writeFileSync(path.join(folder, MANIFEST), JSON.stringify({ ...rest, commands: others }));
  const run = async (...argv: string[]) => {
    const module = import.meta.resolve('../../src/cli/run-command-line.ts');
    const args = ['--input-type=module', '--eval', RUN, '--', module, pathToFileURL(`${folder}/`).href, ...argv];
    const env = { HOME: folder, SERVICE_DATA_DIR: folder };
    return (await promisify(execFile)(process.execPath, args, { env, timeout: 20_000 })).stdout;
  };
  expect(await run('--help')).not.toMatch(/^ {2}config /m);
  expect(await run('config', 'check', '--help')).toContain('service config check');
  expect(JSON.parse(await run('config', 'check', '--json'))).toMatchObject({});
});
