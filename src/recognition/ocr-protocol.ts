import { z } from 'zod';

/** The OCR process's only argument, in JSON. */
export interface OcrArgument {
  /** Builds of the recogniser, the fastest first; a build that this processor cannot run is passed over. */
  readonly cores: readonly string[];
  /** Gzipped trained data by language code; the first language leads. */
  readonly languages: readonly { readonly code: string; readonly path: string }[];
  readonly imageBytesMax: number;
  readonly textCharsMax: number;
}

/**
 * Before each image on stdin: its length, uint32, and its EXIF orientation, uint8, little-endian. stdin stays open
 * between images; its end is the end of the process.
 */
export const IMAGE_HEAD_BYTES = 5;

/** Lines of JSON on stdout: `ready` first, then for each image a `read`, before which there may be a `draft`. */
export const OcrLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready') }),
  /** What is known before a second, longer look. */
  z.object({ type: z.literal('draft'), text: z.string() }),
  z.object({
    type: z.literal('read'),
    /** null: the decoder refused the file. */
    text: z.string().nullable(),
    /** Resident memory and processor time of the process so far: what it holds on to is not given back. */
    residentBytes: z.int(),
    cpuSeconds: z.number(),
  }),
]);
export type OcrLine = z.output<typeof OcrLine>;
