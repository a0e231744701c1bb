import type { JobFile } from '../documents/job-documents.ts';

/** Describe an original file, for the output of an operation that sends its bytes. */
export function describeFile({ fileName, mediaType, sizeBytes }: JobFile): {
  file_name: string;
  media_type: string;
  size_bytes: number;
} {
  return { file_name: fileName, media_type: mediaType, size_bytes: sizeBytes };
}
