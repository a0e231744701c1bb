import type { ImapFlowError } from 'imapflow';
import type { ImapSettings } from '../../../platform/imap-settings.ts';
import { NETWORK_REASONS } from '../../../platform/network-reasons.ts';
import { boundedLine } from '../../../platform/printable.ts';
import { certificateReason } from '../certificates.ts';
import { SourceFault } from '../source-reader.ts';

const WORDS_CHARS_MAX = 300;

/** Response codes of a login that may succeed later (RFC 5530; LIMIT also of vendors). */
const PASSING = new Set(['UNAVAILABLE', 'INUSE', 'LIMIT', 'SERVERBUG', 'CONTACTADMIN']);

/** Codes of the library for answers above the bounds of a connection. */
const OVERSIZED = new Set(['LineTooLarge', 'LiteralTooLarge', 'ResponseTooLarge', 'TooManyTokens', 'TooManyResponses']);

/**
 * Turn an error of the library into a fault with the server's own words and advice. Errors of other kinds stay.
 *
 * @param folder folder that was used, or null
 */
export function toImapFault(error: unknown, settings: ImapSettings, folder: string | null): unknown {
  if (error instanceof SourceFault || !(error instanceof Error)) return error;
  const {
    authenticationFailed,
    serverResponseCode = '',
    mailboxMissing,
    responseStatus,
    code,
  } = error as ImapFlowError;
  const said = wordsOf(error, settings);
  const place = `the mail server ${settings.host}:${settings.port}`;
  const fault = (
    category: 'source_refused' | 'source_missing' | 'source_unavailable',
    message: string,
    retryable = false,
  ) => new SourceFault(category, message, { retryable, cause: error });
  if (authenticationFailed === true) {
    if (PASSING.has(serverResponseCode))
      return fault('source_unavailable', `${place} takes no login now (${said})`, true);
    const what = 'password' in settings.login ? 'user and password' : 'user and oauth';
    return fault(
      'source_refused',
      `${place} refuses the login of ${settings.user} (${said}); check ${what} of the connection`,
    );
  }
  if (code === 'ETHROTTLE') {
    return fault('source_unavailable', `${place} limits the rate of requests (${said}); synchronise less often`, true);
  }
  if (folder !== null && (mailboxMissing === true || serverResponseCode === 'NONEXISTENT')) {
    return fault('source_missing', `there is no folder "${folder}" any more (${said}); check folders of the source`);
  }
  if (folder !== null && responseStatus !== undefined) {
    return fault(
      'source_refused',
      `${place} refuses to read the folder "${folder}" (${said}); check the rights of ${settings.user}`,
    );
  }
  if (responseStatus !== undefined) return fault('source_unavailable', `${place} refuses a command (${said})`);
  const certificate = certificateReason(error);
  if (certificate !== null) return fault('source_unavailable', `${place} cannot be trusted: ${certificate}`);
  if (code === undefined) return unsupported(error) ? fault('source_refused', unsupportedText(place, settings)) : error;
  if (code === 'MissingServerExtension' || (error as ImapFlowError).tlsFailed === true) {
    return fault(
      'source_unavailable',
      `${place} does not offer TLS as security: ${settings.security} needs (${said}); check port and security`,
    );
  }
  if (OVERSIZED.has(code))
    return fault('source_unavailable', `${place} sends an answer above the allowed size (${code})`);
  const reason = NETWORK_REASONS[code] ?? `the connection ended (${said})`;
  return fault('source_unavailable', `${place} cannot be used: ${reason}`, true);
}

function unsupported(error: Error): boolean {
  return error.message === 'Unsupported authentication mechanism';
}

function unsupportedText(place: string, { login }: ImapSettings): string {
  const way = 'password' in login ? 'a password over this connection' : 'access tokens (XOAUTH2 or OAUTHBEARER)';
  return `${place} does not offer a login with ${way}; check security, password and oauth of the connection`;
}

/** Return the words of the server, or those of the library, without the password if the server repeats it. */
function wordsOf(error: Error, { login }: ImapSettings): string {
  const { responseText, response, oauthError } = error as ImapFlowError;
  const ofServer = [responseText, response].find((each) => typeof each === 'string' && each !== '') as
    | string
    | undefined;
  const ofOAuth = typeof oauthError?.status === 'string' ? ` status ${oauthError.status}` : '';
  const words = boundedLine((ofServer ?? error.message) + ofOAuth, WORDS_CHARS_MAX);
  return 'password' in login ? words.replaceAll(login.password.reveal(), '***') : words;
}
