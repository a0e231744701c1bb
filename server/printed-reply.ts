import { releaseBuffer } from '../src/platform/large-buffers.ts';
import type { RouteReply } from './route.ts';

/** A reply of JSON from a `JsonWriter`, whose memory is used again once it is sent. */
export function printedReply(json: Buffer, headers: Readonly<Record<string, string>> = {}): RouteReply {
  return { body: json, type: 'application/json; charset=utf-8', headers, freeBody: () => releaseBuffer(json) };
}
