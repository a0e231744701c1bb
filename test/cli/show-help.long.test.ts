import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);

/** Print help for many command lines, by oclif or by `showHelp`, with a line between them. */
const PRINT = `
  const [root, how, lines] = process.argv.slice(1);
  const { showHelp } = await import(new URL('src/cli/show-help.ts', root));
  const { readFileSync } = await import('node:fs');
  const pjson = JSON.parse(readFileSync(new URL('package.json', root)));
  const { run } = await import('@oclif/core/run');
  const path = await import('node:url').then((url) => url.fileURLToPath(root));
  for (const argv of JSON.parse(lines)) {
    console.log('=== ' + argv.join(' '));
    if (how === 'oclif') await run(argv, path);
    else if (!(await showHelp(new URL(root), pjson, argv))) console.log('not shown');
  }
`;

async function print(how: 'oclif' | 'own', lines: readonly string[][]): Promise<string> {
  const args = ['--input-type=module', '--eval', PRINT, '--', ROOT.href, how, JSON.stringify(lines)];
  const options = { env: { HOME: '/nowhere', TERM: 'dumb' }, cwd: ROOT, maxBuffer: 64 * 1024 * 1024 };
  return (await promisify(execFile)(process.execPath, args, options)).stdout;
}

test('help is the text of oclif, for the root, every topic and every command', async () => {
  const { default: manifest } = await import('../../oclif.manifest.json', { with: { type: 'json' } });
  const ids = Object.keys(manifest.commands).map((id) => id.split(':'));
  const topics = [...new Set(ids.filter((words) => words.length > 1).map(([topic]) => [topic as string]))];
  const lines = [[], ...topics, ...ids, ['autocomplete'], ['help']].map((words) => [...words, '--help']);
  const own = await print('own', lines);
  expect(own).not.toContain('not shown');
  expect(own).toBe(await print('oclif', lines));
});
