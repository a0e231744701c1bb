import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startConfined } from '../../src/platform/confined-process.ts';
import { strippedSources } from '../../src/platform/stripped-sources.ts';

const MIB = 1024 * 1024;
const folder = mkdtempSync(path.join(tmpdir(), 'service-test-'));
const file = path.join(folder, 'echo.ts');
const module = pathToFileURL(file);
const SOURCE = `import { prefix } from './prefix.ts';
const argument: string = process.argv[2] ?? '';
process.stdin.on('data', (chunk: Buffer) => process.stdout.write(prefix + argument + chunk.toString()));
process.stdin.on('end', () => process.exit(0));
`;

beforeAll(() => {
  chmodSync(folder, 0o755);
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(path.join(folder, 'prefix.ts'), "export const prefix: string = 'got ';\n");
  writeFileSync(file, SOURCE);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const start = (sources: Buffer | null) =>
  startConfined({
    ...{ name: 'test', module, argument: { of: 'test' }, readable: [folder], sources },
    ...{ heapMib: 64, memoryBytesMax: 256 * MIB, cpuSeconds: 30 },
  });

async function echo(sources: Buffer | null): Promise<string> {
  const child = await start(sources);
  const errors = text(child.stderr);
  child.stdin.write('a line\n');
  const [line] = (await once(createInterface(child.stdout), 'line').catch(() => [])) as [string?];
  child.stdin.end();
  expect(await errors).toBe('');
  return line ?? '';
}

it('types become spaces, so that positions stay those of the files', async () => {
  const modules = new Map(JSON.parse(String(await strippedSources(folder))) as [string, string][]);
  const source = modules.get(module.href) ?? '';
  expect([...modules.keys()].sort()).toEqual([module.href, new URL('prefix.ts', module).href]);
  expect(source).not.toMatch(/: (string|Buffer)/);
  expect(source).toHaveLength(SOURCE.length);
  expect(source.indexOf('process.exit')).toBe(SOURCE.indexOf('process.exit'));
});

it('a process runs the sources that it is given, and reads what follows them', async () => {
  const sources = await strippedSources(folder);
  writeFileSync(file, 'throw new Error("this file is not to be run");\n');
  expect(await echo(sources)).toBe('got {"of":"test"}a line');
  writeFileSync(file, SOURCE);
  expect(await echo(null)).toBe('got {"of":"test"}a line');
});

it('without sources a process reads the files', async () => {
  const later = path.join(folder, 'later');
  expect(await strippedSources(later)).toBeNull();
  expect(await echo(null)).toBe('got {"of":"test"}a line');
  // A failure is not remembered.
  mkdirSync(later);
  expect(String(await strippedSources(later))).toBe('[]\n');
});

it('a process that ends before it has read its sources is reported by its exit', async () => {
  const child = await start(Buffer.alloc(4 * MIB, ' '));
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  expect(await exited).toEqual([null, 'SIGKILL']);
});
