import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, mkdtemp, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { isPidInUse } from '../../../platform/pid-in-use.ts';
import type { EntryContent } from '../source-reader.ts';
import { INLINE_BYTES_MAX } from '../source-reader.ts';

/** Maximum bytes of a crawl's files. Beyond it, bodies are requested again when needed. */
const SPOOL_BYTES_MAX = 4 * 1024 ** 3;
/** Age from which a folder of another host counts as abandoned. */
const LEFT_OVER_MS = 7 * 24 * 3_600_000;

/** Open crawl folders of this process. */
const openFolders = new Set<string>();

/** Body of a page or file on disk. Its writer limits the size. */
export class SpooledBody {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #onSize: (change: number) => void;
  sizeBytes = 0;

  /** @param onSize called with each change in size, in bytes */
  constructor(filePath: string, file: FileHandle, onSize: (change: number) => void) {
    this.#path = filePath;
    this.#file = file;
    this.#onSize = onSize;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#file.writeFile(bytes);
    this.sizeBytes += bytes.length;
    this.#onSize(bytes.length);
  }

  async end(): Promise<void> {
    await this.#file.close();
  }

  /** Return the content, and remove the file once read: small content at once, other content as a stream. */
  async content(): Promise<EntryContent> {
    if (this.sizeBytes > INLINE_BYTES_MAX) return { openStream: () => this.#openStream() };
    const bytes = await readFile(this.#path);
    await this.remove();
    return { bytes };
  }

  #openStream(): Readable {
    const stream = createReadStream(this.#path, { highWaterMark: 1024 * 1024 });
    stream.once('close', () => void this.remove());
    return stream;
  }

  /** Remove the file, or leave it to the removal of the folder on failure. */
  async remove(): Promise<void> {
    await rm(this.#path, { force: true }).catch(() => undefined);
    this.#onSize(-this.sizeBytes);
    this.sizeBytes = 0;
  }
}

/** Folder for a crawl's bodies, from the listing of a page until its content is read. */
export class Spool {
  readonly #folder: string;
  #bytes = 0;
  #files = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    openFolders.add(folder);
  }

  /** Create a folder in the data directory, and remove those of killed processes. */
  static async open(dataDir: string): Promise<Spool> {
    const parent = path.join(dataDir, 'crawls');
    await mkdir(parent, { recursive: true, mode: 0o700 });
    await removeLeftovers(parent);
    return new Spool(await mkdtemp(path.join(parent, `${hostname()}.${process.pid}.`)));
  }

  /** True if the bodies fill the crawl's space. */
  get isFull(): boolean {
    return this.#bytes >= SPOOL_BYTES_MAX;
  }

  async create(): Promise<SpooledBody> {
    const file = path.join(this.#folder, String(++this.#files));
    const count = (change: number) => {
      this.#bytes += change;
    };
    return new SpooledBody(file, await open(file, 'wx', 0o600), count);
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
    openFolders.delete(this.#folder);
  }
}

/** Remove folders of ended processes of this host, and old folders of other hosts. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const folder = path.join(parent, name);
    const [, host, pid] = /^(.+)\.(\d+)\.[^.]+$/.exec(name) ?? [];
    const isLeft =
      host === hostname()
        ? !openFolders.has(folder) && (Number(pid) === process.pid || !isPidInUse(Number(pid)))
        : await isOld(folder);
    if (isLeft) await rm(folder, { recursive: true, force: true });
  }
}

async function isOld(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > LEFT_OVER_MS;
}
