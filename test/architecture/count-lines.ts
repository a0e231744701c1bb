/**
 * Counts the source lines of the product: `node test/architecture/count-lines.ts [COMMIT]`.
 *
 * It counts the lines of the TypeScript files in src/, server/ and commands/, comments and blank lines included; tests,
 * data and generated files are elsewhere. With a commit, it also prints the difference, and how much of it comes from
 * commits that removed more lines than they added.
 */
import { execFileSync } from 'node:child_process';

const print = (line: string) => process.stdout.write(`${line}\n`);
const FOLDERS = ['src', 'server', 'commands'];

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 30 });
}

/** Count the lines of each folder at a commit. */
function countAt(commit: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const folder of FOLDERS) {
    const lines = git('grep', '-c', '', commit, '--', `${folder}/*.ts`, `${folder}/*.tsx`).trimEnd().split('\n');
    counts.set(
      folder,
      lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(':') + 1)), 0),
    );
  }
  return counts;
}

/** Return the change in lines of each commit after another one, merges excluded. */
function changesSince(commit: string): number[] {
  const paths = FOLDERS.flatMap((folder) => [`${folder}/*.ts`, `${folder}/*.tsx`]);
  const log = git('log', '--no-merges', '--format=%x00', '--numstat', `${commit}..HEAD`, '--', ...paths);
  return log.split('\0').map((files) =>
    files.split('\n').reduce((sum, file) => {
      const [added, removed] = file.split('\t').map(Number);
      return sum + (added || 0) - (removed || 0);
    }, 0),
  );
}

const total = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((sum, lines) => sum + lines, 0);
const [, , before] = process.argv;
const now = countAt('HEAD');
for (const [folder, lines] of now) print(`${folder.padEnd(10)}${lines}`);
print(`${'all'.padEnd(10)}${total(now)}`);
if (before !== undefined) {
  const removed = changesSince(before).reduce((sum, lines) => sum + Math.min(0, lines), 0);
  print(`since ${before}: ${total(now) - total(countAt(before))}, of which ${removed} by commits that removed lines`);
}
