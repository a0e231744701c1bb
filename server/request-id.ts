import type { IncomingMessage } from 'node:http';
import { newId } from '../src/platform/ids.ts';

const SANE_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** Return the client's request id if it is harmless in a header and in a log line, else a new one. */
export function requestIdOf(req: IncomingMessage): string {
  const inbound = req.headers['x-request-id'];
  return typeof inbound === 'string' && SANE_REQUEST_ID.test(inbound) ? inbound : newId('req');
}
