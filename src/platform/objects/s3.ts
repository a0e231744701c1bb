import { createReadStream } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { Logger } from '../logger.ts';
import type { S3Settings } from '../storage-settings.ts';
import { READ_BYTES } from './durable-file.ts';
import { getEach, putEach } from './each-object.ts';
import {
  checkKey,
  checkPrefix,
  GET_BYTES_MAX,
  isKey,
  type ListedObject,
  type NewObject,
  type ObjectBody,
  type Objects,
  objectNotFound,
  objectTooLarge,
  type StoredObject,
} from './objects.ts';
import { openS3Client } from './s3-client.ts';
import { type DownloadRange, download } from './s3-download.ts';
import { isMissing, isNotImplemented, statusOf, translate } from './s3-errors.ts';
import { upload } from './s3-upload.ts';

const PART_BYTES = 8 * 1024 * 1024;
/** Limit of the S3 API on keys per list and per delete. */
const PAGE_KEYS_MAX = 1_000;
const DELETES_PENDING_MAX = 16;
const ABANDONED_MS = 2 * 24 * 3_600_000;

export interface S3Options {
  /** Size of a part of a large object, at least 5 MiB. */
  readonly partBytes?: number;
  readonly pageKeysMax?: number;
  /** Time for which a connection may be idle. */
  readonly idleMs?: number;
  /** Maximum number of times to send a request. */
  readonly attemptsMax?: number;
  /** Age at which the parts of an unfinished upload are removed. */
  readonly abandonedMs?: number;
}

/**
 * Open object storage in a bucket of S3 or an S3-compatible store, below `<prefix>objects/`. Remove the parts of
 * unfinished uploads that are older than two days.
 *
 * In addition to the errors of `Objects`, methods throw AppError `objects_refused` (503, not retryable) for wrong
 * credentials, bucket or region.
 */
export async function openS3Objects(settings: S3Settings, logger: Logger, options: S3Options = {}): Promise<Objects> {
  const client = openS3Client(settings, logger, options);
  const root = `${settings.prefix}objects/`;
  await removeAbandonedUploads(client, settings.bucket, root, options.abandonedMs ?? ABANDONED_MS).catch(
    (error: unknown) => {
      logger.debug({ status: statusOf(error) }, 'unfinished uploads to the object storage cannot be listed');
    },
  );
  return new S3Objects(client, settings.bucket, root, options);
}

class S3Objects implements Objects {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #root: string;
  readonly #partBytes: number;
  readonly #pageKeysMax: number;

  constructor(client: S3Client, bucket: string, root: string, options: S3Options) {
    this.#client = client;
    this.#bucket = bucket;
    this.#root = root;
    this.#partBytes = options.partBytes ?? PART_BYTES;
    this.#pageKeysMax = options.pageKeysMax ?? PAGE_KEYS_MAX;
  }

