import { hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { SOURCE_FAILURES } from '../../jobs/schema.ts';

/** File, object or row of a source, as its listing shows it. */
export interface ListedEntry {
  /** Path relative to the folder, key below the prefix, or primary key as a JSON list. */
  readonly key: string;
  /** Text that changes whenever the content may have changed. */
  readonly version: string;
  /** Size of the content, or an estimate before reading. */
  readonly sizeBytes: number;
  /** Time of the content, if the listing shows it. */
  readonly eventTimeMs?: number | null;
}

/** Entry or folder that could not be listed or read. Its documents stay. */
export interface EntryFault {
  readonly key: string;
  /** True for a folder. The entries below it stay, too. */
  readonly isFolder?: boolean;
  readonly fault: string;
}

export interface Listing {
  readonly entries: readonly ListedEntry[];
  readonly faults: readonly EntryFault[];
}

/** Content of an entry: bytes in memory if it is small, otherwise a stream to open at most once. */
export type EntryContent = { readonly bytes: Uint8Array } | { readonly openStream: () => Readable };

/** People, by email address, and groups, by name or claim, that may read an entry at its source. */
export interface EntryReaders {
  readonly emails: readonly string[];
  readonly groups: readonly string[];
}

/** Return what the readers of an entry add to its version, so that it changes with them. */
export function rightsVersion(readers: EntryReaders | 'everyone' | undefined): string {
  return readers === undefined ? '' : ` ${hash('sha256', JSON.stringify(readers), 'base64url')}`;
}

/** Entry with its content and the metadata of its document. */
export interface ReadEntry {
  readonly key: string;
  readonly version: string;
  readonly fileName: string;
  readonly contentType: string | null;
  /** Content, or null if it has no text, so that no document is made. */
  readonly content: EntryContent | null;
  /** Path for citations; null for a row of a table. */
  readonly sourcePath: string | null;
  /** System-owned metadata of the document. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly eventTimeMs: number | null;
  /** Set if the settings of the source let its rights come along; the version must change with them. */
  readonly readers?: EntryReaders | 'everyone' | undefined;
}

/** Access to one source. Each type of source implements it; no other code knows folders, S3 or tables. */
export interface SourceReader {
  /**
   * List all entries, in slices of bounded size and in any order.
   *
   * @throws SourceFault if the place cannot be listed completely
   */
  list(signal: AbortSignal): AsyncIterable<Listing>;
  /** Read some entries. Omit entries that have vanished since the listing. @throws SourceFault */
  read(entries: readonly ListedEntry[], signal: AbortSignal): Promise<(ReadEntry | EntryFault)[]>;
  close(): Promise<void>;
}

/**
 * Notes of a reader from one synchronisation to the next, such as validators for conditional requests. They are a
 * cache: without them, a synchronisation has the same result and takes longer.
 */
export interface ReaderState {
  /** Return what `save` stored last, or null. */
  load(): Promise<Buffer | null>;
  /** Store up to 64 MiB. */
  save(state: Uint8Array): Promise<void>;
}

export type SourceFailure = (typeof SOURCE_FAILURES)[number];

/** Failure of a whole source, with a reason for its owner. Documents of earlier synchronisations stay. */
export class SourceFault extends Error {
  override readonly name = 'SourceFault';
  /** True if the same synchronisation may succeed later. */
  readonly retryable: boolean;
  readonly category: SourceFailure;

  constructor(
    category: SourceFailure,
    message: string,
    options: { readonly retryable?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.category = category;
    this.retryable = options.retryable ?? false;
  }
}

/** Largest content to read into memory. Larger content is streamed. */
export const INLINE_BYTES_MAX = 4 * 1024 * 1024;

/** Longest key: the bound of S3 keys, and short enough for an index of PostgreSQL. */
export const KEY_BYTES_MAX = 1_024;

/** Describe a key that is too long for the index of entries. */
export function longKeyFault(key: string): EntryFault | null {
  if (Buffer.byteLength(key) <= KEY_BYTES_MAX) return null;
  return { key: `${key.slice(0, 80)}…`, fault: `its name is longer than ${KEY_BYTES_MAX} bytes` };
}

/** Describe content that exceeds the maximum size of a document. */
export function tooLargeFault(key: string, sizeBytes: number, bytesMax: number): EntryFault | null {
  if (sizeBytes <= bytesMax) return null;
  return { key, fault: `it has ${sizeBytes} bytes, more than the maximum of ${bytesMax}` };
}

const CONTROL = /\p{Cc}+/gu;

/** Return the fault of a key with a line break or another control character, which no document can have as its name. */
export function controlFault(key: string): EntryFault | null {
  if (key.search(CONTROL) < 0) return null;
  return {
    key: withoutControl(key),
    fault: 'its name has a line break or another control character; rename it',
  };
}

/** Replace control characters of a key, for patterns, which match none, and for reports. */
export function withoutControl(key: string): string {
  return key.replace(CONTROL, ' ');
}

/** Return a test of keys that must stay, since a fault hides if they are gone. */
export function keptByFaults(faults: readonly EntryFault[]): (key: string) => boolean {
  const keys = new Set(faults.filter((fault) => fault.isFolder !== true).map(({ key }) => key));
  const folders = faults.filter((fault) => fault.isFolder).map(({ key }) => `${key}/`);
  return (key) => keys.has(key) || folders.some((folder) => key.startsWith(folder));
}
