import { createHash } from 'node:crypto';
import { AppError } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';

/** Named float arrays with a JSON header: the storage format of spaces, maps and calibration vectors. */
export interface FloatArtifact<Header> {
  readonly header: Header;
  /** Arrays in the order in which they were written. */
  readonly arrays: Readonly<Record<string, Float32Array>>;
}

const MAGIC = 'SVCFLT01';
/** Maximum size of an artifact: enough for a space of 10,000 texts by 4,096 axes, including the texts. */
const ARTIFACT_BYTES_MAX = 1024 * 1024 * 1024;

/**
 * Write an artifact. Layout, little-endian: magic (8 bytes) · length of the header (u32) · header (JSON: `{header,
 * arrays: [[name, length], …]}`, padded with spaces to a multiple of 4 bytes) · the arrays (float32), back to back.
 *
 * @returns SHA-256 of the object, which `readFloatArtifact` checks
 */
export async function writeFloatArtifact<Header>(
  objects: Objects,
  key: string,
  { header, arrays }: FloatArtifact<Header>,
): Promise<Buffer> {
  const listed = Object.entries(arrays).map(([name, array]) => [name, array.length]);
  const json = Buffer.from(JSON.stringify({ header, arrays: listed }));
  const padding = (4 - ((MAGIC.length + 4 + json.length) % 4)) % 4;
  const head = Buffer.alloc(MAGIC.length + 4 + json.length + padding, 0x20);
  head.write(MAGIC, 'latin1');
  head.writeUInt32LE(json.length + padding, MAGIC.length);
  json.copy(head, MAGIC.length + 4);
  const bodies = Object.values(arrays).map((array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength));
  const bytes = Buffer.concat([head, ...bodies]);
  const sha256 = createHash('sha256').update(bytes).digest();
  await objects.put(key, bytes);
  return sha256;
}

/** Read an artifact. @throws AppError `artifact_corrupt` (500) if the object is missing, incomplete or changed */
export async function readFloatArtifact<Header>(
  objects: Objects,
  key: string,
  sha256: Uint8Array,
): Promise<FloatArtifact<Header>> {
  let bytes: Uint8Array;
  try {
    bytes = await objects.get(key, { maxBytes: ARTIFACT_BYTES_MAX });
  } catch (error) {
    if (error instanceof AppError && error.code === 'object_not_found') throw corrupt(key, error);
    throw error;
  }
  if (!createHash('sha256').update(bytes).digest().equals(sha256)) throw corrupt(key);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.toString('latin1', 0, MAGIC.length) !== MAGIC) throw corrupt(key);
  const headEnd = MAGIC.length + 4 + buffer.readUInt32LE(MAGIC.length);
  const { header, arrays: listed } = JSON.parse(buffer.toString('utf8', MAGIC.length + 4, headEnd)) as {
    header: Header;
    arrays: [string, number][];
  };
  const arrays: Record<string, Float32Array> = {};
  let at = headEnd;
  for (const [name, length] of listed) {
    const end = at + length * Float32Array.BYTES_PER_ELEMENT;
    if (end > buffer.length) throw corrupt(key);
    // Copy the bytes to align the floats, since they may start anywhere in their buffer.
    arrays[name] = new Float32Array(Uint8Array.from(buffer.subarray(at, end)).buffer);
    at = end;
  }
  return { header, arrays };
}

function corrupt(key: string, cause?: unknown): AppError {
  return new AppError({
    code: 'artifact_corrupt',
    status: 500,
    message: `the stored artifact ${key} is damaged or missing; fit again, or activate an earlier version (service projections list)`,
    cause,
  });
}
