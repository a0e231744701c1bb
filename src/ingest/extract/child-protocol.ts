import { z } from 'zod';
import { BlockDraft } from './blocks.ts';

/** What to read, and its bounds. */
export interface ChildTask {
  readonly format: 'html' | 'pdf';
  readonly sizeBytes: number;
  readonly charset: string | null;
  readonly pagesMax: number;
  readonly textCharsMax: number;
}

/** The child's only argument, in JSON. The file follows on stdin, which stays open afterwards. */
export interface ChildArgument extends ChildTask {
  /** Folder, ending in a slash, of the predefined CMaps of East Asian PDFs; null where they are not installed. */
  readonly cmapFolder: string | null;
}

/** One line of JSON on the child's stdout; the last one is `done` or `failed`. */
export const ChildLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('blocks'), blocks: z.array(BlockDraft) }),
  z.object({
    type: z.literal('done'),
    pages: z.int().nullable(),
    emptyPages: z.array(z.int()),
    failedPages: z.array(z.int()),
  }),
  z.object({
    type: z.literal('failed'),
    category: z.enum(['encrypted', 'corrupt', 'too_large', 'out_of_memory', 'internal']),
    message: z.string().max(500),
  }),
]);
export type ChildLine = z.output<typeof ChildLine>;
