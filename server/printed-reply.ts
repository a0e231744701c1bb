import { releaseBuffer } from '../src/platform/large-buffers.ts';
import type { RouteReply } from './route.ts';

/** Create a reply from the JSON of a `JsonWriter`. Its memory is reused once the reply is sent. */
export function printedReply(json: Buffer, headers: Readonly<Record<string, string>> = {}): RouteReply {
  return { body: json, type: 'application/json; charset=utf-8', headers, freeBody: () => releaseBuffer(json) };
}
