import { isUtf8 } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import { createWriteStream, type WriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { finished, Writable } from 'node:stream';
import { type AppError, dependencyDown, invalidRequest } from '../../src/platform/errors.ts';
import { newId } from '../../src/platform/ids.ts';
import { bodyTooLarge, clientGone } from '../errors.ts';
import type { UploadedFile } from '../route.ts';
import { MultipartParser, type PartHandler, type PartHeaders } from './multipart.ts';

const FIELDS_MAX = 64;
const FIELD_BYTES_MAX = 1024 * 1024;
/** Maximum bytes of boundaries, part headers and fields around the file. */
export const MULTIPART_OVERHEAD_BYTES_MAX = FIELD_BYTES_MAX + 64 * 1024;
const WRITE_BUFFER_BYTES = 1024 * 1024;

export interface Upload {
  /** Values by field name; an array for a repeated field. */
  readonly fields: Record<string, string | string[]>;
  readonly file: UploadedFile;
}

/**
 * Receive a `multipart/form-data` body. Write the only file part, named `file`, under a generated name into `directory`
 * (created if missing; mode 0600 for the file). Keep at most 64 fields of 1 MiB in total. The caller must remove the
 * file. If this throws, nothing is left on disk.
 * @throws AppError 400, 413, 503 `uploads_unavailable` if the file can't be written, or `client_gone`
 */
export async function receiveUpload(
  req: IncomingMessage,
  options: { boundary: string; directory: string; fileBytesMax: number },
): Promise<Upload> {
  await mkdir(options.directory, { recursive: true }).catch((error) => {
    throw cannotStore(error);
  });
  const sink = new UploadSink(options);
  try {
    await new Promise<void>((resolve, reject) => {
      // pipeline() would destroy the request and its socket before a response can be sent.
      sink.on('finish', resolve).on('error', reject);
      req.on('error', (error) => reject(clientGone(error)));
      req.on('close', () => {
        if (!req.complete) reject(clientGone());
      });
      req.pipe(sink);
    });
    return sink.result();
  } catch (error) {
    req.unpipe(sink);
    await sink.discard();
    throw error;
  }
}

/** Remove an upload's file, unless it was moved elsewhere. */
export async function removeUpload(file: UploadedFile): Promise<void> {
  await rm(file.path, { force: true });
}

class UploadSink extends Writable implements PartHandler {
  readonly #parser: MultipartParser;
  readonly #directory: string;
  readonly #fileBytesMax: number;
  readonly #fields: Record<string, string | string[]> = Object.create(null);
  #fieldCount = 0;
  #fieldBytes = 0;
  #bodyBytes = 0;
  #field: { name: string; chunks: Buffer[] } | null = null;
  #file: { stream: WriteStream; headers: PartHeaders; hash: Hash; sizeBytes: number; mustDrain: boolean } | null = null;
  #sha256 = '';

  constructor(options: { boundary: string; directory: string; fileBytesMax: number }) {
    super({ highWaterMark: WRITE_BUFFER_BYTES });
    this.#parser = new MultipartParser(options.boundary, this);
    this.#directory = options.directory;
    this.#fileBytesMax = options.fileBytesMax;
  }

  result(): Upload {
    if (this.#file === null) throw fileRequired();
    const { stream, headers, sizeBytes } = this.#file;
    const file: UploadedFile = {
      path: String(stream.path),
      fileName: headers.fileName ?? '',
      contentType: headers.contentType,
      sizeBytes,
      sha256: this.#sha256,
    };
    return { fields: this.#fields, file };
  }

  async discard(): Promise<void> {
    this.destroy();
    if (this.#file === null) return;
    const { stream } = this.#file;
    if (!stream.closed) {
      const closed = new Promise<void>((resolve) => stream.once('close', resolve));
      stream.destroy();
      await closed;
    }
    await rm(stream.path, { force: true });
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    try {
      this.#bodyBytes += chunk.length;
      const limitBytes = this.#fileBytesMax + MULTIPART_OVERHEAD_BYTES_MAX;
      if (this.#bodyBytes > limitBytes) throw bodyTooLarge(limitBytes);
      this.#parser.write(chunk);
    } catch (error) {
      done(error as Error);
      return;
    }
    if (this.#file?.mustDrain) {
      this.#file.mustDrain = false;
      this.#file.stream.once('drain', () => done());
    } else {
      done();
    }
  }

  override _final(done: (error?: Error | null) => void): void {
    try {
      this.#parser.end();
      if (this.#file === null) throw fileRequired();
    } catch (error) {
      done(error as Error);
      return;
    }
    this.#sha256 = this.#file.hash.digest('hex');
    finished(this.#file.stream, (error) => done(error ? cannotStore(error) : null));
    this.#file.stream.end();
  }

  partBegin(headers: PartHeaders): void {
    if (headers.fileName === null) {
      if (++this.#fieldCount > FIELDS_MAX) throw invalidRequest(`the body has more than ${FIELDS_MAX} fields`);
      if (headers.name === '__proto__') throw invalidRequest('the field "__proto__" is not allowed');
      this.#field = { name: headers.name, chunks: [] };
      return;
    }
    if (this.#file !== null || headers.name !== 'file') throw fileRequired();
    const stream = createWriteStream(path.join(this.#directory, newId('upload')), {
      flags: 'wx',
      mode: 0o600,
      highWaterMark: WRITE_BUFFER_BYTES,
    });
    stream.on('error', (error) => this.destroy(cannotStore(error)));
    this.#file = { stream, headers, hash: createHash('sha256'), sizeBytes: 0, mustDrain: false };
  }

  partData(bytes: Buffer): void {
    if (this.#field !== null) {
      this.#fieldBytes += bytes.length;
      if (this.#fieldBytes > FIELD_BYTES_MAX)
        throw bodyTooLarge(FIELD_BYTES_MAX, 'this limit is for all fields together');
      this.#field.chunks.push(bytes);
      return;
    }
    const file = this.#file;
    if (file === null) return;
    file.sizeBytes += bytes.length;
    if (file.sizeBytes > this.#fileBytesMax) throw bodyTooLarge(this.#fileBytesMax);
    file.hash.update(bytes);
    file.mustDrain = !file.stream.write(bytes);
  }

  partEnd(): void {
    if (this.#field === null) return;
    const { name, chunks } = this.#field;
    this.#field = null;
    const bytes = Buffer.concat(chunks);
    if (!isUtf8(bytes)) throw invalidRequest(`${name}: is not valid UTF-8`, name, 'invalid_utf8');
    const value = bytes.toString('utf8');
    const earlier = this.#fields[name];
    this.#fields[name] = earlier === undefined ? value : [earlier, value].flat();
  }
}

function cannotStore(error: unknown): AppError {
  return dependencyDown('uploads', 'the upload could not be stored; try again', error);
}

function fileRequired(): AppError {
  return invalidRequest('file: send exactly one file, in a part named "file" with a file name', 'file');
}
