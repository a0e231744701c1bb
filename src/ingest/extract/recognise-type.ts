import { fileTypeFromBuffer } from 'file-type';

/** Recognise the type of a file by its signature, among several hundred known ones. */
export async function recogniseType(head: Uint8Array): Promise<{ ext: string; mime: string } | null> {
  try {
    return (await fileTypeFromBuffer(head, { maxBufferSize: 64 * 1024 })) ?? null;
  } catch {
    // A file with wrong lengths in its header counts as not recognised.
    return null;
  }
}
