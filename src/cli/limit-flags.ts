import type { KeyLimits } from '../access/key-limits.ts';
import { invalidRequest } from '../platform/errors.ts';
import { listFlag, listOf, pairsOf } from './flags.ts';

/** Flags for the limits of an API key. */
export const limitFlags = {
  quota: listFlag(
    'texts or images a month by axis (embed, embed_batch, embed_image, answers), such as embed=100000; may be given several times',
  ),
  rate: listFlag(
    'requests a minute by axis (those of --quota, search, upload), such as search=60; may be given several times',
  ),
  'allow-model': listFlag('model that the key may use; may be given several times (default: all)'),
  'allow-bucket': listFlag('bucket that the key may use; may be given several times (default: all)'),
};

type Values = { readonly [Name in keyof typeof limitFlags]?: readonly string[] | string | undefined };

/**
 * Return the limits given by flags; null if none.
 * @throws AppError `invalid_request` (400) for a value that isn't an integer
 */
export function limitsOfFlags(flags: Values): KeyLimits | null {
  const numbers = (flag: 'quota' | 'rate') =>
    Object.fromEntries(
      Object.entries(pairsOf(flag, flags[flag])).map(([axis, text]) => [axis, wholeNumber(flag, axis, text)]),
    );
  const given: [keyof KeyLimits, object][] = [
    ['quotas', numbers('quota')],
    ['requests_per_minute', numbers('rate')],
    ['models', listOf(flags['allow-model'])],
    ['buckets', listOf(flags['allow-bucket'])],
  ];
  const limits = Object.fromEntries(given.filter(([, limit]) => Object.keys(limit).length > 0));
  return Object.keys(limits).length === 0 ? null : limits;
}

function wholeNumber(flag: string, axis: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalidRequest(`--${flag}: ${axis} needs a whole number, not "${text}"`, flag);
}

/** Render limits on one line. */
export function renderLimits(limits: KeyLimits | null): string {
  const { quotas = {}, requests_per_minute: rates = {}, models = [], buckets = [] } = limits ?? {};
  return [
    ...Object.entries(quotas).map(([axis, count]) => `${axis} ${count} a month`),
    ...Object.entries(rates).map(([axis, count]) => `${axis} ${count} a minute`),
    ...models,
    ...buckets,
  ].join(', ');
}
