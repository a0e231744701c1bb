import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listSources, readImports } from './read-imports.ts';
import { ROOMS } from './rooms.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

/** Run the check of `npm run check` on another root. */
function check(root: string, ...flags: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const script = path.join(PROJECT, 'test/architecture/check-imports.ts');
  return new Promise((resolve) => {
    execFile(process.execPath, [script, '--root', root, ...flags], (error, stdout, stderr) =>
      resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

describe('the check of imports', () => {
  let root: string;

  beforeEach(async () => {
    root = mkdtempSync(path.join(tmpdir(), 'service-rooms-'));
    write('docs/architecture.md', '# Architecture\n\n<!-- rooms -->\n<!-- /rooms -->\n');
    for (const { folder } of ROOMS) write(`${folder}/thing.ts`, 'export const thing = 1;\n');
    await check(root, '--write');
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function write(file: string, text: string): void {
    mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  }

  it('is part of npm run check', () => {
    const { scripts } = JSON.parse(readFileSync(path.join(PROJECT, 'package.json'), 'utf8'));
    expect(scripts.check).toContain('node test/architecture/check-imports.ts');
  });

  it('passes for a tree that imports downwards only, and prints the table', async () => {
    write('src/ingest/down.ts', "import { thing } from '../jobs/thing.ts';\n\nexport const it = thing;\n");
    const { exitCode, stdout, stderr } = await check(root, '--table');
    expect(stderr).toBe('');
    expect(exitCode).toBe(0);
    expect(stdout).toBe('src/ingest -> src/jobs 1\n');
  });

  it.each([
    ['an import', "import { thing } from '../ingest/thing.ts';\n\nexport const it = thing;\n"],
    ['a type-only import', "import type { thing } from '../ingest/thing.ts';\n\nexport type It = typeof thing;\n"],
    [
      'an import of a type among values',
      "import { type thing } from '../ingest/thing.ts';\n\nexport type It = typeof thing;\n",
    ],
    ['an import inside a type', "export type It = typeof import('../ingest/thing.ts');\n"],
    ['a re-export', "export { thing } from '../ingest/thing.ts';\n"],
    ['an import when it runs', "export const it = () => import('../ingest/thing.ts');\n"],
    ['a module started on a thread', "export const it = new URL('../ingest/thing.ts', import.meta.url);\n"],
  ])('refuses %s of a room above', async (_name, text) => {
    write('src/jobs/up.ts', text);
    const { exitCode, stderr } = await check(root);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^src\/jobs\/up\.ts:1: src\/jobs may not import src\/ingest, which is above it/);
  });

  it('refuses an import of every room above every room', async () => {
    const wrong = ROOMS.flatMap((room, place) =>
      ROOMS.slice(0, place).map((above, index) => {
        const file = `${room.folder}/imports-${index}.ts`;
        const target = path.posix.relative(room.folder, `${above.folder}/thing.ts`);
        write(file, `export { thing } from '${target}';\n`);
        return file;
      }),
    );
    const { stderr } = await check(root);
    expect(wrong.filter((file) => !stderr.includes(`${file}:1: `))).toEqual([]);
  });

  it('refuses a room below that is not among those a room may import', async () => {
    write('src/mcp/database.ts', "export { thing } from '../jobs/thing.ts';\n");
    const { exitCode, stderr } = await check(root);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('src/mcp may import src/client and src/models and src/platform only, not src/jobs');
  });

  it('refuses files that import each other, types included', async () => {
    write('src/jobs/a.ts', "import type { B } from './b.ts';\n\nexport type A = B | 1;\n");
    write('src/jobs/b.ts', "import type { C } from './c.ts';\n\nexport type B = C | 2;\n");
    write('src/jobs/c.ts', "import type { A } from './a.ts';\n\nexport type C = A | 3;\n");
    const { exitCode, stderr } = await check(root);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('circular import: src/jobs/a.ts -> src/jobs/b.ts -> src/jobs/c.ts -> src/jobs/a.ts');
  });

  it('refuses a file that is in no room', async () => {
    write('src/helpers/thing.ts', 'export const thing = 1;\n');
    const { exitCode, stderr } = await check(root);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('src/helpers/thing.ts: is in no room of the list');
  });

  it('refuses a document whose table is not the list', async () => {
    write('docs/architecture.md', '<!-- rooms -->\nnothing\n<!-- /rooms -->\n');
    const { exitCode, stderr } = await check(root);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('npm run docs:rooms');
  });

  it('sees every import of the project', () => {
    const files = listSources(PROJECT);
    const imports = files.flatMap((file) => readImports(PROJECT, file));
    const sources = new Set(files);
    // An import that leads nowhere was read wrong.
    expect(imports.filter(({ to, kind }) => kind === 'import' && !sources.has(to) && !to.endsWith('.as.ts'))).toEqual(
      [],
    );
    expect(imports.length).toBeGreaterThan(2_000);
  });
});
