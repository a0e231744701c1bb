/**
 * Counts the source lines of the product: `node test/architecture/count-lines.ts [COMMIT]`.
 *
 * It counts the lines of the TypeScript files in src/, server/ and commands/, comments and blank lines included; tests,
 * data and generated files are elsewhere. With a commit it prints the difference, too.
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

const total = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((sum, lines) => sum + lines, 0);
const [, , before] = process.argv;
const now = countAt('HEAD');
for (const [folder, lines] of now) print(`${folder.padEnd(10)}${lines}`);
print(`${'all'.padEnd(10)}${total(now)}`);
if (before !== undefined) print(`${`since ${before}`.padEnd(10)} ${total(now) - total(countAt(before))}`);
