import { open, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { type CommittedRows, encodeCommit } from './resident/row-file.ts';
import type { TableFiles } from './resident/table-copy.ts';

const PREFIX = 'commit-';
/** Beginning of the names that earlier releases gave to files of appended rows. */
const FORMER_PREFIX = 'appended-';
const NAME = /^commit-(\d+)\.safetensors$/;
/** End of the name of a file that is being written. */
const UNFINISHED = '.part';
/** Commits of a table whose files are kept: a few seconds of writing without a pause. */
const KEPT_MAX = 64;
/** Appended rows above which a commit gets no file: it would have some megabytes. */
const ROWS_MAX = 512;

/**
 * Files of the rows that single commits have appended, or of what they have removed, beside the files of each table. LanceDB takes
 * many milliseconds to read the rows of a commit, and longer to tell which are gone; the next search in every other process would
 * wait for that (docs/decisions/0060-rows-of-commits-in-files.md). They are there as long as a bucket is written: whoever opens its
 * table for anything but an append removes them, as settling does after a pause. Whoever writes or removes one holds the writer
 * lock of the bucket.
 */
export class CommitFiles {
  readonly #directory: string;
  /** Versions that this process has written files of, by table, oldest first. */
  readonly #written = new Map<string, number[]>();

  /** @param directory of the database */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Return where the files of a table are, and which is of which version. */
  of(name: string): Pick<TableFiles, 'folder' | 'committed' | 'versionOf'> {
    return {
      folder: this.#folderOf(name),
      committed: (version) => this.fileOf(name, version),
      versionOf: (file) => Number(NAME.exec(file)?.[1] ?? Number.NaN) || null,
    };
  }

  /** Return the file of the commit of this version if there is one. */
  fileOf(name: string, version: number): string {
    return path.join(this.#folderOf(name), `${PREFIX}${version}.safetensors`);
  }

  /** Write what a commit has changed, before its version is published. Searches that find no file read the table. */
  async save(name: string, commit: CommittedRows): Promise<void> {
    // Another writer came between, whose rows are not among these.
    if (commit.after !== commit.before + 1) return;
    if ('batch' in commit && commit.batch.count > ROWS_MAX) return;
    // Those of another process may be of versions long ago.
    if (!this.#written.has(name)) await this.clear(name);
    const versions = this.#written.get(name) ?? [];
    this.#written.set(name, versions);
    versions.push(commit.after);
    const oldest = versions.length > KEPT_MAX ? versions.shift() : undefined;
    if (oldest !== undefined) await rm(this.fileOf(name, oldest), { force: true });
    // Whoever watches the folder reads the file as soon as it has its name.
    const unfinished = `${this.fileOf(name, commit.after)}${UNFINISHED}`;
    const file = await open(unfinished, 'w', 0o600);
    try {
      await file.writev(encodeCommit(commit));
    } finally {
      await file.close();
    }
    await rename(unfinished, this.fileOf(name, commit.after));
  }

  /** Remove the files of a table. */
  async clear(name: string): Promise<void> {
    this.#written.delete(name);
    const folder = this.#folderOf(name);
    const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    const files = entries.filter((entry) => entry.startsWith(PREFIX) || entry.startsWith(FORMER_PREFIX));
    await Promise.all(files.map((file) => rm(path.join(folder, file), { force: true })));
  }

  #folderOf(name: string): string {
    return path.join(this.#directory, `${name}.lance`);
  }
}