  async put(
    key: string,
    body: ObjectBody,
    { ifAbsent = false, signal }: { ifAbsent?: boolean; signal?: AbortSignal } = {},
  ): Promise<StoredObject> {
    checkKey(key);
    signal?.throwIfAborted();
    const target = { client: this.#client, bucket: this.#bucket, name: this.#root + key };
    return upload(target, body, { ifAbsent, signal, partBytes: this.#partBytes });
  }

  async adopt(file: string, key: string): Promise<StoredObject> {
    checkKey(key);
    const stored = await this.put(key, createReadStream(file, { highWaterMark: READ_BYTES }));
    await unlink(file);
    return stored;
  }

  async get(key: string, options: { maxBytes?: number; signal?: AbortSignal } = {}): Promise<Uint8Array> {
    checkKey(key);
    const { maxBytes = GET_BYTES_MAX, signal } = options;
    let bytes = new Uint8Array(0);
    let length = 0;
    const onSize = (sizeBytes: number) => {
      if (sizeBytes > maxBytes) throw objectTooLarge(key, sizeBytes, maxBytes);
      bytes = new Uint8Array(sizeBytes);
    };
    for await (const chunk of this.#read(key, { start: 0, end: null, signal, onSize })) {
      bytes.set(chunk, length);
      length += chunk.length;
    }
    return bytes;
  }

  getMany(keys: readonly string[], options: { maxBytes?: number; signal?: AbortSignal } = {}) {
    return getEach(this, keys, options);
  }

  putMany(objects: readonly NewObject[], options: { signal?: AbortSignal } = {}): Promise<void> {
    return putEach(this, objects, options);
  }

  stream(key: string, options: { start?: number; end?: number; signal?: AbortSignal } = {}): Readable {
    const { start = 0, end = null } = options;
    const stop = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
    const chunks = this.#read(key, { start, end, signal });
    return new Readable({
      highWaterMark: READ_BYTES,
      read() {
        chunks.next().then(
          ({ done, value }) => this.push(done ? null : value),
          (error: Error) => this.destroy(error),
        );
      },
      destroy(error, callback) {
        stop.abort();
        callback(error);
      },
    });
  }

  async *#read(key: string, range: DownloadRange): AsyncGenerator<Uint8Array> {
    checkKey(key);
    try {
      yield* download({ client: this.#client, bucket: this.#bucket, name: this.#root + key }, range);
    } catch (error) {
      range.signal?.throwIfAborted();
      throw isMissing(error) ? objectNotFound(key) : translate(error);
    }
  }

  async head(key: string, { signal }: { signal?: AbortSignal } = {}): Promise<{ sizeBytes: number } | null> {
    checkKey(key);
    try {
      const answer = await this.#client.send(
        new HeadObjectCommand(this.#address(key)),
        signal ? { abortSignal: signal } : {},
      );
      return { sizeBytes: answer.ContentLength ?? 0 };
    } catch (error) {
      signal?.throwIfAborted();
      if (isMissing(error)) return null;
      throw translate(error);
    }
  }

  async delete(key: string, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    checkKey(key);
    await this.#deleteOne(this.#root + key, signal);
  }

  async *list(prefix: string, { signal }: { signal?: AbortSignal } = {}): AsyncGenerator<ListedObject> {
    if (prefix !== '') checkPrefix(prefix);
    for await (const page of this.#pages(prefix, signal)) {
      for (const { name, ...listed } of page) {
        const key = name.slice(this.#root.length);
        if (isKey(key)) yield { key, ...listed }; // others are not ours: consoles create `folder/` objects
      }
    }
  }

  async deletePrefix(prefix: string, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    checkPrefix(prefix);
    for await (const page of this.#pages(prefix, signal)) {
      const names = page.map(({ name }) => name);
      if (await this.#deleteTogether(names, signal)) continue;
      for (let start = 0; start < names.length; start += DELETES_PENDING_MAX) {
        const batch = names.slice(start, start + DELETES_PENDING_MAX);
        await Promise.all(batch.map((name) => this.#deleteOne(name, signal)));
      }
    }
  }

  prepare(): void {}

  async close(): Promise<void> {
    this.#client.destroy();
  }

  #address(key: string) {
    return { Bucket: this.#bucket, Key: this.#root + key };
  }

  async #deleteOne(name: string, signal: AbortSignal | undefined): Promise<void> {
    try {
      const command = new DeleteObjectCommand({ Bucket: this.#bucket, Key: name });
      await this.#client.send(command, signal ? { abortSignal: signal } : {});
    } catch (error) {
      signal?.throwIfAborted();
      if (!isMissing(error)) throw translate(error);
    }
  }

  /** Delete objects in one request. Return false if the store has no such operation, or failed to delete some. */
  async #deleteTogether(names: readonly string[], signal: AbortSignal | undefined): Promise<boolean> {
    const Delete = { Objects: names.map((Key) => ({ Key })), Quiet: true };
    try {
      const command = new DeleteObjectsCommand({ Bucket: this.#bucket, Delete });
      const { Errors = [] } = await this.#client.send(command, signal ? { abortSignal: signal } : {});
      // The caller then deletes them one by one, and gets each error.
      return Errors.every(({ Code }) => Code === 'NoSuchKey');
    } catch (error) {
      signal?.throwIfAborted();
      if (isNotImplemented(error)) return false;
      throw translate(error);
    }
  }

  /** List names in the bucket (not keys). Each page starts after the last name, so that deletions don't shift pages. */
  async *#pages(prefix: string, signal: AbortSignal | undefined) {
    let StartAfter: string | undefined;
    for (;;) {
      const command = new ListObjectsV2Command({
        Bucket: this.#bucket,
        Prefix: this.#root + prefix,
        MaxKeys: this.#pageKeysMax,
        ...(StartAfter === undefined ? {} : { StartAfter }),
      });
      let answer: ListObjectsV2CommandOutput;
      try {
        answer = await this.#client.send(command, signal ? { abortSignal: signal } : {});
      } catch (error) {
        signal?.throwIfAborted();
        throw translate(error);
      }
      const page = (answer.Contents ?? []).flatMap(({ Key, Size, ETag, LastModified }) =>
        // Stores without entity tags have modification times in seconds.
        Key === undefined ? [] : [{ name: Key, sizeBytes: Size ?? 0, tag: ETag ?? LastModified?.toISOString() ?? '' }],
      );
      const last = page.at(-1)?.name;
      if (last === undefined) return;
      yield page;
      if (answer.IsTruncated !== true) return;
      if (StartAfter !== undefined && last <= StartAfter)
        throw new Error('the object storage returned the same page of a list twice');
      StartAfter = last;
    }
  }
}

/** Abort old unfinished uploads. One page of them is enough, since this runs at every startup. */
async function removeAbandonedUploads(
  client: S3Client,
  bucket: string,
  root: string,
  abandonedMs: number,
): Promise<void> {
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: root }));
  for (const { Key, UploadId, Initiated } of Uploads) {
    if (Key === undefined || !Initiated || Date.now() - Initiated.getTime() < abandonedMs) continue;
    await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId }));
  }
}
