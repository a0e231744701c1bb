import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Make a folder with what a clean Debian root installs: `install.sh`, the bundle `first.tgz` of this checkout,
 * `checkout`, a clone, and the clients that run there.
 *
 * @param bundle file of an existing bundle of this checkout; by default one is made, which downloads the packages
 */
export function makeReleases(bundle: string | null): string {
  const shared = mkdtempSync(path.join(tmpdir(), 'service-test-bundles-'));
  chmodSync(shared, 0o755);
  cpSync(path.join(ROOT, 'install.sh'), path.join(shared, 'install.sh'));
  for (const client of ['load.ts', 'contents.ts']) {
    cpSync(path.join(ROOT, 'test/install', client), path.join(shared, client));
  }
  run('git', ['clone', '--quiet', '--depth=1', `file://${ROOT}`, path.join(shared, 'checkout')]);
  const first = path.join(shared, 'first.tgz');
  if (bundle === null) run('sh', [path.join(ROOT, 'src/install/bundle.sh'), first]);
  else copyFileSync(bundle, first);
  return shared;
}

/**
 * Migration of the later releases: it adds columns to tables whose rows the running release reads as a whole, and takes
 * locks of tables that requests and jobs use in another order.
 */
const LATER_MIGRATION = `
CREATE INDEX documents_of_later ON documents (bucket_id, id);
ALTER TABLE jobs ADD COLUMN later text;
ALTER TABLE documents ADD COLUMN later text;
ALTER TABLE buckets ADD COLUMN later text;
DROP INDEX documents_of_later;
`;

/** Add `second.tgz` of a later release, and `broken.tgz` of one that does not start, unless they are there. */
export function addLaterReleases(shared: string): void {
  if (existsSync(path.join(shared, 'broken.tgz'))) return;
  const tree = path.join(shared, 'tree');
  mkdirSync(tree);
  run('tar', ['-xzf', path.join(shared, 'first.tgz'), '-C', tree]);
  writeFileSync(path.join(tree, 'service/migrations/9000_later.sql'), LATER_MIGRATION);
  repack(tree, 'second', '0.1.1');
  writeFileSync(path.join(tree, 'service/server/api-service.ts'), "throw new Error('this release is broken');\n");
  repack(tree, 'broken', '0.1.2');
  rmSync(tree, { recursive: true, force: true });
}

/** Add `older.tgz` of an earlier commit, and its installer as `older-install.sh`. */
export function addOlderRelease(shared: string, bundle: string): void {
  copyFileSync(bundle, path.join(shared, 'older.tgz'));
  const unpack = 'tar -xzOf "$0/older.tgz" --occurrence=1 install.sh >"$0/older-install.sh"';
  run('sh', ['-c', unpack, shared]);
}

function repack(tree: string, name: string, version: string): void {
  for (const file of ['package.json', 'oclif.manifest.json']) {
    const json = JSON.parse(readFileSync(path.join(tree, 'service', file), 'utf8'));
    writeFileSync(path.join(tree, 'service', file), JSON.stringify({ ...json, version }));
  }
  for (const folder of ['', 'service']) writeFileSync(path.join(tree, folder, 'RELEASE'), `${version}-${name}\n`);
  const script = `find install.sh RELEASE service -type f -exec sha256sum {} + >SHA256SUMS &&
    tar -cf - RELEASE install.sh SHA256SUMS service | gzip -1 >"$1"`;
  run('sh', ['-c', `cd "$0" && ${script}`, tree, path.join(path.dirname(tree), `${name}.tgz`)]);
}

function run(command: string, args: string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1e8 });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stdout}${stderr}`);
}
