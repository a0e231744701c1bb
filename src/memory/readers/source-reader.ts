import { hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { SOURCE_FAILURES } from '../../jobs/schema.ts';

/** File, object or row of a source, as listed. */
export interface ListedEntry {
  /** Path relative to the folder, key below the prefix, or primary key as a JSON list. */
  readonly key: string;
  /** Value that changes whenever the content may have changed. */
  readonly version: string;
  /** Content size, or an estimate before reading. */
  readonly sizeBytes: number;
  /** Event time of the content, if the listing includes it. */
  readonly eventTimeMs?: number | null;
}

/** Entry or folder that couldn't be listed or read. Its documents stay. */
export interface EntryFault {
  readonly key: string;
  /** True for a folder. The documents of entries below it stay too. */
  readonly isFolder?: boolean;
  readonly fault: string;
}

export interface Listing {
  readonly entries: readonly ListedEntry[];
  readonly faults: readonly EntryFault[];
}

/** Content of an entry: bytes in memory if small, otherwise a stream that may be opened once. */
export type EntryContent = { readonly bytes: Uint8Array } | { readonly openStream: () => Readable };

/** Readers of an entry at its source: people by email address, and groups by name or claim. */
export interface EntryReaders {
  readonly emails: readonly string[];
  readonly groups: readonly string[];
}

/** Return a suffix for the version of an entry that changes with its readers. */
export function rightsVersion(readers: EntryReaders | 'everyone' | undefined): string {
  return readers === undefined ? '' : ` ${hash('sha256', JSON.stringify(readers), 'base64url')}`;
}

/** Entry with its content and its document's metadata. */
export interface ReadEntry {
  readonly key: string;
  readonly version: string;
  readonly fileName: string;
  readonly contentType: string | null;
  /** Content; null if it has no text, so that no document is created. */
  readonly content: EntryContent | null;
  /** Path for citations; null for a table row. */
  readonly sourcePath: string | null;
  /** System-owned metadata of the document. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly eventTimeMs: number | null;
  /** Set if the source is configured to import access rights; the version must change with them. */
  readonly readers?: EntryReaders | 'everyone' | undefined;
}

/** Access to one source. Each source type implements it; no other code knows about folders, S3 or tables. */
export interface SourceReader {
  /**
   * List all entries, in slices of bounded size and in any order.
   *
   * @throws SourceFault if the source can't be listed completely
   */
  list(signal: AbortSignal): AsyncIterable<Listing>;
  /** Read entries. Omit entries that have vanished since the listing. @throws SourceFault */
  read(entries: readonly ListedEntry[], signal: AbortSignal): Promise<(ReadEntry | EntryFault)[]>;
  close(): Promise<void>;
}

/**
 * Data that a reader keeps between synchronisations, such as validators for conditional requests. It is a cache:
 * without it, a synchronisation has the same result but takes longer.
 */
export interface ReaderState {
  /** Return the last saved state, or null. */
  load(): Promise<Buffer | null>;
  /** Save a state of up to 64 MiB. */
  save(state: Uint8Array): Promise<void>;
}

export type SourceFailure = (typeof SOURCE_FAILURES)[number];

/** Failure of a whole source, with a reason for its owner. Documents of earlier synchronisations stay. */
export class SourceFault extends Error {
  override readonly name = 'SourceFault';
  /** True if a retry may succeed. */
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

/** Maximum content size to read into memory. Larger content is streamed. */
export const INLINE_BYTES_MAX = 4 * 1024 * 1024;

/** Maximum key length: that of S3 keys, and short enough for a PostgreSQL index. */
export const KEY_BYTES_MAX = 1_024;

/** Describe a key that is too long for the index of entries; null otherwise. */
export function longKeyFault(key: string): EntryFault | null {
  if (Buffer.byteLength(key) <= KEY_BYTES_MAX) return null;
  return { key: `${key.slice(0, 80)}…`, fault: `its name is longer than ${KEY_BYTES_MAX} bytes` };
}

/** Describe content that exceeds the maximum document size; null otherwise. */
export function tooLargeFault(key: string, sizeBytes: number, bytesMax: number): EntryFault | null {
  if (sizeBytes <= bytesMax) return null;
  return { key, fault: `it has ${sizeBytes} bytes, more than the maximum of ${bytesMax}` };
}

const CONTROL = /\p{Cc}+/gu;

/** Describe a key with a line break or other control character, which no document name may contain; null otherwise. */
export function controlFault(key: string): EntryFault | null {
  if (key.search(CONTROL) < 0) return null;
  return {
    key: withoutControl(key),
    fault: 'its name has a line break or another control character; rename it',
  };
}

/** Replace the control characters of a key, for reports and for patterns, which match none. */
export function withoutControl(key: string): string {
  return key.replace(CONTROL, ' ');
}

/** Return a predicate for keys whose entries must stay, since a fault hides whether they are gone. */
export function keptByFaults(faults: readonly EntryFault[]): (key: string) => boolean {
  const keys = new Set(faults.filter((fault) => fault.isFolder !== true).map(({ key }) => key));
  const folders = faults.filter((fault) => fault.isFolder).map(({ key }) => `${key}/`);
  return (key) => keys.has(key) || folders.some((folder) => key.startsWith(folder));
}
