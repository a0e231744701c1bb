import type { ImapFlowError } from 'imapflow';
import type { ImapSettings } from '../../../platform/imap-settings.ts';
import { NETWORK_REASONS } from '../../../platform/network-reasons.ts';
import { boundedLine } from '../../../platform/printable.ts';
import { certificateReason } from '../certificates.ts';
import { SourceFault } from '../source-reader.ts';

const WORDS_CHARS_MAX = 300;

/** Response codes of temporary login failures (RFC 5530; LIMIT of RFC 9051). */
const PASSING = new Set(['UNAVAILABLE', 'INUSE', 'LIMIT', 'SERVERBUG', 'CONTACTADMIN']);

/** Library error codes for responses that exceed the connection's limits. */
const OVERSIZED = new Set(['LineTooLarge', 'LiteralTooLarge', 'ResponseTooLarge', 'TooManyTokens', 'TooManyResponses']);

/** Library error, with its description. */
interface Failure {
  readonly error: Error & ImapFlowError;
  readonly settings: ImapSettings;
  /** Server name for messages. */
  readonly place: string;
  /** Server's message, or else the library's. */
  readonly said: string;
}

/**
 * Convert a library error to a fault that quotes the server and gives advice. Return our own errors unchanged.
 *
 * @param folder folder in use, or null
 */
export function toImapFault(error: unknown, settings: ImapSettings, folder: string | null): unknown {
  if (error instanceof SourceFault || !(error instanceof Error) || error instanceof TypeError) return error;
  const place = `the mail server ${settings.host}:${settings.port}`;
  const failure: Failure = { error, settings, place, said: wordsOf(error, settings) };
  return loginFault(failure) ?? commandFault(failure, folder) ?? connectionFault(failure);
}

/** Return why the server refuses to send a message; null if the error isn't limited to that message. */
export function refusalOf(error: unknown): string | null {
  const { code, responseStatus, responseText } = error as ImapFlowError;
  if (responseStatus === undefined || code === 'ETHROTTLE') return null;
  return `the server refuses to send it (${boundedLine(responseText ?? responseStatus, WORDS_CHARS_MAX)})`;
}

function loginFault({ error, settings, place, said }: Failure): SourceFault | null {
  if (error.authenticationFailed !== true) return null;
  if (PASSING.has(error.serverResponseCode ?? '')) {
    const message = `${place} does not accept logins at the moment (${said})`;
    return new SourceFault('source_unavailable', message, { retryable: true, cause: error });
  }
  const what = 'password' in settings.login ? 'password' : 'oauth';
  const message = `${place} refuses the login of ${settings.user} (${said}); check user and ${what} of the connection`;
  return new SourceFault('source_refused', message, { cause: error });
}

/** Build the fault for a command that the server refuses; null for other errors. */
function commandFault({ error, settings, place, said }: Failure, folder: string | null): SourceFault | null {
  const { code, responseStatus, serverResponseCode, mailboxMissing } = error;
  if (code === 'ETHROTTLE') {
    const message = `${place} limits the rate of requests (${said}); synchronise less often`;
    return new SourceFault('source_unavailable', message, { retryable: true, cause: error });
  }
  if (folder !== null && (mailboxMissing === true || serverResponseCode === 'NONEXISTENT')) {
    // The next attempt lists the folders again.
    const message = `the folder "${folder}" was removed during the synchronisation (${said})`;
    return new SourceFault('source_missing', message, { retryable: true, cause: error });
  }
  if (responseStatus === undefined) return null;
  const what = folder === null ? 'a command' : `to read the folder "${folder}"`;
  const message = `${place} refuses ${what} (${said}); check the rights of ${settings.user}`;
  return new SourceFault('source_refused', message, { cause: error });
}

function connectionFault({ error, settings, place, said }: Failure): SourceFault {
  const { code = '', tlsFailed } = error;
  const certificate = certificateReason(error);
  const unusable = (why: string, retryable = false) =>
    new SourceFault('source_unavailable', `${place} cannot be used: ${why}`, { retryable, cause: error });
  if (certificate !== null) return unusable(certificate);
  if (tlsFailed === true) return unusable(`security is ${settings.security}, and TLS fails (${said}); check port`);
  if (OVERSIZED.has(code)) return unusable(`an answer is above the allowed size (${code})`);
  // The library has no error code for a server without a supported login method.
  if (code === '') return unusable(`${said}; check security, password and oauth of the connection`);
  return unusable(NETWORK_REASONS[code] ?? `the connection ended (${said})`, true);
}

/** Return the server's message, or else the library's, with the password removed in case the server repeats it. */
function wordsOf(error: Error & ImapFlowError, { login }: ImapSettings): string {
  const { responseText, response, oauthError } = error;
  const given = [responseText, response].find((each) => typeof each === 'string' && each !== '');
  const status = typeof oauthError?.status === 'string' ? `, status ${oauthError.status}` : '';
  const words = boundedLine(`${typeof given === 'string' ? given : error.message}${status}`, WORDS_CHARS_MAX);
  return 'password' in login ? words.replaceAll(login.password.reveal(), '***') : words;
}
