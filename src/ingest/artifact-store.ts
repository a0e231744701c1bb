import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import { freeMemory, ownsMemory } from '../platform/free-memory.ts';
import { joinArrays } from '../platform/join-arrays.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Threads } from '../platform/threads.ts';
import { type ChunkArtifact, corrupt, decodeArtifact, encodeOnThread, MAGIC_PARTS } from './artifact.ts';

const MAGIC_BYTES = 8;
/** Maximum artifact size: 20,000 chunks with the longest vectors that a model may have. */
const ARTIFACT_BYTES_MAX = 1024 * 1024 * 1024;
const PART_BYTES_MAX = 256 * 1024 * 1024;

/** Read a complete artifact. @throws the errors of `readArtifactParts` */
export async function readArtifact(objects: Objects, key: string): Promise<ChunkArtifact> {
  const parts: ChunkArtifact[] = [];
  for await (const part of readArtifactParts(objects, key)) parts.push(part);
  return parts.length === 1 ? (parts[0] as ChunkArtifact) : joinParts(parts);
}

/**
 * Read an artifact in parts of consecutive chunks. Only a long document has several parts. Artifact layout 3: magic (8
 * bytes) · for each part its length (u32, little-endian) and the part in layout 2 · 0 (u32).
 * @param options.withVectors false to leave the vectors out
 * @throws AppError `object_not_found` (404), `artifact_corrupt` (500); both may also occur after some parts
 */
export async function* readArtifactParts(
  objects: Objects,
  key: string,
  options: { signal?: AbortSignal; withVectors?: boolean } = {},
): AsyncGenerator<ChunkArtifact> {
  const { withVectors = true, ...stream } = options;
  const source = new ByteReader(objects.stream(key, stream));
  try {
    const magic = await source.take(MAGIC_BYTES);
    if (magic.toString('latin1') !== MAGIC_PARTS) {
      yield decodeArtifact(Buffer.concat([magic, await source.takeRemaining(ARTIFACT_BYTES_MAX)]), { withVectors });
      return;
    }
    let chunks = 0;
    for (;;) {
      const length = (await source.take(4)).readUInt32LE();
      if (length === 0) break;
      if (length > PART_BYTES_MAX) throw corrupt();
      const bytes = await source.take(length);
      const part = decodeArtifact(bytes, { withVectors });
      // 24 clients that read a document take up to 132 MiB without this, and 120 are allowed.
      freeMemory(bytes);
      // The checksum proves that a part is complete, and the index of its first chunk that no part is missing.
      if (part.chunks[0]?.index !== chunks) throw corrupt();
      chunks += part.chunks.length;
      yield part;
    }
    if (chunks === 0 || (await source.takeRemaining(1)).length > 0) throw corrupt();
  } finally {
    source.close();
  }
}

/** Writer of an artifact, part by part. A single part is written as layout 2. */
export class ArtifactWriter {
  readonly #context: { readonly objects: Objects; readonly threads: Threads };
  readonly #key: string;
  readonly #signal: AbortSignal;
  #stream: { readonly pipe: PassThrough; readonly stored: Promise<unknown> } | null = null;

  constructor(
    context: { readonly objects: Objects; readonly threads: Threads },
    key: string,
    options: { signal: AbortSignal },
  ) {
    this.#context = context;
    this.#key = key;
    this.#signal = options.signal;
  }

  /** @param isLast true for the last part. @throws the errors of the storage */
  async write(part: ChunkArtifact, isLast: boolean): Promise<void> {
    const bytes = await encodeOnThread(this.#context.threads, part, this.#signal);
    if (isLast && this.#stream === null) {
      await this.#context.objects.put(this.#key, bytes);
      return;
    }
    this.#stream ??= this.#open();
    await this.#send(lengthOf(bytes.length));
    await this.#send(bytes);
    if (!isLast) return;
    await this.#send(lengthOf(0));
    this.#stream.pipe.end();
    await this.#stream.stored;
  }

  /** Delete an incomplete artifact. */
  async abandon(reason: unknown): Promise<void> {
    this.#stream?.pipe.destroy(reason instanceof Error ? reason : new Error('writing the artifact was abandoned'));
    await this.#stream?.stored.catch(() => {});
  }

  #open() {
    const pipe = new PassThrough();
    pipe.on('error', () => {}); // The storage sees the same error and reports it.
    const stored = this.#context.objects.put(this.#key, pipe, { signal: this.#signal });
    stored.catch(() => {}); // The error is handled where the promise is awaited.
    pipe.write(MAGIC_PARTS, 'latin1');
    return { pipe, stored };
  }

  /** Write bytes, and wait until the storage has consumed enough of the earlier ones. */
  async #send(bytes: Uint8Array): Promise<void> {
    const { pipe, stored } = this.#stream as { pipe: PassThrough; stored: Promise<unknown> };
    // A failed write never drains.
    if (!pipe.write(bytes)) await Promise.race([once(pipe, 'drain'), stored]);
  }
}

function lengthOf(partBytes: number): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(partBytes);
  return length;
}

function joinParts(parts: readonly ChunkArtifact[]): ChunkArtifact {
  const first = parts[0];
  if (first === undefined) throw corrupt();
  const native = parts.map((part) => part.native);
  return {
    ...first,
    chunks: parts.flatMap(({ chunks }) => chunks),
    vectors: joinArrays(
      Float32Array,
      parts.map(({ vectors }) => vectors),
    ),
    native: first.native && {
      ...first.native,
      vectors: joinArrays(
        Uint16Array,
        native.map((part) => part?.vectors ?? new Uint16Array(0)),
      ),
    },
  };
}

/** Reader of exact numbers of bytes from a stream. */
class ByteReader {
  readonly #stream: Readable;
  readonly #iterator: AsyncIterator<Buffer>;
  #held: Buffer[] = [];
  #length = 0;

  constructor(stream: Readable) {
    this.#stream = stream;
    this.#iterator = (stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  }

  /** Read exactly `bytes` bytes into memory of their own. @throws AppError `artifact_corrupt` if there are fewer */
  async take(bytes: number): Promise<Buffer<ArrayBuffer>> {
    while (this.#length < bytes) if (!(await this.#read())) throw corrupt();
    const taken = Buffer.allocUnsafeSlow(bytes);
    for (let at = 0; at < bytes; ) {
      const part = this.#held[0] as Buffer;
      const copied = part.copy(taken, at);
      at += copied;
      if (copied < part.length) this.#held[0] = part.subarray(copied);
      else {
        this.#held.shift();
        if (ownsMemory(part)) freeMemory(part);
      }
    }
    this.#length -= bytes;
    return taken;
  }

  /** Read all remaining bytes. @throws AppError `artifact_corrupt` if there are more than `bytesMax` */
  async takeRemaining(bytesMax: number): Promise<Buffer> {
    while (await this.#read()) if (this.#length > bytesMax) throw corrupt();
    return Buffer.concat(this.#held);
  }

  close(): void {
    this.#stream.on('error', () => {});
    this.#stream.destroy();
  }

  async #read(): Promise<boolean> {
    const { done, value } = await this.#iterator.next();
    if (done) return false;
    this.#held.push(value);
    this.#length += value.length;
    return true;
  }
}
