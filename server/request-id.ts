import type { IncomingMessage } from 'node:http';
import { newId } from '../src/platform/ids.ts';

const SANE_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

const REQUEST_ID = Symbol('request id');

/** Return the client's request id if it is safe in headers and log lines, else a new one, which the request keeps. */
export function requestIdOf(req: IncomingMessage & { [REQUEST_ID]?: string }): string {
  req[REQUEST_ID] ??= inboundIdOf(req) ?? newId('req');
  return req[REQUEST_ID];
}

function inboundIdOf({ headers }: IncomingMessage): string | null {
  const inbound = headers['x-request-id'];
  return typeof inbound === 'string' && SANE_REQUEST_ID.test(inbound) ? inbound : null;
}
