import { UploadRequest } from '../../src/ingest/schema.ts';
import { contentOfJson, type UploadContent } from '../../src/ingest/upload.ts';
import type { Threads } from '../../src/platform/threads.ts';
import { parseJsonObject } from '../body/parse-json.ts';
import {
  acceptedOf,
  bufferOf,
  INLINE_BYTES_MAX,
  movedFromThread,
  type ParsedOrFault,
  parsedOrFault,
  runParser,
} from '../body/parse-on-thread.ts';
import { refuseUnknownFields } from '../unknown-fields.ts';
import { validate } from '../validate.ts';

/** Upload in JSON: the fields without the content, and the content in bytes. */
export interface JsonUpload {
  readonly fields: UploadRequest;
  readonly content: UploadContent & { readonly bytes: Uint8Array };
}

/** Parse and validate a body, and decode its content. */
function parseUpload(bytes: Uint8Array): ParsedOrFault<JsonUpload> {
  return parsedOrFault(() => {
    const body = parseJsonObject(bufferOf(bytes));
    refuseUnknownFields(UploadRequest, body);
    const request = validate(UploadRequest, body);
    const content = contentOfJson(request);
    return { fields: { ...request, text: undefined, content: undefined, content_base64: undefined }, content };
  });
}

/** Run `parseUpload` on a thread, and transfer the memory of the content instead of copying it. */
export function parseUploadOnThread(bytes: Uint8Array): unknown {
  return movedFromThread(parseUpload(bytes), ({ content }) => {
    const { buffer, byteLength } = content.bytes;
    return byteLength === buffer.byteLength ? [buffer as ArrayBuffer] : [];
  });
}

/**
 * Parse an upload in JSON and decode its content, on a thread if it is large.
 * @throws AppError 400 that names the fault of the bytes or of a field
 */
export async function parseUploadBody(threads: Threads, bytes: Buffer, signal: AbortSignal): Promise<JsonUpload> {
  if (bytes.length <= INLINE_BYTES_MAX) return acceptedOf(parseUpload(bytes));
  const parser = { module: new URL(import.meta.url), name: 'parseUploadOnThread' };
  return acceptedOf(await runParser<JsonUpload>(threads, parser, bytes, signal));
}
