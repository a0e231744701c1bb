import { translateName } from '../lib/i18n.ts';
import { Badge, type Tone } from './controls.tsx';

const TONES: Readonly<Record<string, Tone>> = {
  ready: 'good',
  completed: 'good',
  published: 'good',
  active: 'good',
  calibrated: 'good',
  good: 'good',
  ok: 'good',
  delivered: 'good',
  sent: 'good',
  queued: 'neutral',
  idle: 'neutral',
  draft: 'neutral',
  cancelled: 'neutral',
  skipped: 'neutral',
  simulated: 'info',
  processing: 'info',
  extracting: 'info',
  chunking: 'info',
  embedding: 'info',
  indexing: 'info',
  syncing: 'info',
  running: 'info',
  calibrating: 'info',
  fetching: 'info',
  testing: 'info',
  sharing: 'info',
  cancelling: 'warn',
  served: 'info',
  sending: 'info',
  deleting: 'warn',
  needs_approval: 'warn',
  needs_review: 'warn',
  degraded: 'warn',
  too_slow: 'warn',
  unavailable: 'warn',
  abandoned: 'warn',
  uncertain: 'warn',
  stale: 'warn',
  warn: 'warn',
  apart: 'warn',
  suspended: 'warn',
  paused: 'warn',
  failed: 'bad',
  fail: 'bad',
  error: 'bad',
  revoked: 'bad',
  expired: 'bad',
  down: 'bad',
};

const ACTIVE: ReadonlySet<string> = new Set([
  'processing',
  'sending',
  'extracting',
  'chunking',
  'embedding',
  'indexing',
  'syncing',
  'running',
]);

/** State of a document, a job or another thing, by its API name. */
export function Status({ of }: { of: string }) {
  return (
    <Badge tone={TONES[of] ?? 'neutral'} isActive={ACTIVE.has(of)}>
      {translateName(of)}
    </Badge>
  );
}
