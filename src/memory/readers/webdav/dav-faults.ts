import { NETWORK_REASONS } from '../../../platform/network-reasons.ts';
import { boundedLine } from '../../../platform/printable.ts';
import { readStart } from '../../../platform/read-start.ts';
import { certificateReason } from '../certificates.ts';
import { SourceFault } from '../source-reader.ts';
import type { DavReply } from './dav-reply.ts';

const BODY_BYTES_MAX = 65_536;
const WORDS_CHARS_MAX = 300;

/** Reasons why a single file or folder can't be read, by status code (RFC 4918, RFC 9110). */
const ENTRY_REASONS: Readonly<Record<number, string>> = {
  403: 'the user of the connection may not read it',
  423: 'it is locked; synchronise again later',
  451: 'the server may not send it for legal reasons',
};

/** Return why a single file or folder can't be read; null for a status code that may concern others too. */
export function entryReason(status: number): string | null {
  const reason = ENTRY_REASONS[status];
  if (reason !== undefined) return `${reason} (${status})`;
  const isOfAll = status < 400 || [401, 408, 429, 502, 503, 504].includes(status);
  return isOfAll ? null : `the server refuses to send it (${status})`;
}

/** Return true for the status code of a missing file or folder. */
export function isGone(status: number): boolean {
  return status === 404 || status === 410;
}

/** Build the fault of a response that concerns the whole source, quoting the server. Consumes the body. */
export async function replyFault(reply: DavReply, place: string): Promise<SourceFault> {
  const { status, headers } = reply;
  const words = await wordsOf(reply);
  const said = `status ${status}${words === '' ? '' : `: ${words}`}`;
  if (status === 401) {
    const schemes = String(headers['www-authenticate'] ?? '');
    const isOther = schemes !== '' && !/\b(basic|bearer)\b/i.test(schemes);
    const advice = isOther
      ? `it asks for ${boundedLine(schemes.split(' ')[0] ?? '', 20)}, but the service supports only Basic and Bearer`
      : 'check user, password and token of the connection';
    return new SourceFault('source_refused', `${place} refuses the login (${said}); ${advice}`);
  }
  if (status === 403) {
    return new SourceFault('source_refused', `the user of the connection may not read ${place} (${said})`);
  }
  if (isGone(status))
    return new SourceFault('source_missing', `there is no folder ${place} (${said}); check url and path`);
  if (status >= 500 || status === 429 || status === 408) {
    const wait =
      headers['retry-after'] === undefined
        ? ''
        : `; it asks to wait for ${boundedLine(String(headers['retry-after']), 40)}`;
    return new SourceFault('source_unavailable', `${place} cannot be read now (${said})${wait}`, { retryable: true });
  }
  return new SourceFault('source_settings', `${place} does not answer as a WebDAV server does (${said}); check url`);
}

/** Extract the error message that some servers send in the body (`s:message` of sabre/dav). */
async function wordsOf({ body }: DavReply): Promise<string> {
  const start = await readStart(body, BODY_BYTES_MAX).catch(() => '');
  const message = /<s:message>([^<]*)</.exec(start.toString())?.[1] ?? '';
  return boundedLine(message, WORDS_CHARS_MAX);
}

/** Convert a connection error to a fault. Return other errors unchanged. */
export function toDavFault(error: unknown, place: string): unknown {
  if (error instanceof SourceFault || !(error instanceof Error)) return error;
  const certificate = certificateReason(error);
  if (certificate !== null) {
    return new SourceFault('source_unavailable', `${place} cannot be trusted: ${certificate}`, { cause: error });
  }
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  const reason = NETWORK_REASONS[code] ?? `the connection ended (${code})`;
  return new SourceFault('source_unavailable', `${place} cannot be used: ${reason}`, { retryable: true, cause: error });
}
