/**
 * Script that writes the command reference, docs/cli/, and oclif.manifest.json: `node test/docs/cli-reference.ts`.
 *
 * oclif makes both from the commands, in a temporary folder: `oclif readme` writes into the README.md of its folder,
 * and that of the project has only a link. The folder, a separate environment and a fixed width make the result
 * independent of machine and user.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = path.join(import.meta.dirname, '../..');
const OCLIF = fileURLToPath(import.meta.resolve('oclif/bin/run.js'));
const COLUMNS = '100';
const OCLIF_MS_MAX = 60_000;
export const PAGES = 'docs/cli';
export const MANIFEST = 'oclif.manifest.json';

const INDEX = `# Commands of service

This reference has one page for each command or group of commands. \`npm run docs:cli\` generates it from the commands.
\`service COMMAND --help\` prints the same. Every command is also there as \`embed-service COMMAND\`, for hosts where another
program is called \`service\`.

- Exit codes: 0 done, 1 unexpected fault, 2 wrong usage, 3 not found, 4 refused, 5 a dependency is down, 130 interrupted.
- With \`--json\` a command prints exactly one JSON document on stdout; progress and messages go to stderr.
- With \`--json\` a list is an object whose rows are in \`data\`: \`{"object": "list", "data": […]}\`, mostly with \`has_more\` and
  \`next_cursor\`. \`jobs list\`, \`sources list\` and \`channels list\` print the array that their endpoints answer.
- While a server runs on the data directory, commands ask it, which takes a fraction of the time; without one they open the
  installation themselves. Both print the same. A command opens it in any case if its settings are not those of the server.
- The environment variable of a flag, listed under ENVIRONMENT, is used if the flag is not given. For a flag that may be given
  several times it holds the values separated by commas. No variable sets \`--yes\`, \`--force\`, \`--allow-empty\`,
  \`--confirm\` or \`--max-affected\`.

<!-- commands -->
`;

/**
 * Link package.json, sources and dependencies into a folder, which oclif then uses as the project and may write to.
 */
export function linkProject(folder: string): void {
  for (const name of ['package.json', 'commands', 'node_modules', 'src']) {
    symlinkSync(path.join(ROOT, name), path.join(folder, name));
  }
}

/** Generate the files: the text of each by its path from the root of the repository, in the order of the paths. */
export async function generateReference(): Promise<Record<string, string>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reference-'));
  try {
    linkProject(folder);
    writeFileSync(path.join(folder, 'README.md'), INDEX);
    await runOclif(folder, 'manifest');
    await runOclif(folder, 'readme', '--multi', '--output-dir', '.', '--no-source-links');
    const read = (name: string) => readFileSync(path.join(folder, name), 'utf8');
    const pages = readdirSync(folder).filter((name) => name.endsWith('.md'));
    return {
      ...Object.fromEntries(pages.sort().map((name) => [`${PAGES}/${name}`, withoutTags(read(name))])),
      [MANIFEST]: sortCommands(read(MANIFEST)),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Read the generated files as they are in the repository. */
export function readReference(): Record<string, string> {
  const pages = readdirSync(path.join(ROOT, PAGES)).map((name) => `${PAGES}/${name}`);
  return Object.fromEntries(
    [...pages.sort(), MANIFEST].map((file) => [file, readFileSync(path.join(ROOT, file), 'utf8')]),
  );
}

async function runOclif(folder: string, ...args: string[]): Promise<void> {
  const { PATH } = process.env;
  // Without OCLIF_SKIP_NEW_VERSION_CHECK oclif asks the registry for a newer version of itself.
  const env = { PATH, HOME: folder, COLUMNS, OCLIF_SKIP_NEW_VERSION_CHECK: 'true' };
  await promisify(execFile)(process.execPath, [OCLIF, ...args], { cwd: folder, env, timeout: OCLIF_MS_MAX });
}

/** Remove the marks that oclif puts around inserted text, and the heading with which it begins. */
function withoutTags(page: string): string {
  return page
    .replace(/<!-- commands(stop)? -->\n(# Command Topics\n\n)?/g, '')
    .trimEnd()
    .concat('\n');
}

/**
 * Sort the commands of a manifest: oclif lists them in the order in which it finds files, which differs between runs.
 */

function sortCommands(manifest: string): string {
  const { commands, ...rest } = JSON.parse(manifest) as { commands: Record<string, unknown> };
  const sorted = Object.fromEntries(Object.entries(commands).sort(([one], [other]) => (one < other ? -1 : 1)));
  return `${JSON.stringify({ ...rest, commands: sorted }, null, 2)}\n`;
}

if (import.meta.main) {
  const files = await generateReference();
  rmSync(path.join(ROOT, PAGES), { recursive: true, force: true });
  mkdirSync(path.join(ROOT, PAGES));
  for (const [file, text] of Object.entries(files)) writeFileSync(path.join(ROOT, file), text);
}
