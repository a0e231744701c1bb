import { z } from 'zod';
import { textInteger } from '../platform/zod-integers.ts';
import { cursorOf, Order } from './list-page.ts';

/** Purposes of uploads. `batch_output` is the purpose of files that a batch writes. */
export const UPLOAD_PURPOSES = ['batch', 'user_data', 'assistants'] as const;
const PURPOSES = [...UPLOAD_PURPOSES, 'batch_output'] as const;
export type Purpose = (typeof PURPOSES)[number];

export const HOUR_SECONDS = 3_600;
export const MONTH_SECONDS = 30 * 24 * HOUR_SECONDS;
/** Completion window of a batch. */
export const BATCH_WINDOW_MS = 24 * HOUR_SECONDS * 1_000;
/**
 * Time from the id of a file within which its row may still be inserted. The output of a batch gets its id with its
 * first line and its row at the end of the batch, which may be a little later than the window.
 */
export const YOUNG_FILE_MS = 2 * BATCH_WINDOW_MS;
/** Maximum size of a batch's input, in bytes. */
export const BATCH_INPUT_BYTES_MAX = 200 * 1024 * 1024;
const PAGE_FILES_MAX = 10_000;

export const LifetimeSeconds = z
  .int()
  .min(HOUR_SECONDS)
  .max(MONTH_SECONDS)
  .describe('seconds after the creation: an hour to 30 days');

/** Fields of a file's multipart upload, other than the part `file`. */
export const FileUpload = z
  .object({
    purpose: z.enum(UPLOAD_PURPOSES),
    'expires_after[anchor]': z.literal('created_at').optional(),
    'expires_after[seconds]': textInteger(LifetimeSeconds.optional()),
  })
  .superRefine((upload, context) => {
    const [anchor, seconds] = ['expires_after[anchor]', 'expires_after[seconds]'] as const;
    if ((upload[anchor] === undefined) === (upload[seconds] === undefined)) return;
    const missing = upload[anchor] === undefined ? 'anchor' : 'seconds';
    context.addIssue({
      code: 'custom',
      path: ['expires_after', missing],
      message: 'is required beside the other field',
    });
  })
  .meta({
    dependentRequired: {
      'expires_after[anchor]': ['expires_after[seconds]'],
      'expires_after[seconds]': ['expires_after[anchor]'],
    },
  });
export type FileUpload = z.output<typeof FileUpload>;

export const FileView = z
  .object({
    id: z.string(),
    object: z.literal('file'),
    bytes: z.int(),
    created_at: z.int().describe('Unix time in seconds'),
    expires_at: z.int().nullable().describe('Unix time in seconds; null for a file that is kept until its deletion'),
    filename: z.string(),
    purpose: z.enum(PURPOSES),
    status: z.literal('processed'),
    status_details: z.null(),
  })
  .meta({ id: 'File' });
export type FileView = z.output<typeof FileView>;

export const ListFilesQuery = z.object({
  purpose: z.enum(PURPOSES).optional(),
  after: cursorOf('file'),
  limit: textInteger(z.int().min(1).max(PAGE_FILES_MAX).default(PAGE_FILES_MAX)),
  order: Order,
});
export type ListFilesQuery = z.output<typeof ListFilesQuery>;

export const DeletedFile = z.object({ id: z.string(), object: z.literal('file'), deleted: z.literal(true) });
