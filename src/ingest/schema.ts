import { z } from 'zod';
import { AccessInput } from '../documents/access-list.ts';
import {
  CLASSIFICATIONS,
  DOCUMENT_STATUSES,
  formBoolean,
  IngestFields,
  OVERLAP_RULE,
  overlapFits,
} from '../documents/schema.ts';
import { UserMetadataInput } from '../documents/user-metadata.ts';
import { fileNameOf, oneLine } from '../platform/printable.ts';
import { textInteger } from '../platform/zod-integers.ts';

/**
 * File name as given by the uploader, in NFC, since macOS sends NFD. It is displayed and searched, but never used as a
 * path. Bidirectional control characters become `_`: chat programs add them to harmless names, but they can also
 * disguise `txt.exe` as `exe.txt`.
 */
export const FileName = z
  .string()
  .normalize('NFC')
  .min(1, 'must not be empty')
  .max(255, 'must be at most 255 characters')
  .refine((name) => name.isWellFormed() && !/\p{Cc}/u.test(name), 'must not have control characters')
  .refine((name) => name !== '.' && name !== '..', 'must be a name')
  .refine((name) => !/[/\\]/.test(name), 'must be a name without a path; put a path into source_path')
  .overwrite(fileNameOf)
  .meta({ pattern: '^[^/\\\\\\u0000-\\u001f\\u007f-\\u009f]+$', not: { enum: ['.', '..'] } });

/** Maximum length of a JSON multipart field, many times the size of real metadata. */
const JSON_FIELD_CHARS_MAX = 64 * 1024;

/** Build a schema that also accepts JSON text, since multipart fields are text. */
function orJsonText<T extends z.ZodType>(schema: T) {
  return z.preprocess((value, context) => {
    if (typeof value !== 'string') return value;
    if (value.length > JSON_FIELD_CHARS_MAX) {
      context.addIssue({ code: 'custom', message: `must have at most ${JSON_FIELD_CHARS_MAX} characters` });
      return z.NEVER;
    }
    try {
      return JSON.parse(value) as unknown;
    } catch {
      context.addIssue({ code: 'custom', message: 'must be valid JSON' });
      return z.NEVER;
    }
  }, schema);
}

/** Upload fields common to multipart and JSON requests. */
const UploadFields = z.object({
  content_type: z.string().max(255).optional(),
  source_path: z
    .string()
    .normalize('NFC')
    .max(4096)
    .refine((path) => path.isWellFormed() && !/\p{Cc}/u.test(path), 'must not have control characters')
    .overwrite(oneLine)
    .meta({ pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' })
    .optional()
    .describe('origin of the file, for citations'),
  metadata: orJsonText(UserMetadataInput).optional(),
  collection_id: z.string().normalize('NFC').min(1).optional(),
  privacy_level: textInteger(z.int().min(1).max(10).optional()),
  classification: z.enum(CLASSIFICATIONS).optional(),
  public_accessible: formBoolean(z.boolean().optional()),
  access: orJsonText(AccessInput)
    .optional()
    .describe('users and groups that may read it; default: those of the bucket'),
  on_duplicate: z
    .enum(['link', 'reject', 'allow', 'replace'])
    .default('link')
    .describe('replace: the document of the same source_path gets this content'),
  ...IngestFields.shape,
});

/**
 * Body of `POST /v1/buckets/{bucket}/documents`. Multipart has the part `file`; JSON has exactly one kind of content.
 */
export const UploadRequest = UploadFields.extend({
  filename: FileName.optional(),
  text: z.string().optional(),
  content: z.string().optional(),
  content_base64: z.base64('must be standard base64').optional(),
})
  .superRefine((fields, context) => {
    if (!overlapFits(fields)) context.addIssue({ code: 'custom', ...OVERLAP_RULE, path: [...OVERLAP_RULE.path] });
    if (fields.on_duplicate === 'replace' && !fields.source_path) {
      const message = 'is required if on_duplicate is replace, because it names the document to replace';
      context.addIssue({ code: 'custom', path: ['source_path'], message });
    }
  })
  .meta({
    required: ['filename'],
    oneOf: [{ required: ['text'] }, { required: ['content'] }, { required: ['content_base64'] }],
  });
export type UploadRequest = z.output<typeof UploadRequest>;

export const UploadReply = z
  .object({
    id: z.string(),
    job_id: z.string().nullable(),
    bucket_id: z.string(),
    collection_id: z.string().nullable(),
    status: z.enum(DOCUMENT_STATUSES),
    duplicate_of: z
      .string()
      .optional()
      .describe('id of the document with the same bytes, if the bucket already has one'),
    replaced: z.literal(true).optional().describe('true if the upload replaces an earlier content of the document'),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'Upload' });
export type UploadReply = z.output<typeof UploadReply>;
