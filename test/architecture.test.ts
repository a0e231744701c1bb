import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** From top to bottom; a room may import the rooms after it and src/platform. */
const ROOMS = [
  ...['workflows', 'memory', 'channels', 'metadata', 'ingest', 'bulk', 'search', 'documents', 'jobs'],
  ...['embedding', 'projection', 'models', 'usage', 'access', 'platform'],
];

/** Lint files by the project's own rules, in a checkout of nothing else. */
function lint(folder: string): Promise<{ failed: boolean; output: string }> {
  return new Promise((resolve) => {
    const biome = path.join(ROOT, 'node_modules', '.bin', 'biome');
    execFile(
      biome,
      ['lint', '--vcs-enabled=false', '--max-diagnostics=none', '.'],
      { cwd: folder },
      (error, stdout, stderr) => resolve({ failed: error !== null, output: stdout + stderr }),
    );
  });
}

describe('import direction', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'service-rooms-'));
    cpSync(path.join(ROOT, 'biome.json'), path.join(folder, 'biome.json'));
    symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
    for (const room of ROOMS) mkdirSync(path.join(folder, 'src', room), { recursive: true });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function write(room: string, imported: string): string {
    const file = path.join('src', room, `imports-${imported.replaceAll('/', '-')}.ts`);
    writeFileSync(
      path.join(folder, file),
      `import { thing } from '../${imported}/thing.ts';\n\nexport const it = thing;\n`,
    );
    return file;
  }

  it('refuses every import of a room above', async () => {
    const wrong = ROOMS.flatMap((room, place) => ROOMS.slice(0, place).map((above) => write(room, above)));
    const { failed, output } = await lint(folder);
    expect(failed).toBe(true);
    expect(wrong.filter((file) => !output.includes(`${file}:1`))).toEqual([]);
    for (const file of wrong) rmSync(path.join(folder, file));
  });

  it('refuses the front of the house inside a domain', async () => {
    const wrong = ['../server', '../commands', 'cli'].map((front) => write('jobs', front));
    const { output } = await lint(folder);
    expect(wrong.filter((file) => !output.includes(`${file}:1`))).toEqual([]);
    for (const file of wrong) rmSync(path.join(folder, file), { force: true });
  });

  it('allows imports of the rooms below', async () => {
    for (const [place, room] of ROOMS.entries()) for (const below of ROOMS.slice(place + 1)) write(room, below);
    const { failed, output } = await lint(folder);
    expect(output).not.toContain('noRestrictedImports');
    expect(failed).toBe(false);
  });
});
