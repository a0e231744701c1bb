import { z } from 'zod';
import { JobError } from '../../jobs/lease.ts';

/** Media type of the stored content of an imported vector. */
export const VECTOR_TYPE = 'application/vnd.service.vector+json';
/** `file_type` of such a document. */
export const VECTOR_FORMAT = 'vector';
/** Maximum length of the text of a vector, in UTF-16 code units. */
export const TEXT_CHARS_MAX = 32_000;
/** Maximum dimension of any model. */
export const DIMENSION_MAX = 16_384;
/** Maximum stored content: the longest vector in base64, and a text whose every character is escaped. */
export const CONTENT_BYTES_MAX = 512 * 1024;

/** Vector of a model for one chunk, as stored by an import. */
export interface VectorDocument {
  /** Id and revision of the model that computed the vector. */
  readonly model: string;
  readonly revision: string;
  /** Native vector of unit length. */
  readonly vector: Float32Array;
  /** Text of the chunk; null if unknown. */
  readonly text: string | null;
}

/** JSON content of a stored vector: float32, little-endian, in base64. */
const Content = z.strictObject({
  model: z.string().min(1),
  revision: z.string(),
  vector: z.base64(),
  text: z.string().max(TEXT_CHARS_MAX).nullable(),
});

/** Encode a vector as JSON. Equal vectors give equal bytes. */
export function encodeVectorDocument({ model, revision, vector, text }: VectorDocument): Buffer {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  const content: z.output<typeof Content> = { model, revision, vector: bytes.toString('base64'), text };
  return Buffer.from(JSON.stringify(content), 'utf8');
}

/** @throws JobError `corrupt` for bytes that no import wrote */
export function decodeVectorDocument(bytes: Uint8Array): VectorDocument {
  const { model, revision, vector, text } = parseContent(bytes);
  const values = floatsOfBase64(vector);
  if (values === null || vectorFault(values) !== null) throw corrupt();
  return { model, revision, vector: values, text };
}

function parseContent(bytes: Uint8Array): z.output<typeof Content> {
  try {
    return Content.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch (error) {
    throw corrupt(error);
  }
}

function corrupt(cause?: unknown): JobError {
  const message = `the file is not an imported vector; only "service index import" may store files of type ${VECTOR_TYPE}`;
  return new JobError({ category: 'corrupt', message, retryable: false }, cause);
}

/** Decode little-endian float32 from base64. Return null if the number of bytes isn't a multiple of 4. */
export function floatsOfBase64(text: string): Float32Array | null {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === 0 || bytes.length % Float32Array.BYTES_PER_ELEMENT !== 0) return null;
  return new Float32Array(Uint8Array.from(bytes).buffer);
}

/** Maximum deviation of a unit vector's length from 1, above the rounding error of 16-bit numbers. */
const LENGTH_TOLERANCE = 0.01;

/** Return the reason why a vector isn't a unit vector of finite numbers, or null. */
export function vectorFault(vector: Float32Array): string | null {
  const place = vector.findIndex((value) => !Number.isFinite(value));
  if (place >= 0) return `number ${place + 1} is ${vector[place]}; all numbers must be finite`;
  const length = lengthOf(vector);
  if (length === 0) return 'has only zeros; it needs at least one other number';
  if (Math.abs(length - 1) <= LENGTH_TOLERANCE) return null;
  return `has the length ${length.toPrecision(4)} instead of 1; set normalize if the old index compared by cosine`;
}

/** Scale a vector to unit length. A vector of zeros or with non-finite numbers stays unchanged. */
export function unitVector(vector: Float32Array): Float32Array {
  const length = lengthOf(vector);
  return Number.isFinite(length) && length > 0 ? vector.map((value) => value / length) : vector;
}

function lengthOf(vector: Float32Array): number {
  let squares = 0;
  for (const value of vector) squares += value * value;
  return Math.sqrt(squares);
}
