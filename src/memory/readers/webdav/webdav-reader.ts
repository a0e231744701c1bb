import path from 'node:path';
import { Readable } from 'node:stream';
import { decodePercent } from '../../../platform/percent-encoding.ts';
import { fileNameOf, oneLine } from '../../../platform/printable.ts';
import type { WebdavSettings } from '../../../platform/webdav-settings.ts';
import { readCa } from '../certificates.ts';
import type { Globs } from '../globs.ts';
import {
  type EntryFault,
  INLINE_BYTES_MAX,
  type ListedEntry,
  type ReadEntry,
  SourceFault,
  type SourceReader,
  tooLargeFault,
} from '../source-reader.ts';
import { DavClient } from './dav-client.ts';
import { entryReason, isGone, replyFault, toDavFault } from './dav-faults.ts';
import type { DavReply } from './dav-reply.ts';
import { listTree } from './list-collections.ts';
import { encodePath, partsOf } from './paths.ts';

/** Age below which a file can change without a new version, since many servers derive ETags from times in seconds. */
const SETTLED_MS = 2_000;

export interface WebdavReaderOptions {
  readonly webdav: WebdavSettings;
  /** Folder of the source, relative to the connection's address. */
  readonly path: string;
  readonly globs: Globs;
  readonly bytesMax: number;
  /** Maximum number of folders per listing. */
  readonly foldersMax?: number;
}

/** Open a folder on a WebDAV server (RFC 4918) as a source. The ETag is the version of a file. */
export async function openWebdavReader(options: WebdavReaderOptions): Promise<SourceReader> {
  const { webdav, globs, foldersMax } = options;
  const client = new DavClient(webdav, await readCa(webdav.ca));
  const root = partsOf(webdav.url).map((part) => decodePercent(part));
  const base = [...root, ...options.path.split('/').filter((part) => part !== '' && part !== '.')];
  return {
    list: (signal) => listTree(client, { base, globs, ...(foldersMax === undefined ? {} : { foldersMax }) }, signal),
    async read(entries, signal) {
      const read = await Promise.all(entries.map((entry) => readFile(client, base, entry, options, signal)));
      return read.filter((entry) => entry !== null);
    },
    close: () => client.close(),
  };
}

async function readFile(
  client: DavClient,
  base: readonly string[],
  entry: ListedEntry,
  options: WebdavReaderOptions,
  signal: AbortSignal,
): Promise<ReadEntry | EntryFault | null> {
  const { key, sizeBytes } = entry;
  const tooLarge = tooLargeFault(key, sizeBytes, options.bytesMax);
  if (tooLarge !== null) return tooLarge;
  const address = encodePath([...base, ...key.split('/')], false);
  const reply = await client.send('GET', address, signal).catch((error: unknown) => {
    // A server may serve some of its files from elsewhere.
    if (!(error instanceof SourceFault) || error.category !== 'source_settings') throw error;
    return error;
  });
  if (reply instanceof SourceFault) return { key, fault: reply.message };
  const { status, headers, body } = reply;
  if (status !== 200) {
    const reason = status < 400 ? `the server answers with the status ${status}` : entryReason(status);
    if (reason === null) throw await replyFault(reply, client.placeOf(address));
    await body.dump();
    return isGone(status) ? null : { key, fault: reason };
  }
  const about = describe(entry, reply, options.path);
  const length = headers['content-length'] === undefined ? sizeBytes : Number(headers['content-length']);
  const grown = tooLargeFault(key, length, options.bytesMax);
  if (grown !== null || length === 0) {
    await body.dump();
    return grown ?? { ...about, content: null };
  }
  if (length > INLINE_BYTES_MAX) {
    const parts = bounded(body, options.bytesMax, client.placeOf(address), signal);
    return { ...about, content: { openStream: () => Readable.from(parts) } };
  }
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of bounded(body, options.bytesMax, client.placeOf(address), signal)) {
    parts.push(part);
    bytes += part.length;
    if (bytes > INLINE_BYTES_MAX) return { key, fault: 'it has grown while it was read; synchronise again' };
  }
  return { ...about, content: bytes === 0 ? null : { bytes: Buffer.concat(parts) } };
}

function describe({ key, version, eventTimeMs = null }: ListedEntry, { headers }: DavReply, folder: string) {
  const nowMs = Date.parse(String(headers['date'] ?? ''));
  const ageMs = (Number.isNaN(nowMs) ? Date.now() : nowMs) - (eventTimeMs ?? 0);
  // The time of the server or of the file may be in the future.
  const isSettled = Math.abs(ageMs) > SETTLED_MS;
  return {
    key,
    version: isSettled ? version : `${version}?`,
    fileName: fileNameOf(path.posix.basename(key)).slice(0, 255),
    contentType: null,
    sourcePath: oneLine(path.posix.join(folder, key)).normalize('NFC'),
    metadata: { source_kind: 'webdav' },
    eventTimeMs,
  };
}

/** Pass on a body of at most `bytesMax` bytes. @throws SourceFault if it is larger or breaks off */
async function* bounded(
  body: DavReply['body'],
  bytesMax: number,
  place: string,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  let bytes = 0;
  try {
    for await (const part of body) {
      bytes += (part as Buffer).length;
      if (bytes > bytesMax) {
        const message = `${place} has grown to more than ${bytesMax} bytes while it was read`;
        throw new SourceFault('source_too_large', message, { retryable: true });
      }
      yield part as Buffer;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw toDavFault(error, place);
  }
}
