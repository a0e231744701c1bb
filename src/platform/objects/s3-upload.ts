import { createHash, randomUUID } from 'node:crypto';
import { addAbortSignal, Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { runWithin } from '../deadline.ts';
import { type ObjectBody, objectExists, objectTooLarge, type StoredObject } from './objects.ts';
import { isConflict, isMissing, isPreconditionFailed, translate } from './s3-errors.ts';

const PARTS_MAX = 10_000;
/** Maximum number of parts being sent. An upload also holds the part that it is filling in memory. */
const PARTS_PENDING_MAX = 2;
const CONFLICTS_MAX = 8;
const ABORT_MS = 10_000;

export interface UploadTarget {
  readonly client: S3Client;
  readonly bucket: string;
  /** Full key within the bucket. */
  readonly name: string;
}

export interface UploadOptions {
  readonly ifAbsent: boolean;
  /** Size of a part, at least 5 MiB. A body that fits into one part is sent in one request. */
  readonly partBytes: number;
  readonly signal: AbortSignal | undefined;
}

/** Wrapper for an error of the body, to distinguish it from errors of the store. */
class BodyFailed extends Error {}

/**
 * Upload a body: in one request if it fits into one part, else in parts, of which at most three are in memory. Abort a
 * failed upload in the store. Send every part with its checksum, and the object with an id of its writer. If the
 * response to a write is lost, the id shows which writer wrote the object.
 * @throws AppError `object_exists`, `object_too_large` (413), those of `translate`, and the error of `body`
 */
export async function upload(target: UploadTarget, body: ObjectBody, options: UploadOptions): Promise<StoredObject> {
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  if (body instanceof Readable) {
    // If a stream fails before it is read, the later read throws. Without a listener, the error would end the process.
    body.on('error', () => {});
    addAbortSignal(signal, body);
  }
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const parts = cutParts(body, options.partBytes, (bytes) => {
    signal.throwIfAborted();
    hash.update(bytes);
    sizeBytes += bytes.length;
  });
  try {
    const first = await parts.next();
    if (first.done) throw new Error('a body has at least one part');
    const writer = randomUUID();
    if (first.value.isLast) await putWhole(target, first.value.bytes, { writer, ifAbsent: options.ifAbsent, signal });
    else await putParts(target, first.value.bytes, parts, { writer, ifAbsent: options.ifAbsent, signal, stop });
  } catch (error) {
    stop.abort(); // ends pending requests and a stream
    await parts.return(undefined);
    options.signal?.throwIfAborted();
    throw error instanceof BodyFailed ? error.cause : translate(error);
  }
  return { sizeBytes, sha256: hash.digest('hex') };
}

interface Write {
  readonly writer: string;
  readonly ifAbsent: boolean;
  readonly signal: AbortSignal;
}

async function putWhole({ client, bucket, name }: UploadTarget, bytes: Uint8Array, write: Write): Promise<void> {
  for (let conflicts = 0; ; conflicts++) {
    try {
      await client.send(
        new PutObjectCommand({
          Bucket: bucket,
          Key: name,
          Body: bytes,
          ContentLength: bytes.length,
          Metadata: { writer: write.writer },
          ...(write.ifAbsent ? { IfNoneMatch: '*' } : {}),
        }),
        { abortSignal: write.signal },
      );
      return;
    } catch (error) {
      if (isConflict(error) && conflicts < CONFLICTS_MAX) {
        await delay(Math.random() * 50 * 2 ** conflicts, undefined, { signal: write.signal });
        continue;
      }
      if (!isPreconditionFailed(error)) throw error;
      if (await isWrittenBy({ client, bucket, name }, write)) return;
      throw objectExists(name);
    }
  }
}

async function putParts(
  { client, bucket, name }: UploadTarget,
  first: Uint8Array,
  others: AsyncIterable<Part>,
  { writer, ifAbsent, signal, stop }: Write & { stop: AbortController },
): Promise<void> {
  const object = { Bucket: bucket, Key: name };
  const { UploadId } = await client.send(
    new CreateMultipartUploadCommand({ ...object, ChecksumAlgorithm: 'CRC32', Metadata: { writer } }),
    { abortSignal: signal },
  );
  const upload = { ...object, UploadId };
  const sent: CompletedPart[] = [];
  const pending = new Set<Promise<void>>();
  let failure: unknown;
  const send = async (bytes: Uint8Array) => {
    const PartNumber = pending.size + sent.length + 1;
    if (PartNumber > PARTS_MAX)
      throw objectTooLarge(name, PARTS_MAX * first.length + bytes.length, PARTS_MAX * first.length);
    const command = new UploadPartCommand({
      ...upload,
      PartNumber,
      Body: bytes,
      ContentLength: bytes.length,
      ChecksumAlgorithm: 'CRC32',
    });
    const sending = client.send(command, { abortSignal: signal }).then(
      ({ ETag, ChecksumCRC32 }) => {
        pending.delete(sending);
        sent.push({ PartNumber, ETag, ...(ChecksumCRC32 === undefined ? {} : { ChecksumCRC32 }) });
      },
      (error: unknown) => {
        pending.delete(sending);
        failure ??= error;
        stop.abort(error);
      },
    );
    pending.add(sending);
    if (pending.size >= PARTS_PENDING_MAX) await Promise.race(pending);
    if (failure !== undefined) throw failure;
  };
  try {
    await send(first);
    for await (const { bytes } of others) await send(bytes);
    await Promise.all(pending);
    if (failure !== undefined) throw failure;
    const Parts = sent.toSorted((a, b) => (a.PartNumber ?? 0) - (b.PartNumber ?? 0));
    await client.send(
      new CompleteMultipartUploadCommand({
        ...upload,
        MultipartUpload: { Parts },
        ...(ifAbsent ? { IfNoneMatch: '*' } : {}),
      }),
      { abortSignal: signal },
    );
  } catch (caught) {
    const error = failure ?? caught;
    const exists = isPreconditionFailed(error);
    // The request may have succeeded, its response been lost, and the retry failed.
    if ((exists || isMissing(error)) && (await isWrittenBy({ client, bucket, name }, { writer, signal }))) return;
    stop.abort();
    await Promise.all(pending);
    // If the upload can't be aborted now, a later startup removes it.
    await runWithin(ABORT_MS, undefined, (abortSignal) =>
      client.send(new AbortMultipartUploadCommand(upload), { abortSignal }),
    ).catch(() => undefined);
    throw exists ? objectExists(name) : error;
  }
}

async function isWrittenBy(
  { client, bucket, name }: UploadTarget,
  { writer, signal }: { writer: string; signal: AbortSignal },
): Promise<boolean> {
  try {
    const { Metadata } = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: name }), {
      abortSignal: signal,
    });
    return Metadata?.['writer'] === writer;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

