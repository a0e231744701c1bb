import { fileTypeFromBuffer } from 'file-type';

/** Recognise a file's type by its signature, among several hundred known types. */
export async function recogniseType(head: Uint8Array): Promise<{ ext: string; mime: string } | null> {
  try {
    return (await fileTypeFromBuffer(head, { maxBufferSize: 64 * 1024 })) ?? null;
  } catch {
    // A file with invalid lengths in its header counts as unrecognised.
    return null;
  }
}
