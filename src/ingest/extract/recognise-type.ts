import { fileTypeFromBuffer } from 'file-type';

/** The type that a file's signature names, of the several hundred that are known. */
export async function recogniseType(head: Uint8Array): Promise<{ ext: string; mime: string } | null> {
  try {
    return (await fileTypeFromBuffer(head, { maxBufferSize: 64 * 1024 })) ?? null;
  } catch {
    // A signature whose header lies about lengths; not recognised is the right answer.
    return null;
  }
}
