import { z } from 'zod';
import { FileName, UploadRequest } from '../schema.ts';
import { DIMENSION_MAX, TEXT_CHARS_MAX } from './vector-document.ts';

export const ROWS_MAX = 1_000;

const { metadata, source_path, collection_id, privacy_level, classification, public_accessible, access } =
  UploadRequest.shape;

export const VectorRow = z.strictObject({
  id: source_path
    .unwrap()
    .min(1)
    .describe('id in the old index; the document gets it as source_path, and a later import replaces it'),
  vector: z
    .union([z.array(z.number()).min(1).max(DIMENSION_MAX), z.base64()])
    .describe('numbers, or float32 in base64, little-endian; needs the dimension of the model and length 1'),
  text: z
    .string()
    .max(TEXT_CHARS_MAX)
    .nullish()
    .describe('text of the vector; without it, only vector search finds the document'),
  file_name: FileName.optional().describe('name of the document; default: its id'),
  metadata,
});
export type VectorRow = z.output<typeof VectorRow>;

/** Body of `POST /v1/buckets/{bucket}/vectors`. Fields other than the rows apply to all rows. */
export const ImportRequest = z.object({
  model: z.string().min(1).describe('id of the model that made the vectors'),
  rows: z.array(VectorRow).min(1).max(ROWS_MAX),
  normalize: z.boolean().default(false).describe('scale all vectors to length 1'),
  collection_id,
  privacy_level,
  classification,
  public_accessible,
  access,
  dry_run: z.boolean().default(false).describe('check the request, and write nothing'),
});
export type ImportRequest = z.output<typeof ImportRequest>;

export const ImportedRow = z.object({
  id: z.string().describe('id of the row'),
  document_id: z.string().nullable().describe('null in a dry run, for a new document'),
  job_id: z.string().nullable().describe('null if the document is searchable already, and in a dry run'),
  action: z.enum(['add', 'replace', 'keep']),
});
export type ImportedRow = z.output<typeof ImportedRow>;

export const ImportReply = z
  .object({
    bucket_id: z.string(),
    model: z.string(),
    space: z.string().describe('latent space of the vectors in the bucket'),
    map: z
      .object({
        version: z.int(),
        score: z.number().nullable().describe('share of held-out texts that a search finds first through the map'),
      })
      .nullable()
      .describe('map of the model into the space; null if the vectors stay as they are'),
    dry_run: z.boolean(),
    counts: z.object({ added: z.int(), replaced: z.int(), unchanged: z.int(), without_text: z.int() }),
    documents: z.array(ImportedRow),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'VectorImport' });
export type ImportReply = z.output<typeof ImportReply>;
