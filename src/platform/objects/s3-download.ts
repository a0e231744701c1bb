import { addAbortSignal, type Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { GetObjectCommand, type GetObjectCommandOutput, type S3Client } from '@aws-sdk/client-s3';
import { AppError, dependencyDown } from '../errors.ts';
import { isPreconditionFailed, isRangeNotSatisfiable, translate } from './s3-errors.ts';

/** Maximum number of times to resume an interrupted download. */
const RESUMES_MAX = 3;

export interface DownloadSource {
  readonly client: S3Client;
  readonly bucket: string;
  /** Full key within the bucket. */
  readonly name: string;
}

export interface DownloadRange {
  readonly start: number;
  /** Last byte, inclusive; null to read to the end of the object. */
  readonly end: number | null;
  readonly signal: AbortSignal | undefined;
  /** Called with the number of bytes to expect. If it throws, the download ends. */
  readonly onSize?: (sizeBytes: number) => void;
}

/**
 * Download one version of an object, and resume after a lost connection. Verify a download of the whole object by its
 * checksum, if it has one. The last bytes are yielded before the verification, but the generator ends only after it.
 * @throws the error of the request, untranslated; AppError `objects_unavailable` after the first bytes
 */
export async function* download(source: DownloadSource, range: DownloadRange): AsyncGenerator<Uint8Array> {
  const { client, bucket: Bucket, name: Key } = source;
  const { end, signal } = range;
  let position = range.start;
  let first: { ETag: string | undefined; crc: string | undefined } | null = null;
  let crc = 0;
  for (let resumes = 0; ; resumes++) {
    const startPosition = position;
    const isWhole = position === 0 && end === null;
    const command: GetObjectCommand = new GetObjectCommand({
      Bucket,
      Key,
      ...(isWhole ? {} : { Range: `bytes=${position}-${end ?? ''}` }),
      ...(first?.ETag === undefined ? {} : { IfMatch: first.ETag }),
    });
    let body: Readable | undefined;
    try {
      const answer: GetObjectCommandOutput = await client.send(command, signal ? { abortSignal: signal } : {});
      body = answer.Body as Readable;
      const sizeBytes = answer.ContentLength;
      if (sizeBytes === undefined) throw interrupted();
      if (first === null) range.onSize?.(sizeBytes);
      first ??= { ETag: answer.ETag, crc: isWhole ? answer.ChecksumCRC32 : undefined };
      if (signal) addAbortSignal(signal, body);
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        position += chunk.length;
        crc = crc32(chunk, crc);
        yield chunk;
      }
      if (position < startPosition + sizeBytes || !hasChecksum(crc, first.crc)) throw interrupted();
      return;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof AppError) throw error;
      if (body === undefined) {
        if (first === null && isRangeNotSatisfiable(error)) return;
        if (isPreconditionFailed(error)) {
          throw dependencyDown('objects', 'an object was replaced while it was read; try again', error);
        }
        throw first === null ? error : translate(error);
      }
      if (!isOfNetwork(error) || position === startPosition || resumes === RESUMES_MAX) throw interrupted(error);
    } finally {
      body?.destroy();
    }
  }
}

/**
 * @param expected S3's CRC-32 in Base64; for a multipart upload, the checksum of the parts' checksums, and their number
 */
function hasChecksum(crc: number, expected: string | undefined): boolean {
  if (expected === undefined || expected.includes('-')) return true;
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes.toString('base64') === expected;
}

/** Return true if the network failed; false if the bytes aren't those of the object. */
function isOfNetwork(error: unknown): boolean {
  const { code, name } = Object(error) as { code?: unknown; name?: unknown };
  return typeof code === 'string' || name === 'TimeoutError';
}

function interrupted(cause?: unknown): AppError {
  return dependencyDown('objects', 'the object storage interrupted a download, or sent wrong bytes; try again', cause);
}
