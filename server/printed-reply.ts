import { freeMemory } from '../src/platform/free-memory.ts';
import type { RouteReply } from './route.ts';

/** A reply of JSON that was printed into a Buffer of its own, whose memory goes once it is sent. */
export function printedReply(json: Buffer, headers: Readonly<Record<string, string>> = {}): RouteReply {
  return { body: json, type: 'application/json; charset=utf-8', headers, freeBody: () => freeMemory(json) };
}
