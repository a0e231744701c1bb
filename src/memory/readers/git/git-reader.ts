import { mkdir, mkdtemp, readdir, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import type { GitConnection } from '../../../platform/git-settings.ts';
import { fileNameOf, oneLine } from '../../../platform/printable.ts';
import type { ConfigOf } from '../configs.ts';
import { compileGlobs } from '../globs.ts';
import {
  controlFault,
  type EntryFault,
  INLINE_BYTES_MAX,
  type ListedEntry,
  type Listing,
  longKeyFault,
  type ReadEntry,
  type SourceReader,
  tooLargeFault,
  withoutControl,
} from '../source-reader.ts';
import { GitCommand } from './git-command.ts';

/** Ref of the fetched commit. */
const FETCHED = 'refs/source/head';
const SLICE_ENTRIES = 2_000;
/** Age after which an unused copy of a repository is deleted. */
const COPY_MS_MAX = 30 * 86_400_000;
/** First line of a file that Git LFS stores elsewhere (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md). */
const LFS = 'version https://git-lfs.github.com/spec/';
/** File modes in git trees, as opposed to links and submodules. */
const FILE_MODES = new Set(['100644', '100755']);

export interface GitOptions {
  readonly connection: GitConnection;
  readonly config: ConfigOf<'git'>;
  /** Folder for cached copies of repositories. */
  readonly cacheDir: string;
  /** Name of the copy to keep; null for a temporary copy that `close` removes. */
  readonly copy: string | null;
  readonly bytesMax: number;
}

/**
 * Open a branch of a repository as a source. The blob id is the version of a file. The time of a file is that of the
 * last fetched commit that changed it.
 */
export async function openGitReader(options: GitOptions): Promise<SourceReader> {
  const { connection, config, bytesMax } = options;
  const directory = await openCopy(options);
  const git = new GitCommand(connection, directory);
  let times: ReadonlyMap<string, number> = new Map();
  const pathOf = (key: string) => (config.path === '' ? key : `${config.path}/${key}`);
  const aboutOf = ({ key, version }: ListedEntry) => ({
    key,
    version,
    fileName: fileNameOf(path.posix.basename(key)).slice(0, 255),
    contentType: null,
    sourcePath: oneLine(pathOf(key)).normalize('NFC'),
    metadata: { source_kind: 'git' },
    eventTimeMs: times.get(pathOf(key)) ?? null,
  });
  return {
    async *list(signal) {
      await fetch(git, connection, config, signal);
      times = await commitTimes(git, config, signal);
      yield* listTree(git, config, signal);
    },
    async read(entries, signal) {
      const faults = entries.map(({ key, sizeBytes }) => tooLargeFault(key, sizeBytes, bytesMax));
      const allowed = entries.filter((_, index) => faults[index] === null);
      const inline = allowed.filter(({ sizeBytes }) => sizeBytes <= INLINE_BYTES_MAX);
      const blobs = await readBlobs(git, inline, signal);
      const read = allowed.map((entry): ReadEntry | EntryFault => {
        const bytes = blobs.get(entry.version);
        const openStream = () => git.open(['cat-file', 'blob', entry.version]);
        if (bytes === undefined) return { ...aboutOf(entry), content: { openStream } };
        if (bytes.subarray(0, LFS.length).toString() === LFS) {
          return { key: entry.key, fault: 'its content is stored in Git LFS, which is not read' };
        }
        return { ...aboutOf(entry), content: bytes.length === 0 ? null : { bytes } };
      });
      return [...faults.filter((fault) => fault !== null), ...read];
    },
    async close() {
      if (options.copy === null) await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Create the folder of a copy, and remove copies that no synchronisation has used for a month. */
async function openCopy({ cacheDir, copy }: GitOptions): Promise<string> {
  await mkdir(cacheDir, { recursive: true, mode: 0o700 });
  for (const name of await readdir(cacheDir)) {
    const old = path.join(cacheDir, name);
    const { mtimeMs } = await stat(old).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > COPY_MS_MAX) await rm(old, { recursive: true, force: true });
  }
  if (copy === null) return mkdtemp(path.join(cacheDir, 'preview-'));
  const directory = path.join(cacheDir, copy);
  await mkdir(directory, { recursive: true });
  await utimes(directory, new Date(), new Date());
  return directory;
}

/** Fetch the newest commits of the branch. Repeating `init` changes nothing. */
async function fetch(
  git: GitCommand,
  { url }: GitConnection,
  { branch, commits }: ConfigOf<'git'>,
  signal: AbortSignal,
): Promise<void> {
  await git.run(['init', '--quiet', '--bare'], signal);
  const from = branch === undefined ? 'HEAD' : `refs/heads/${branch}`;
  const flags = ['--quiet', '--no-tags', '--force', '--no-write-fetch-head', `--depth=${commits}`];
  await git.run(['fetch', ...flags, '--', url, `+${from}:${FETCHED}`], signal);
}

/** Return the time of the last fetched commit that changed each file, by path. */
async function commitTimes(git: GitCommand, config: ConfigOf<'git'>, signal: AbortSignal) {
  const times = new Map<string, number>();
  const args = ['log', '-z', '--format=%x01%ct', '--name-only', '--no-renames', FETCHED, '--', ...pathsOf(config)];
  let timeMs = 0;
  for await (const record of records(git.stream(args, signal))) {
    const text = record.toString().replace(/^\n/, '');
    if (text.startsWith('\x01')) timeMs = Number(text.slice(1)) * 1_000;
    else if (!times.has(text)) times.set(text, timeMs);
  }
  return times;
}

async function* listTree(git: GitCommand, config: ConfigOf<'git'>, signal: AbortSignal): AsyncGenerator<Listing> {
  const globs = compileGlobs(config);
  const prefix = config.path === '' ? '' : `${config.path}/`;
  let slice: { entries: ListedEntry[]; faults: EntryFault[] } = { entries: [], faults: [] };
  const args = ['ls-tree', '-r', '-z', '-l', '--full-tree', FETCHED, '--', ...pathsOf(config)];
  for await (const record of records(git.stream(args, signal))) {
    // "<mode> <type> <object> <size>\t<path>", see git-ls-tree(1).
    const tab = record.indexOf('\t');
    const [mode = '', , version = '', size = ''] = record.subarray(0, tab).toString().split(/ +/);
    const key = record
      .subarray(tab + 1)
      .toString()
      .slice(prefix.length);
    if (!FILE_MODES.has(mode) || !globs.matches(withoutControl(key))) continue;
    const fault = nameFault(key);
    if (fault === null) slice.entries.push({ key, version, sizeBytes: Number(size) });
    else slice.faults.push(fault);
    if (slice.entries.length + slice.faults.length < SLICE_ENTRIES) continue;
    yield slice;
    slice = { entries: [], faults: [] };
  }
  yield slice;
}

function nameFault(key: string): EntryFault | null {
  if (key.includes('\ufffd')) return { key, fault: 'its name is not UTF-8; rename it' };
  return controlFault(key) ?? longKeyFault(key);
}

function pathsOf({ path: folder }: ConfigOf<'git'>): string[] {
  return folder === '' ? [] : [`:(literal,top)${folder}`];
}

/** Split output at NUL bytes. */
async function* records(output: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const part of output) {
    rest = Buffer.concat([rest, part]);
    let start = 0;
    for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0, start)) {
      yield rest.subarray(start, end);
      start = end + 1;
    }
    rest = rest.subarray(start);
  }
  if (rest.length > 0) yield rest;
}

/** Read files of limited size by their blob ids. */
async function readBlobs(git: GitCommand, entries: readonly ListedEntry[], signal: AbortSignal) {
  const ids = [...new Set(entries.map(({ version }) => version))];
  const blobs = new Map<string, Buffer>();
  if (ids.length === 0) return blobs;
  const output = await git.run(['cat-file', '--batch'], signal, ids.map((id) => `${id}\n`).join(''));
  // "<object> blob <size>\n<content>\n", see git-cat-file(1).
  for (let at = 0; at < output.length; ) {
    const lineEnd = output.indexOf('\n', at);
    const [id = '', , size = ''] = output.subarray(at, lineEnd).toString().split(' ');
    const end = lineEnd + 1 + Number(size);
    blobs.set(id, output.subarray(lineEnd + 1, end));
    at = end + 1;
  }
  return blobs;
}
