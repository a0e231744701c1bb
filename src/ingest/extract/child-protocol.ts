import { z } from 'zod';
import { BlockDraft } from './blocks.ts';
import { DOCUMENT_FORMATS, type FileFormat } from './detect-format.ts';

/** Formats with a parser of their own, each read in a child process. */
export type ChildFormat = Extract<FileFormat, 'html' | 'pdf' | 'zip' | 'cfb' | 'rtf' | 'eml'>;

/** What to read, and its bounds. */
export interface ChildTask {
  readonly format: ChildFormat;
  readonly sizeBytes: number;
  readonly charset: string | null;
  readonly pagesMax: number;
  readonly textCharsMax: number;
  readonly htmlBytesMax: number;
  readonly unpackedBytesMax: number;
  readonly entriesMax: number;
}

/** The child's only argument, in JSON. The file follows on stdin, which stays open afterwards. */
export interface ChildArgument extends ChildTask {
  /** Folder, ending in a slash, of the predefined CMaps of East Asian PDFs; null where they are not installed. */
  readonly cmapFolder: string | null;
}

const OF_THE_DOCUMENT = ['unsupported_type', 'encrypted', 'corrupt', 'too_large'] as const;

/** One line of JSON on the child's stdout; the last one is `done` or `failed`. */
export const ChildLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('blocks'), blocks: z.array(BlockDraft) }),
  z.object({
    type: z.literal('done'),
    format: z.enum(DOCUMENT_FORMATS),
    pages: z.int().nullable(),
    emptyPages: z.array(z.int()),
    failedPages: z.array(z.int()),
    skipped: z.array(z.object({ name: z.string(), category: z.enum(OF_THE_DOCUMENT) })),
  }),
  z.object({
    type: z.literal('failed'),
    category: z.enum([...OF_THE_DOCUMENT, 'out_of_memory', 'internal']),
    message: z.string().max(500),
  }),
]);
export type ChildLine = z.output<typeof ChildLine>;
