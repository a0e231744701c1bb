import type { Readable } from 'node:stream';

/** File, object or row of a source, as its listing shows it. */
export interface ListedEntry {
  /** Path relative to the folder, key below the prefix, or primary key as a JSON list. */
  readonly key: string;
  /** Text that differs whenever the content may have changed. */
  readonly version: string;
  /** Size of the content, which may be an estimate before it is read. */
  readonly sizeBytes: number;
  /** Time of the content, if the listing shows it. */
  readonly eventTimeMs?: number | null;
}

/** Entry, or folder of entries, that could not be listed or read. Its documents are kept. */
export interface EntryFault {
  readonly key: string;
  /** True for a folder: the entries below it are kept, too. */
  readonly isFolder?: boolean;
  readonly fault: string;
}

export interface Listing {
  readonly entries: readonly ListedEntry[];
  readonly faults: readonly EntryFault[];
}

/** Content of an entry: bytes in memory if it is small, otherwise a stream that may be opened once. */
export type EntryContent = { readonly bytes: Uint8Array } | { readonly openStream: () => Readable };

/** Entry with its content and the facts that its document shows. */
export interface ReadEntry {
  readonly key: string;
  readonly version: string;
  readonly fileName: string;
  readonly contentType: string | null;
  /** Content; null if there is no text in it, so that no document is made. */
  readonly content: EntryContent | null;
  /** Path for citations; null for a row of a table. */
  readonly sourcePath: string | null;
  /** System-owned metadata of the document. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly eventTimeMs: number | null;
}

/** Access to one source. Every type of source has one; no other code knows folders, S3 or tables. */
export interface SourceReader {
  /**
   * List all entries, in slices of bounded size and in any order.
   *
   * @throws SourceFault if the place cannot be listed completely
   */
  list(signal: AbortSignal): AsyncIterable<Listing>;
  /**
   * Read some entries. An entry that has vanished since it was listed is left out.
   *
   * @throws SourceFault
   */
  read(entries: readonly ListedEntry[], signal: AbortSignal): Promise<(ReadEntry | EntryFault)[]>;
  close(): Promise<void>;
}

/** Failure of a whole source, with a reason for its owner. Documents of earlier synchronisations are kept. */
export class SourceFault extends Error {
  override readonly name = 'SourceFault';
  /** True if the same synchronisation may succeed a little later. */
  readonly retryable: boolean;

  constructor(message: string, options: { readonly retryable?: boolean; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retryable = options.retryable ?? false;
  }
}

/** Content up to this size is read into memory; larger content is streamed. */
export const INLINE_BYTES_MAX = 4 * 1024 * 1024;

/** Longest key: of S3 keys, and short enough for an index of PostgreSQL. */
export const KEY_BYTES_MAX = 1_024;

/** Describe a key that is too long for the index of entries. */
export function longKeyFault(key: string): EntryFault | null {
  if (Buffer.byteLength(key) <= KEY_BYTES_MAX) return null;
  return { key: `${key.slice(0, 80)}…`, fault: `its name is longer than ${KEY_BYTES_MAX} bytes` };
}

/** Describe content that is larger than a document may be. */
export function tooLargeFault(key: string, sizeBytes: number, bytesMax: number): EntryFault | null {
  if (sizeBytes <= bytesMax) return null;
  return { key, fault: `it has ${sizeBytes} bytes, more than the maximum of ${bytesMax}` };
}

/** Return a test of keys that are not removed, since it is not known if they are gone. */
export function keptByFaults(faults: readonly EntryFault[]): (key: string) => boolean {
  const keys = new Set(faults.filter((fault) => fault.isFolder !== true).map(({ key }) => key));
  const folders = faults.filter((fault) => fault.isFolder).map(({ key }) => `${key}/`);
  return (key) => keys.has(key) || folders.some((folder) => key.startsWith(folder));
}