interface Part {
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
}

/** Split the body into parts of `partBytes`. The last part has 1 to `partBytes` bytes, or 0 if the body is empty. */
async function* cutParts(
  body: ObjectBody,
  partBytes: number,
  onBytes: (bytes: Uint8Array) => void,
): AsyncGenerator<Part> {
  if (body instanceof Uint8Array) {
    onBytes(body);
    for (let start = 0; start === 0 || start < body.length; start += partBytes) {
      yield { bytes: body.subarray(start, start + partBytes), isLast: start + partBytes >= body.length };
    }
    return;
  }
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const bytes of readBody(body)) {
    onBytes(bytes);
    // Only the blocks of a stream are ours to keep.
    held.push(body instanceof Readable ? bytes : Buffer.from(bytes));
    heldBytes += bytes.length;
    if (heldBytes <= partBytes) continue;
    const whole = Buffer.concat(held, heldBytes);
    let start = 0;
    // Strictly greater, so that some bytes remain for the last part.
    for (; heldBytes - start > partBytes; start += partBytes) {
      yield { bytes: whole.subarray(start, start + partBytes), isLast: false };
    }
    held = [Buffer.from(whole.subarray(start))];
    heldBytes -= start;
  }
  yield { bytes: held.length === 1 && held[0] ? held[0] : Buffer.concat(held, heldBytes), isLast: true };
}

async function* readBody(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  } catch (cause) {
    throw new BodyFailed('the body failed', { cause });
  }
}
