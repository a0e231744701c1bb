import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '../src/platform/errors.ts';

/** Folder that `npm run build:console` writes. */
export const BUILT_PAGES = fileURLToPath(new URL('../src/console/dist/', import.meta.url));

/** Name of a file within a folder: one segment that begins with a letter or digit. */
const FILE_NAME = /^[A-Za-z0-9][\w.-]{0,200}$/;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** File that is ready to be sent. */
export interface StaticFile {
  readonly body: Buffer;
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface LoadedFile {
  readonly plain: Buffer;
  /** Brotli form; null if the build created none. */
  readonly compressed: Buffer | null;
}

/**
 * Files of one folder that `npm run build:console` wrote. The process holds a file only once, however many requests ask
 * for it concurrently.
 */
export class StaticFolder {
  readonly #directory: string;
  /** Cached files, and files being read. */
  readonly #files = new Map<string, Promise<LoadedFile | null>>();

  /** @param directory absolute path of the folder */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Read a file by name; null if there is none with a known type.
   * @param options.accepts header `Accept-Encoding` of the request
   * @param options.isFixed true for a file whose content never changes under its name: it stays in memory
   */
  async read(
    name: string,
    { accepts, isFixed }: { readonly accepts: string | undefined; readonly isFixed: boolean },
  ): Promise<StaticFile | null> {
    const type = TYPES[path.extname(name)];
    if (type === undefined || !FILE_NAME.test(name)) return null;
    const file = await this.#load(name, isFixed);
    if (file === null) return null;
    const body = isFixed && /\bbr\b/.test(accepts ?? '') ? file.compressed : null;
    return {
      body: body ?? file.plain,
      type,
      headers: {
        Vary: 'Accept-Encoding',
        'Cache-Control': isFixed ? 'public, max-age=31536000, immutable' : 'no-store',
        ...(body === null ? {} : { 'Content-Encoding': 'br' }),
      },
    };
  }

  /** Read a file, or share the read in progress. Cache only existing fixed files. */
  async #load(name: string, isFixed: boolean): Promise<LoadedFile | null> {
    let loading = this.#files.get(name);
    if (loading === undefined) {
      loading = readBoth(path.join(this.#directory, name));
      this.#files.set(name, loading);
      const file = await loading.catch(() => null);
      if (file === null || !isFixed) this.#files.delete(name);
    }
    return loading;
  }
}

async function readBoth(file: string): Promise<LoadedFile | null> {
  const plain = await readIfFile(file);
  return plain && { plain, compressed: await readIfFile(`${file}.br`) };
}

async function readIfFile(file: string): Promise<Buffer | null> {
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'EISDIR') return null;
    throw error;
  });
}

/** Create the error for pages that were not built. */
export function notBuilt(part: 'console' | 'reference'): AppError {
  return new AppError({
    code: `${part}_not_built`,
    status: 503,
    message: `the ${part} is not built; run "npm run build:console"`,
  });
}
