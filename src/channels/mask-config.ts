import { MESSENGER } from './schema.ts';

/** Keys whose values aren't credentials. All other values are masked. */
const PLAIN_KEYS_MESSENGER = new Set(['channel_id', 'collection', 'bucket_collection', 'bot_id', 'score_min']);
const PLAIN_KEYS = new Set([
  'app_id',
  'bot_id',
  'bot_name',
  'bucket',
  'bucket_collection',
  'channel',
  'channel_id',
  'channel_name',
  'collection',
  'description',
  'display_name',
  'header_name',
  'language',
  'locale',
  'quick_replies',
  'region',
  'score_min',
  'service_id',
  'sms_from',
  'team_id',
  'team_name',
  'use_callback',
  'waiting_text',
  'workspace_id',
  'workspace_name',
]);

const END_CHARS_MAX = 4;
/** Maximum share of a credential to show at each end. */
const END_SHARE = 1 / 8;

/** Copy a configuration, and mask every text and number except the values of plain keys. */
export function maskConfig(provider: string, config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return maskObject(config, provider === MESSENGER ? PLAIN_KEYS_MESSENGER : PLAIN_KEYS);
}

function maskObject(object: object, plainKeys: ReadonlySet<string>): Record<string, unknown> {
  const entries = Object.entries(object);
  return Object.fromEntries(entries.map(([key, value]) => [key, maskValue(value, plainKeys.has(key), plainKeys)]));
}

function maskValue(value: unknown, isPlain: boolean, plainKeys: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return isPlain ? value : maskText(value);
  // A number may be a PIN or a token. Masking only some of its digits would leave few to guess.
  if (typeof value === 'number') return isPlain ? value : maskText('');
  if (Array.isArray(value)) return value.map((item) => maskValue(item, isPlain, plainKeys));
  return typeof value === 'object' && value !== null ? maskObject(value, plainKeys) : value;
}

/** Mask a text as `abcd****wxyz`, or less of a short one. The mask doesn't reveal the length. */
function maskText(text: string): string {
  const characters = Array.from(text);
  const shown = Math.min(END_CHARS_MAX, Math.floor(characters.length * END_SHARE));
  return `${characters.slice(0, shown).join('')}****${shown === 0 ? '' : characters.slice(-shown).join('')}`;
}
