import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildConsole } from '../../src/console/build.ts';

const SCRIPT_BYTES_MAX = 200_000;

let folder: string;
let files: ReadonlyMap<string, Uint8Array>;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'console-'));
  files = await buildConsole(path.join(folder, 'dist'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('all scripts of the console together have at most 200 kB compressed', () => {
  const scripts = [...files].filter(([name]) => name.startsWith('assets/') && name.endsWith('.js'));
  const bytes = scripts.reduce((sum, [, contents]) => sum + gzipSync(contents).length, 0);
  expect(scripts.length).toBeGreaterThan(5);
  expect(bytes).toBeLessThanOrEqual(SCRIPT_BYTES_MAX);
});

it('every file of the console but the page has the hash of its content in its name', () => {
  const names = filesIn(path.join(folder, 'dist')).filter((name) => !name.startsWith('reference/'));
  expect(names).toContain('index.html');
  expect(names.filter((name) => !/^index\.html$|-[A-Z0-9]{8}\.(?:js|css|svg)(?:\.br)?$/.test(name))).toEqual([]);
});

it('the build has every script, style and SVG in a compressed form, too', () => {
  const dist = path.join(folder, 'dist');
  const compressed = filesIn(dist).filter((name) => name.endsWith('.br'));
  expect(compressed.map((name) => name.slice(0, -3)).sort()).toEqual(
    [...files.keys()].filter((name) => /\.(?:js|css|svg)$/.test(name)).sort(),
  );
  for (const name of compressed) {
    const bytes = brotliDecompressSync(readFileSync(path.join(dist, name)));
    expect(bytes.equals(files.get(name.slice(0, -3)) as Uint8Array)).toBe(true);
  }
});

it('the page of the console has no script and no style of its own, which the content security policy would refuse', () => {
  const html = readFileSync(path.join(folder, 'dist/index.html'), 'utf8');
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/i);
  const addresses = Array.from(html.matchAll(/(?:src|href)="([^"]+)"/g), ([, address]) => address as string);
  expect(addresses).toHaveLength(3);
  for (const address of addresses) expect(files.has(address.replace('/console/', ''))).toBe(true);
});

it('a build has one style sheet, which the page loads', () => {
  expect([...files.keys()].filter((name) => /^assets\/.*\.css$/.test(name))).toHaveLength(1);
});

it('no code of the service and no address of another host is in the scripts', () => {
  for (const [name, contents] of files) {
    if (!/^assets\/.*\.js$/.test(name)) continue;
    const text = Buffer.from(contents).toString('utf8');
    expect(text).not.toMatch(/AppError|ZodError|node:/);
    const hosts = Array.from(text.matchAll(/https?:\/\/([^/"'`\s)]+)/g), ([, host]) => host);
    // Names of XML namespaces, and the addresses of licences and of documentation in comments and messages.
    const named = new Set(['www.w3.org', 'github.com', 'simplewebauthn.dev']);
    expect(hosts.filter((host) => !named.has(host as string))).toEqual([]);
  }
});

it('every Korean text of the console is used by a page', () => {
  const root = path.join(import.meta.dirname, '../../src/console');
  const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.startsWith('messages/') && !name.startsWith('dist'))
    .map((name) => readFileSync(path.join(root, name), 'utf8'))
    .join('\n');
  const messages = readdirSync(path.join(root, 'messages'))
    .filter((name) => /^korean-(?!names)/.test(name))
    .map((name) => readFileSync(path.join(root, 'messages', name), 'utf8'))
    .join('\n');
  const keys = Array.from(
    messages.matchAll(/^ {2}(?:'((?:[^'\\]|\\.)+)'|([\w$]+)):/gm),
    ([, quoted, bare]) => quoted ?? bare,
  );
  expect(keys.length).toBeGreaterThan(100);
  expect(keys.filter((key) => !sources.includes(`'${key}'`) && !/^embed/.test(key as string))).toEqual([]);
});

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.relative(directory, path.join(parentPath, name)));
}
