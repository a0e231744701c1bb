import { z } from 'zod';
import { BlockDraft } from './blocks.ts';
import { DOCUMENT_FORMATS, type FileFormat } from './detect-format.ts';
import { PART_CATEGORIES } from './errors.ts';
import type { OcrStrategy } from './reader.ts';

/** Formats with their own parser, each read in a child process. */
export type ChildFormat = Extract<
  FileFormat,
  'md' | 'html' | 'pdf' | 'zip' | 'cfb' | 'rtf' | 'eml' | 'ipynb' | 'fodf' | 'hml'
>;

/** Task of a child: the document to read, and its limits. Sent as a line of JSON on stdin, before the file. */
export interface ChildTask {
  readonly format: ChildFormat;
  readonly sizeBytes: number;
  readonly charset: string | null;
  readonly pagesMax: number;
  readonly textCharsMax: number;
  readonly htmlBytesMax: number;
  readonly unpackedBytesMax: number;
  readonly entriesMax: number;
  /** Strategy by which the child outputs pictures for the parent to read; null for none. */
  readonly ocrStrategy: OcrStrategy | null;
  readonly imagesMax: number;
  readonly imageBytesMax: number;
}

/** The child's only argument, as JSON. Task and file follow on stdin, which then stays open. */
export interface ChildArgument {
  /** Format whose code the child loads immediately. */
  readonly preload: ChildFormat;
  /** Folder of the predefined CMaps for East Asian PDFs, with a trailing slash; null if not installed. */
  readonly cmapFolder: string | null;
  /** Folder of the decoders for fax and JPEG 2000 images, with a trailing slash; null if not installed. */
  readonly wasmFolder: string | null;
}

const DOCUMENT_CATEGORIES = ['unsupported_type', 'encrypted', 'corrupt', 'too_large'] as const;

/** Line of JSON on the child's stdout. The last one is `done` or `failed`. */
export const ChildLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('blocks'), blocks: z.array(BlockDraft) }),
  z.object({
    type: z.literal('image'),
    page: z.int().min(1).optional(),
    slide: z.int().min(1).optional(),
    sheet: z.string().optional(),
    picture: z.string().optional(),
    part: z.string().optional(),
    /** File in base64. */
    data: z.string(),
  }),
  z.object({
    type: z.literal('done'),
    format: z.enum(DOCUMENT_FORMATS),
    pages: z.int().nullable(),
    emptyPages: z.array(z.int()),
    failedPages: z.array(z.int()),
    unmappedPages: z.array(z.int()).optional(),
    skipped: z.array(z.object({ name: z.string(), category: z.enum(PART_CATEGORIES) })),
  }),
  z.object({
    type: z.literal('failed'),
    category: z.enum([...DOCUMENT_CATEGORIES, 'out_of_memory', 'internal']),
    message: z.string().max(500),
  }),
]);
export type ChildLine = z.output<typeof ChildLine>;
