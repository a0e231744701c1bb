/**
 * Holds the source to the list of rooms: `node test/architecture/check-imports.ts [--root DIR] [--table] [--write]`.
 *
 * Fails for an import of a room above, a circular import of files, a file in no room, and a table in docs/architecture.md
 * that is not the list. `--table` prints which room imports which, `--write` writes the table of the document anew.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { type Import, listSources, readImports } from './read-imports.ts';
import { ROOMS, type Room } from './rooms.ts';

const TABLE = /(?<=<!-- rooms -->\n)[\s\S]*?(?=<!-- \/rooms -->)/;

/** Null: the file is in none. */
export function roomOf(file: string): Room | null {
  return ROOMS.find(({ folder }) => file.startsWith(`${folder}/`)) ?? null;
}

/** Faults of all imports, one line each. */
export function findFaults(files: readonly string[], imports: readonly Import[]): string[] {
  const homeless = files.filter((file) => roomOf(file) === null).map((file) => `${file}: is in no room of the list`);
  const wrong = imports.flatMap((each) => {
    const why = faultOf(each);
    return why === null ? [] : [`${each.from}:${each.line}: ${why}`];
  });
  return [...homeless, ...wrong, ...findCircles(imports)];
}

function faultOf({ from, to }: Import): string | null {
  const own = roomOf(from);
  const other = roomOf(to);
  if (own === null || other === null || own === other) return null;
  if (ROOMS.indexOf(other) < ROOMS.indexOf(own)) {
    return `${own.folder} may not import ${other.folder}, which is above it; take what it needs as an argument`;
  }
  if (own.only !== undefined && !own.only.includes(other.folder)) {
    return `${own.folder} may import ${own.only.join(' and ') || 'no other room'} only, not ${other.folder}`;
  }
  return null;
}

/** Files that import each other, directly or through others. Each circle once, as a path that ends where it begins. */
function findCircles(imports: readonly Import[]): string[] {
  const targets = Map.groupBy(
    imports.filter(({ kind }) => kind === 'import'),
    ({ from }) => from,
  );
  const done = new Set<string>();
  const circles: string[] = [];
  const walk = (file: string, trail: readonly string[]) => {
    const at = trail.indexOf(file);
    if (at !== -1) circles.push(`${file}: circular import: ${[...trail.slice(at), file].join(' -> ')}`);
    if (at !== -1 || done.has(file)) return;
    for (const { to } of targets.get(file) ?? []) if (to !== file) walk(to, [...trail, file]);
    done.add(file);
  };
  for (const file of targets.keys()) walk(file, []);
  return circles;
}

/** Render which room imports which, and how often. */
export function importTable(imports: readonly Import[]): string {
  const lines = ROOMS.flatMap((room) => {
    const others = imports.map(({ from, to }) => (roomOf(from) === room ? roomOf(to) : null));
    const counts = ROOMS.map((other) => ({ other, count: others.filter((each) => each === other).length }));
    const used = counts.filter(({ other, count }) => other !== room && count > 0);
    const known = used.map(({ other, count }) => `${other.folder} ${count}`).join(', ');
    return used.length === 0 ? [] : [`${room.folder} -> ${known}`];
  });
  return `${lines.join('\n')}\n`;
}

/** The table of docs/architecture.md. */
function roomTable(root: string): string {
  const isThere = ({ folder }: Room) => existsSync(path.join(root, folder));
  const rows = ROOMS.filter(isThere).map(({ folder, owns }) => `| \`${folder}/\` | ${owns} |`);
  const toCome = ROOMS.filter((room) => !isThere(room)).map(({ folder, owns }) => `\`${folder}\` (${owns})`);
  const rest = toCome.length === 0 ? '' : `\nRooms to come have their place already: ${toCome.join('; ')}.\n`;
  return `| room | owns |\n|---|---|\n${rows.join('\n')}\n${rest}`;
}

function main(): void {
  const { values } = parseArgs({
    options: {
      root: { type: 'string', default: path.join(import.meta.dirname, '../..') },
      table: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  });
  const files = listSources(values.root);
  const imports = files.flatMap((file) => readImports(values.root, file));
  if (values.table) process.stdout.write(importTable(imports));
  const document = path.join(values.root, 'docs/architecture.md');
  const text = readFileSync(document, 'utf8');
  const current = text.replace(TABLE, () => roomTable(values.root));
  if (values.write) writeFileSync(document, current);
  const faults = findFaults(files, imports);
  if (!values.write && current !== text) {
    faults.push('docs/architecture.md: its table of rooms is not the list; run npm run docs:rooms');
  }
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

if (import.meta.main) main();
