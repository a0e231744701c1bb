import { z } from 'zod';

/** The only argument of the OCR process, in JSON. */
export interface OcrArgument {
  /** Builds of the recogniser, fastest first. Builds that this CPU can't run are skipped. */
  readonly cores: readonly string[];
  /** Gzipped trained data by language code; the first language has priority. */
  readonly languages: readonly { readonly code: string; readonly path: string }[];
  readonly imageBytesMax: number;
  readonly textCharsMax: number;
}

/**
 * Length of the header before each image on stdin: length of the image (uint32) and its EXIF orientation (uint8),
 * little-endian. stdin stays open between images. The process exits when it closes.
 */
export const IMAGE_HEAD_BYTES = 5;

/** Maximum number of drafts of one image. */
export const DRAFTS_MAX = 5;

/**
 * Lines of JSON on stdout: `ready` first, then for each image a `read`, optionally after some drafts. `confidence` is
 * the mean over all recognised letters in percent, or null without letters.
 */
export const OcrLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready') }),
  /** Best result so far, before a further pass (over the page rotated by 180 degrees, or a longer one). */
  z.object({
    type: z.literal('draft'),
    text: z.string(),
    confidence: z.number().nullable(),
    next: z.enum(['turned', 'sparse']),
  }),
  z.object({
    type: z.literal('read'),
    /** Null if the decoder refused the file. */
    text: z.string().nullable(),
    confidence: z.number().nullable(),
    /** Resident memory and CPU time of the process so far. It never frees memory. */
    residentBytes: z.int(),
    cpuSeconds: z.number(),
  }),
]);
export type OcrLine = z.output<typeof OcrLine>;
