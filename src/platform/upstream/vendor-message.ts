import type { Secret } from '../secret.ts';
import { field } from './parse-json.ts';

/** An error body longer than this is not one. */
const BODY_MAX_BYTES = 64 * 1024;
const MESSAGE_MAX_CHARS = 300;
/** Longer than any name of a field or of a model: a quotation of what was sent. */
const QUOTED_MAX_CHARS = 80;
const BLOT = '***';

/** What an error body says, whichever vendor wrote it. */
export interface VendorError {
  /** Safe to show: no credential, no long quotation, at most 300 characters. */
  readonly message: string | null;
  /** Every code, type, status and reason in it, as written; for recognising, not for showing. */
  readonly codes: readonly string[];
  /** The request's field that it is about, where it says so. */
  readonly param: string | null;
  /** The error object itself. */
  readonly error: unknown;
}

/**
 * Reads the error shapes of all protocols: `{error: {message, type, param, code}}`, `{error: {code, status, details}}`,
 * `{detail}`, `{message}`, `{error, error_type}`, `{error: "…"}`, plain text. HTML and broken JSON have no message.
 */
export function readVendorError(body: Uint8Array, apiKey: Secret | null): VendorError {
  const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, BODY_MAX_BYTES)).toString('utf8');
  const root = parsed(text);
  if (root === undefined) {
    const plain = text.trim();
    const message = plain === '' || /^[<{[]/.test(plain) ? null : safeMessage(plain, apiKey);
    return { message, codes: [], param: null, error: null };
  }
  // A vendor's OpenAI-compatible endpoint wraps its error in a list.
  const outer: unknown = Array.isArray(root) ? root[0] : root;
  const nested = [field(outer, 'error'), field(outer, 'detail')].find(
    (value) => isObject(value) && !Array.isArray(value),
  );
  const error = nested ?? outer;
  const written = messageOf(error) ?? messageOf(outer);
  const details = field(error, 'details');
  const codes = [error, outer, ...(Array.isArray(details) ? details : [])].flatMap((part) =>
    ['code', 'type', 'status', 'error_type', 'reason'].map((key) => field(part, key)),
  );
  const param = field(error, 'param');
  return {
    message: written === null ? null : safeMessage(written, apiKey),
    codes: codes.filter((code) => typeof code === 'string'),
    param: typeof param === 'string' ? param : null,
    error,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function messageOf(error: unknown): string | null {
  if (typeof error === 'string') return error;
  for (const key of ['message', 'error', 'detail', 'msg']) {
    const value = field(error, key);
    if (typeof value === 'string' && value.trim() !== '') return value;
    // Validation errors in the manner of FastAPI: [{loc, msg, input}]; `input` is the caller's and stays out.
    if (Array.isArray(value) && typeof field(value[0], 'msg') === 'string') return field(value[0], 'msg') as string;
  }
  return null;
}

/** What may be told of a vendor's message: one line, cut, without credentials and without what it quotes at length. */
export function safeMessage(text: string, apiKey: Secret | null): string {
  // The key first, while it is whole.
  let safe = apiKey === null ? text : text.replaceAll(apiKey.reveal(), BLOT);
  safe = safe.slice(0, 4 * MESSAGE_MAX_CHARS).toWellFormed();
  for (const pattern of CREDENTIALS) safe = safe.replace(pattern, `$1${BLOT}`);
  safe = safe.replace(QUOTED, (quoted) => (quoted.length > QUOTED_MAX_CHARS ? `${quoted[0]}…${quoted[0]}` : quoted));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters have no place in one line of a log
  safe = safe.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  return safe.length > MESSAGE_MAX_CHARS ? `${safe.slice(0, MESSAGE_MAX_CHARS - 1).toWellFormed()}…` : safe;
}

/** An apostrophe inside a word quotes nothing. */
const QUOTED = /"[^"]*"|(?<!\w)'[^']*'(?!\w)|`[^`]*`/g;

/** What looks like a credential, though it is not the one that was sent: vendors echo keys in part, or another's. */
const CREDENTIALS = [
  /\b((?:bearer|basic)\s+)[^\s"',;]+/gi,
  /((?:api[_ -]?key|key|token|secret|password)(?:\s+provided)?\s*[=:]\s*["']?)[^\s"',;]+/gi,
  /(^|[^A-Za-z0-9])(?:sk|pk|pa|rk|hf|gsk|xai|jina|AIza|ya29)[-_.][A-Za-z0-9_.*-]{6,}/g,
  /(^|[^A-Za-z0-9])AIza[A-Za-z0-9_-]{10,}/g,
  // A key with its middle starred out by the vendor.
  /(^|[\s"'(])[^\s"'(]*\*{3,}[^\s"']*/g,
  // A long run of mixed letters and digits, without the dashes that part a model's name.
  /(^|[^A-Za-z0-9])(?=[A-Za-z_]*\d)(?=[\d_]*[A-Za-z])[A-Za-z0-9_]{24,}/g,
] as const;
