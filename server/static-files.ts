import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { LRUCache } from 'lru-cache';

/** Maximum number of files in memory. A folder of pages has a few dozen. */
const FILES_MAX = 200;
const FILE_BYTES_MAX = 16 * 1024 * 1024;
const CACHE_BYTES_MAX = 64 * 1024 * 1024;

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

const compress = promisify(brotliCompress);

/** Files of one folder of the package. They stay in memory once read, compressed if that makes them smaller. */
export class StaticFolder {
  readonly #directory: string;
  readonly #files = new LRUCache<string, { plain: Buffer; small: Buffer | null }>({
    max: FILES_MAX,
    maxSize: CACHE_BYTES_MAX,
    sizeCalculation: ({ plain, small }) => 1 + plain.length + (small?.length ?? 0),
  });

  /** @param directory absolute path of the folder */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Read a file by its name; null if no file of a known type has it.
   * @param options.accepts header `Accept-Encoding` of the request
   * @param options.isFixed true for a file whose content never changes under its name
   */
  async read(
    name: string,
    { accepts, isFixed }: { readonly accepts: string | undefined; readonly isFixed: boolean },
  ): Promise<StaticFile | null> {
    const type = TYPES[path.extname(name)];
    if (type === undefined || !FILE_NAME.test(name)) return null;
    const file = (isFixed ? this.#files.get(name) : undefined) ?? (await this.#load(name, isFixed));
    if (file === null) return null;
    const isSmall = file.small !== null && /\bbr\b/.test(accepts ?? '');
    return {
      body: isSmall ? (file.small as Buffer) : file.plain,
      type,
      headers: {
        Vary: 'Accept-Encoding',
        'Cache-Control': isFixed ? 'public, max-age=31536000, immutable' : 'no-store',
        ...(isSmall ? { 'Content-Encoding': 'br' } : {}),
      },
    };
  }

  async #load(name: string, isFixed: boolean): Promise<{ plain: Buffer; small: Buffer | null } | null> {
    const plain = await readFile(path.join(this.#directory, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'EISDIR') return null;
      throw error;
    });
    if (plain === null || plain.length > FILE_BYTES_MAX) return null;
    if (!isFixed) return { plain, small: null };
    const packed = /\.(?:js|css|svg)$/.test(name) ? await compress(plain, { params: BROTLI }) : plain;
    const file = { plain, small: packed.length < plain.length ? packed : null };
    this.#files.set(name, file);
    return file;
  }
}

/** Quality at which a megabyte takes a fraction of a second, once in the life of a process. */
const BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 7 };
