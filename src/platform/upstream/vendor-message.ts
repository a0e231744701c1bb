import type { Secret } from '../secret.ts';
import { field } from './parse-json.ts';

/** Maximum length of an error body that is read. */
const BODY_MAX_BYTES = 64 * 1024;
const MESSAGE_MAX_CHARS = 300;
/** Maximum length of a quotation to show. Names of fields and models are shorter; longer quotations echo the input. */
const QUOTED_MAX_CHARS = 80;
const REDACTED = '***';

/** Content of an error body, in a common form. */
export interface VendorError {
  /** Message that is safe to show: without credentials and long quotations, at most 300 characters. */
  readonly message: string | null;
  /** Codes, types, statuses and reasons of the body, unchanged. Use them to recognise errors, but do not show them. */
  readonly codes: readonly string[];
  readonly param: string | null;
  readonly error: unknown;
}

/**
 * Read the error shapes of all protocols: `{error: {message, type, param, code}}`, `{error: {code, status, details}}`,
 * `{detail}`, `{message}`, `{error, error_type}`, `{error: "…"}`, plain text. HTML and broken JSON have no message.
 */
export function readVendorError(body: Uint8Array, apiKey: Secret | null): VendorError {
  const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, BODY_MAX_BYTES)).toString('utf8');
  const root = tryParse(text);
  if (root === undefined) {
    const plain = text.trim();
    const message = plain === '' || /^[<{[]/.test(plain) ? null : safeMessage(plain, apiKey);
    return { message, codes: [], param: null, error: null };
  }
  // One vendor's OpenAI-compatible endpoint wraps its error in a list.
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

function tryParse(text: string): unknown {
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
  for (const key of ['message', 'Message', 'error', 'detail', 'msg']) {
    const value = field(error, key);
    if (typeof value === 'string' && value.trim() !== '') return value;
    // FastAPI validation errors: [{loc, msg, input}]. Don't read `input`, which is the caller's text.
    if (Array.isArray(value) && typeof field(value[0], 'msg') === 'string') return field(value[0], 'msg') as string;
  }
  return null;
}

/** Make a vendor's message safe to show: one line of limited length, without credentials and long quotations. */
export function safeMessage(text: string, apiKey: Secret | null): string {
  // Redact the key first, since the cut below could leave a part of it.
  let safe = apiKey === null ? text : text.replaceAll(apiKey.reveal(), REDACTED);
  safe = safe.slice(0, 4 * MESSAGE_MAX_CHARS).toWellFormed();
  for (const pattern of CREDENTIALS) safe = safe.replace(pattern, `$1${REDACTED}`);
  safe = safe.replace(QUOTED, (quoted) => (quoted.length > QUOTED_MAX_CHARS ? `${quoted[0]}…${quoted[0]}` : quoted));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters have no place in one line of a log
  safe = safe.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  return safe.length > MESSAGE_MAX_CHARS ? `${safe.slice(0, MESSAGE_MAX_CHARS - 1).toWellFormed()}…` : safe;
}

/** Pattern of a quotation. An apostrophe inside a word does not begin one. */
const QUOTED = /"[^"]*"|(?<!\w)'[^']*'(?!\w)|`[^`]*`/g;

/** Patterns of credentials other than the one that was sent: vendors echo parts of keys, or other customers' keys. */
const CREDENTIALS = [
  /\b((?:bearer|basic)\s+)[^\s"',;]+/gi,
  /((?:api[_ -]?key|key|token|secret|password)(?:\s+provided)?\s*[=:]\s*["']?)[^\s"',;]+/gi,
  /(^|[^A-Za-z0-9])(?:sk|pk|pa|rk|hf|gsk|xai|jina|AIza|ya29)[-_.][A-Za-z0-9_.*-]{6,}/g,
  /(^|[^A-Za-z0-9])AIza[A-Za-z0-9_-]{10,}/g,
  // Key whose middle the vendor replaced by asterisks.
  /(^|[\s"'(])[^\s"'(]*\*{3,}[^\s"']*/g,
  // Long run of mixed letters and digits, without the dashes that model names have between parts.
  /(^|[^A-Za-z0-9])(?=[A-Za-z_]*\d)(?=[\d_]*[A-Za-z])[A-Za-z0-9_]{24,}/g,
] as const;
