import { z } from 'zod';
import { forbidden, invalidRequest } from '../platform/errors.ts';
import { perAxis, perRateAxis } from '../platform/provider-settings.ts';

const LISTED_MAX = 100;

/** Limits of one key, in addition to those of its organization's plan. Absent means unlimited. */
export const KeyLimits = z
  .strictObject({
    quotas: perAxis.optional().describe('maximum number of texts or images per calendar month, by axis'),
    requests_per_minute: perRateAxis.optional().describe('maximum number of requests per minute, by axis'),
    models: z
      .array(z.string().min(1).max(200))
      .min(1)
      .max(LISTED_MAX)
      .optional()
      .describe('models that requests may use, by name or through the routing; a fallback may replace them'),
    buckets: z
      .array(z.string().min(1).max(200))
      .min(1)
      .max(LISTED_MAX)
      .optional()
      .describe('buckets that the key may use; other buckets do not exist for it'),
  })
  .meta({ id: 'KeyLimits' });
export type KeyLimits = Readonly<z.output<typeof KeyLimits>>;

/** Scopes that a key with limits may have. Others could lift the limits, or reach models and buckets in other ways. */
const LIMITED_SCOPES: ReadonlySet<string> = new Set(['embed', 'search', 'documents:write', 'jobs:write']);

/** @throws AppError `invalid_request` (400) if a key with limits has a scope that could bypass them */
export function requireLimitedScopes(scopes: readonly string[], limits: KeyLimits | null): void {
  const other = limits === null ? undefined : scopes.find((scope) => !LIMITED_SCOPES.has(scope));
  if (other === undefined) return;
  const allowed = [...LIMITED_SCOPES].join(', ');
  throw invalidRequest(`scopes: a key with limits can have ${allowed}, not ${other}`, 'scopes');
}

/** Return the limits, or null if there are none in effect. */
export function limitsOrNull(limits: KeyLimits | null | undefined): KeyLimits | null {
  const isEmpty = Object.values(limits ?? {}).every((limit) => limit === undefined || Object.keys(limit).length === 0);
  return isEmpty ? null : (limits ?? null);
}

/** Return true if the limits of a key allow a model. */
export function isModelAllowed(limits: KeyLimits | null | undefined, modelId: string): boolean {
  return limits?.models?.includes(modelId) ?? true;
}

/** @throws AppError `model_not_allowed` (403) if the limits of a key don't include the model */
export function requireModelAllowed(limits: KeyLimits | null | undefined, modelId: string): void {
  if (isModelAllowed(limits, modelId)) return;
  throw forbidden(`this key may use ${limits?.models?.join(', ')}, not ${modelId}`, 'model_not_allowed');
}

/** Return true if the limits of a key allow a bucket. */
export function isBucketAllowed(limits: KeyLimits | null | undefined, bucketId: string): boolean {
  return limits?.buckets?.includes(bucketId) ?? true;
}
