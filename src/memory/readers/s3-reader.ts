import path from 'node:path';
import { Readable } from 'node:stream';
import { ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3';
import type { Logger } from '../../platform/logger.ts';
import { openS3Client } from '../../platform/objects/s3-client.ts';
import { download } from '../../platform/objects/s3-download.ts';
import { isMissing, statusOf, translate } from '../../platform/objects/s3-errors.ts';
import { fileNameOf, oneLine } from '../../platform/printable.ts';
import type { S3Settings } from '../../platform/storage-settings.ts';
import { compileGlobs, type Globs } from './globs.ts';
import {
  controlFault,
  type EntryFault,
  INLINE_BYTES_MAX,
  type ListedEntry,
  type Listing,
  longKeyFault,
  type ReadEntry,
  SourceFault,
  type SourceReader,
  tooLargeFault,
  withoutControl,
} from './source-reader.ts';

export interface S3ReaderOptions {
  readonly s3: S3Settings;
  /** Key prefix of the source. */
  readonly prefix: string;
  readonly globs: Globs;
  readonly bytesMax: number;
  /** Maximum number of pages per listing, each with up to 1,000 keys. */
  readonly pagesMax?: number;
  readonly logger: Logger;
}

const PAGES_MAX = 20_000;

/** Open a bucket, or its keys with a prefix, as a source. The ETag is the version of an object. */
export function openS3Reader(options: S3ReaderOptions): SourceReader {
  const client = openS3Client(options.s3, options.logger);
  return {
    async *list(signal) {
      const globs = compileGlobs(options.globs);
      for await (const page of listPages(client, options, signal)) {
        yield toListing(page, globs, options.prefix);
      }
    },
    async read(entries, signal) {
      const read = await Promise.all(entries.map((entry) => readObject(client, entry, options, signal)));
      return read.filter((entry) => entry !== null);
    },
    async close() {
      client.destroy();
    },
  };
}

async function* listPages(
  client: S3Client,
  { s3, prefix, pagesMax = PAGES_MAX }: S3ReaderOptions,
  signal: AbortSignal,
): AsyncGenerator<readonly ListedEntry[]> {
  const tokens = new Set<string>();
  let ContinuationToken: string | undefined;
  do {
    const command = new ListObjectsV2Command({
      Bucket: s3.bucket,
      Prefix: prefix,
      ...(ContinuationToken === undefined ? {} : { ContinuationToken }),
    });
    const page = await client.send(command, { abortSignal: signal }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw toFault(error, s3.bucket);
    });
    yield (page.Contents ?? []).flatMap(({ Key, Size = 0, ETag, LastModified }) =>
      Key === undefined || Key.endsWith('/')
        ? []
        : [
            {
              key: Key,
              version: `${ETag ?? LastModified?.getTime() ?? ''}-${Size}`,
              sizeBytes: Size,
              eventTimeMs: LastModified?.getTime() ?? null,
            },
          ],
    );
    ContinuationToken = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    if (ContinuationToken === undefined) return;
    if (tokens.has(ContinuationToken)) {
      throw new SourceFault(
        'source_unavailable',
        `the listing of the bucket ${s3.bucket} does not end: the store repeats a continuation token`,
      );
    }
    tokens.add(ContinuationToken);
  } while (tokens.size < pagesMax);
  throw new SourceFault(
    'source_too_large',
    `the listing of the bucket ${s3.bucket} has more than ${pagesMax} pages; narrow the prefix`,
  );
}

function toListing(page: readonly ListedEntry[], globs: ReturnType<typeof compileGlobs>, prefix: string): Listing {
  const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  const entries: ListedEntry[] = [];
  const faults: EntryFault[] = [];
  for (const entry of page) {
    if (!globs.matches(withoutControl(entry.key.slice(folder.length).replace(/^\/+/, '')))) continue;
    const fault = longKeyFault(entry.key) ?? controlFault(entry.key);
    if (fault === null) entries.push(entry);
    else faults.push(fault);
  }
  return { entries, faults };
}

async function readObject(
  client: S3Client,
  { key, version, sizeBytes, eventTimeMs = null }: ListedEntry,
  { s3, bytesMax }: S3ReaderOptions,
  signal: AbortSignal,
): Promise<ReadEntry | EntryFault | null> {
  const tooLarge = tooLargeFault(key, sizeBytes, bytesMax);
  if (tooLarge !== null) return tooLarge;
  const about = {
    key,
    version,
    fileName: fileNameOf(path.posix.basename(key)).slice(0, 255),
    contentType: null,
    sourcePath: oneLine(key).normalize('NFC'),
    metadata: { source_kind: 's3' },
    eventTimeMs,
  };
  if (sizeBytes === 0) return { ...about, content: null };
  const chunks = () =>
    download({ client, bucket: s3.bucket, name: key }, { start: 0, end: null, signal, onSize: boundOf(bytesMax) });
  if (sizeBytes > INLINE_BYTES_MAX) return { ...about, content: { openStream: () => Readable.from(chunks()) } };
  try {
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks()) parts.push(chunk);
    const bytes = Buffer.concat(parts);
    return { ...about, content: bytes.length === 0 ? null : { bytes } };
  } catch (error) {
    signal.throwIfAborted();
    if (isMissing(error)) return null;
    if (statusOf(error) === 403) return { key, fault: 'the store refuses to send it (403)' };
    throw toFault(error, s3.bucket);
  }
}

/** Refuse an object that has become too large since the listing. */
function boundOf(bytesMax: number): (sizeBytes: number) => void {
  return (sizeBytes) => {
    if (sizeBytes > bytesMax)
      throw new SourceFault('source_too_large', `an object has grown to ${sizeBytes} bytes`, { retryable: true });
  };
}

function toFault(error: unknown, bucket: string): unknown {
  if (error instanceof SourceFault) return error;
  if ((error as { name?: unknown }).name === 'NoSuchBucket' || statusOf(error) === 404) {
    return new SourceFault('source_missing', `there is no bucket ${bucket}; check the connection in the settings`);
  }
  const known = translate(error);
  if (known === error) return error;
  const status = statusOf(error);
  const why = status === undefined ? 'it does not answer' : `status ${status}`;
  return new SourceFault(
    status === 403 || status === 401 ? 'source_refused' : 'source_unavailable',
    `the bucket ${bucket} cannot be read (${why}); check its address and credentials`,
    {
      retryable: status === undefined || status >= 500,
      cause: error,
    },
  );
}
