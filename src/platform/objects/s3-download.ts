import { addAbortSignal, type Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { GetObjectCommand, type GetObjectCommandOutput, type S3Client } from '@aws-sdk/client-s3';
import { AppError, dependencyDown } from '../errors.ts';
import { isBehindEnd, isPreconditionFailed, translate } from './s3-errors.ts';

/** How often a download that broke off is taken up again where it was. */
const RESUMES_MAX = 3;

export interface DownloadSource {
  readonly client: S3Client;
  readonly bucket: string;
  /** The whole key in the bucket. */
  readonly name: string;
}

export interface DownloadRange {
  readonly start: number;
  /** Included; null: to the end of the object. */
  readonly end: number | null;
  readonly signal: AbortSignal | undefined;
  /** Gets the bytes to come, and may refuse them by an error. */
  readonly onSize?: (sizeBytes: number) => void;
}

/**
 * The bytes of an object, taken up again where the connection was lost, of one version of the object in any case. A
 * whole object that has a checksum is held against it over all that was put together; the last bytes come before that
 * is known, the end only after it.
 *
 * @throws what the request fails with, untranslated; AppError `objects_unavailable` once bytes have come
 */
export async function* download(source: DownloadSource, range: DownloadRange): AsyncGenerator<Uint8Array> {
  const { client, bucket: Bucket, name: Key } = source;
  const { end, signal } = range;
  let position = range.start;
  let first: { ETag: string | undefined; crc: string | undefined } | null = null;
  let crc = 0;
  for (let resumes = 0; ; resumes++) {
    const began = position;
    const isWhole = position === 0 && end === null;
    const command: GetObjectCommand = new GetObjectCommand({
      ...{ Bucket, Key },
      ...(isWhole ? {} : { Range: `bytes=${position}-${end ?? ''}` }),
      ...(first?.ETag === undefined ? {} : { IfMatch: first.ETag }),
    });
    let body: Readable | undefined;
    try {
      const answer: GetObjectCommandOutput = await client.send(command, signal ? { abortSignal: signal } : {});
      body = answer.Body as Readable;
      const sizeBytes = answer.ContentLength;
      if (sizeBytes === undefined) throw brokenOff();
      if (first === null) range.onSize?.(sizeBytes);
      first ??= { ETag: answer.ETag, crc: isWhole ? answer.ChecksumCRC32 : undefined };
      if (signal) addAbortSignal(signal, body);
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        position += chunk.length;
        crc = crc32(chunk, crc);
        yield chunk;
      }
      if (position < began + sizeBytes || !hasChecksum(crc, first.crc)) throw brokenOff();
      return;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof AppError) throw error;
      if (body === undefined) {
        if (first === null && isBehindEnd(error)) return;
        if (isPreconditionFailed(error)) {
          throw dependencyDown('objects', 'an object was replaced while it was read', error);
        }
        throw first === null ? error : translate(error);
      }
      if (!isOfNetwork(error) || position === began || resumes === RESUMES_MAX) throw brokenOff(error);
    } finally {
      body?.destroy();
    }
  }
}

/** @param expected CRC-32 as S3 has it, in Base64; of an upload in parts it is one of their checksums, with their number */
function hasChecksum(crc: number, expected: string | undefined): boolean {
  if (expected === undefined || expected.includes('-')) return true;
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes.toString('base64') === expected;
}

/** The way was cut, in contrast to bytes that are not those of the object. */
function isOfNetwork(error: unknown): boolean {
  const { code, name } = Object(error) as { code?: unknown; name?: unknown };
  return typeof code === 'string' || name === 'TimeoutError';
}

function brokenOff(cause?: unknown): AppError {
  return dependencyDown(
    'objects',
    'the object storage broke off, or sent bytes that are not those of the object',
    cause,
  );
}
