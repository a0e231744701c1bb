import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Plan } from '../access/caller.ts';
import { AppError, forbidden } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { seal } from '../platform/seal.ts';
import { CANDIDATES_MAX } from './bot-candidates.ts';
import { type ConfigRow, selectConfigsOfBot } from './config-store.ts';
import { type Channel, type ConfigContext, contextOf, toChannel } from './configs.ts';
import { Delivery } from './schema.ts';

const WINDOW_SECONDS = 300;
const SIGN_IT = 'the sender, or a relay, must sign each delivery';

export interface SignatureHeaders {
  /** Value of `X-Messenger-Timestamp`. */
  readonly timestamp: string | undefined;
  /** Value of `X-Messenger-Signature`. */
  readonly signature: string | undefined;
}

export interface IncomingDelivery extends SignatureHeaders {
  /** Configuration id from the path; null for the shared path. */
  readonly configId: string | null;
  /** Exact bytes of the body. */
  readonly bytes: Buffer;
}

export interface VerifiedDelivery {
  readonly channel: Channel;
  readonly plan: Plan;
  readonly delivery: Delivery;
  /** SHA-256 of the signature, which identifies the delivery. */
  readonly digest: Buffer;
}

export interface VerifierContext extends ConfigContext {
  /** Parse a body that must be a JSON object, leaving its bytes unchanged. Throws AppError 400. */
  readonly parseJson: (bytes: Buffer, signal: AbortSignal) => Promise<Record<string, unknown>>;
}

export interface Verifier {
  /**
   * Check headers, JSON, signature and fields, in this order (contract 5.6). An unknown bot takes as long as a wrong
   * signature.
   *
   * @throws AppError 403 and 400, with the configuration's id in `details.channel` if known
   */
  verify(incoming: IncomingDelivery, signal: AbortSignal): Promise<VerifiedDelivery>;
}

/** Create a verifier. @param now returns milliseconds since 1970 */
export function openVerifier(context: VerifierContext, now: () => number = Date.now): Verifier {
  const unknownBot = makeUnknownBot(context.keyRing);
  return {
    async verify(incoming, signal) {
      const { timestamp, signature } = readHeaders(incoming, now());
      const json = await parseBody(context, incoming.bytes, signal);
      const { bot_id: botId } = json;
      if (typeof botId !== 'string' || botId === '') {
        throw refusal('bot_id_missing', hasFormOfKakao(json) ? KAKAO_FORM : 'bot_id is missing');
      }
      const named = { botId, configId: incoming.configId };
      const rows = await selectConfigsOfBot(context.sql, named, CANDIDATES_MAX);
      const candidates = rows.length === 0 ? [unknownBot] : rows;
      const signed = { timestamp, bytes: incoming.bytes, signature };
      // Try every candidate, so that the response time doesn't reveal a match.
      const tried = candidates.map((row) => ({ row, channel: toChannel(context.keyRing, row) }));
      const matching = tried.filter(({ channel }) => isSigned(signed, channel.config.secret));
      const [match] = matching;
      if (rows.length === 0) throw notVerified('bot_unknown', null);
      if (match === undefined) {
        const [first] = tried;
        const hasSecret = tried.some(({ channel }) => Boolean(channel.config.secret));
        throw notVerified(hasSecret ? 'signature_invalid' : 'secret_missing', first?.channel.id ?? null);
      }
      return {
        channel: match.channel,
        plan: match.row.plan,
        delivery: readFields(json, match.channel.id),
        digest: createHash('sha256').update(signature).digest(),
      };
    },
  };
}

/** Build a configuration that no signature matches. Verifying it takes as long as a real one. */
function makeUnknownBot(keyRing: ConfigContext['keyRing']): ConfigRow & { readonly plan: Plan } {
  const [id, orgId] = [newId('chn'), newId('org')];
  const credential = () => randomBytes(24).toString('base64url');
  const config = {
    rest_api_key: credential(),
    channel_id: 'none',
    collection: 'none',
    bot_id: 'none',
    secret: credential(),
    public_only: true,
    score_min: 1,
  };
  const sealedConfig = seal(keyRing.encryption, JSON.stringify(config), contextOf(orgId, id));
  return { id, orgId, name: 'none', provider: 'none', sealedConfig, plan: 'free' };
}

/** Parse the body. @throws AppError 400 `json_invalid` */
async function parseBody(
  { parseJson }: VerifierContext,
  bytes: Buffer,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  try {
    return await parseJson(bytes, signal);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError({ code: 'json_invalid', status: 400, message: error.message, cause: error });
  }
}

/**
 * Return both headers. Check that the timestamp is within five minutes of this server's time.
 *
 * @throws AppError 403
 */
export function readHeaders(
  { timestamp, signature }: SignatureHeaders,
  nowMs: number,
): { readonly timestamp: string; readonly signature: string } {
  if (timestamp === undefined)
    throw refusal('timestamp_missing', `the header X-Messenger-Timestamp is missing; ${SIGN_IT}`);
  if (signature === undefined)
    throw refusal('signature_missing', `the header X-Messenger-Signature is missing; ${SIGN_IT}`);
  if (!/^[0-9]{1,12}$/.test(timestamp)) {
    throw refusal('timestamp_unreadable', 'X-Messenger-Timestamp must be a time in whole seconds since 1970');
  }
  // Compare whole seconds, so that the window extends equally before and after this server's time.
  if (Math.abs(Number(timestamp) - Math.floor(nowMs / 1000)) > WINDOW_SECONDS) {
    const message = `X-Messenger-Timestamp differs from the time of this server by more than ${WINDOW_SECONDS} seconds`;
    throw refusal('timestamp_stale', message);
  }
  return { timestamp, signature };
}

const KAKAO_FORM =
  'bot_id is missing: the delivery has the form that Kakao sends to skill servers (userRequest, bot); create ' +
  'a configuration of the provider kakao, and register its path';

function hasFormOfKakao(json: Record<string, unknown>): boolean {
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject(json['userRequest']) && isObject(json['bot']);
}

/** Compute the lowercase hexadecimal HMAC-SHA-256 of `<timestamp>.<bytes>`. */
export function signDelivery(secret: string, timestamp: string, bytes: Uint8Array): string {
  return createHmac('sha256', secret).update(`${timestamp}.`).update(bytes).digest('hex');
}

function isSigned(
  signed: { readonly timestamp: string; readonly bytes: Buffer; readonly signature: string },
  secret: string | undefined,
): boolean {
  const expected = Buffer.from(signDelivery(secret ?? '', signed.timestamp, signed.bytes));
  const presented = Buffer.alloc(expected.length);
  presented.write(signed.signature, 'latin1');
  const isEqual = timingSafeEqual(expected, presented);
  return isEqual && /^[0-9a-f]{64}$/.test(signed.signature) && Boolean(secret);
}

function readFields(json: Record<string, unknown>, channel: string): Delivery {
  const parsed = Delivery.safeParse(json);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message, code }) => {
    const field = path.join('.');
    if (code !== 'invalid_type') return `${field}: ${message}`;
    return `${field}: ${json[field] === undefined ? 'is required' : 'must be a string'}`;
  });
  throw new AppError({ code: 'field_missing', status: 400, message: faults.join('; '), details: { channel } });
}

function refusal(code: string, message: string): AppError {
  return forbidden(message, code);
}

/** Create the error (403) for an unknown bot or a wrong signature. Equal messages don't reveal which bots exist. */
function notVerified(code: string, channel: string | null): AppError {
  const message = 'the bot_id is unknown, or the signature does not match the body';
  return new AppError({ code, status: 403, message, details: { channel } });
}
