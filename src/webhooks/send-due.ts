import { setTimeout as delay } from 'node:timers/promises';
import type { Agent } from 'undici';
import { recordAudit } from '../access/audit.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Secret } from '../platform/secret.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import {
  claimDue,
  giveUpOld,
  type HeldDelivery,
  recordDelivered,
  recordFailed,
  releaseDelivery,
} from './delivery-store.ts';
import {
  type DueEndpoint,
  disableEndpoint,
  recordFailing,
  recordWorking,
  type SendableEndpoint,
  selectDueEndpoints,
  selectSendable,
} from './endpoint-store.ts';
import { type PostOutcome, postEvent, REQUEST_MS } from './post-event.ts';
import { openSecrets } from './secrets.ts';
import { signatureHeaders } from './sign.ts';
import type { WebhookMetrics } from './webhook-metrics.ts';

export interface SendingContext {
  readonly sql: Sql;
  readonly keyRing: Pick<KeyRing, 'encryption'>;
  readonly agent: Agent;
  readonly logger: Logger;
  readonly metrics: WebhookMetrics;
}

/** Time after which delivery of an event is given up. */
export const RETRY_FOR_MS = 24 * 3_600_000;
/** Time of continuous failure after which an endpoint is disabled. */
export const DISABLE_AFTER_MS = 5 * 24 * 3_600_000;
const PAUSE_MS = { min: 5_000, max: 30 * 60_000 };

/** Lease of a claim, after which another process takes over the events of a dead one. */
const LEASE_MS = 60_000;
/** Age of a claim at which its event is no longer sent, since another process may soon send it. */
const SEND_BEFORE_MS = LEASE_MS - 2 * REQUEST_MS;

const ENDPOINTS_AT_ONCE_MAX = 32;
/** Share of one organization, so that its slow receivers don't delay events of others. */
const ENDPOINTS_OF_ORGANIZATION_MAX = 8;
const EVENTS_AT_ONCE_MAX = 8;
const GIVEN_UP_ROWS_MAX = 10_000;
const LOOK_EVERY_MS = 500;
/** Duration of a run, after which it claims no more events. */
const RUN_MS_MAX = 60_000;

/** Return the pause after a failure: half the time that it has been failing, 5 s to 30 min, ±10 %. */
export function pauseMs(failingMs: number): number {
  return Math.min(PAUSE_MS.max, Math.max(PAUSE_MS.min, failingMs / 2)) * (0.9 + 0.2 * Math.random());
}

/**
 * Send due events of all organizations until none is left. Any number of processes may run this at once. Each endpoint
 * has its own worker, so a slow receiver doesn't delay others. An organization has at most a quarter of the workers.
 */
export async function sendDue(context: SendingContext, signal: AbortSignal): Promise<void> {
  /** Workers, and the organization of each, by endpoint. */
  const working = new Map<string, { readonly orgId: string; readonly work: Promise<void> }>();
  const endsAt = performance.now() + RUN_MS_MAX;
  const isOver = () => signal.aborted || performance.now() > endsAt;
  do {
    for (const { id, orgId } of isOver() ? [] : await selectDue(context.sql, [...working.keys()])) {
      const ofOrganization = [...working.values()].filter((each) => each.orgId === orgId).length;
      if (working.size >= ENDPOINTS_AT_ONCE_MAX || ofOrganization >= ENDPOINTS_OF_ORGANIZATION_MAX) continue;
      const work = workOn(context, id, isOver, signal)
        .catch((error) => {
          if (!signal.aborted) context.logger.error({ err: error, webhook: id }, 'events could not be sent');
        })
        .finally(() => working.delete(id));
      working.set(id, { orgId, work });
    }
    const works = [...working.values()].map(({ work }) => work);
    if (works.length > 0) await Promise.race([...works, delay(LOOK_EVERY_MS)]);
  } while (working.size > 0);
}

function selectDue(sql: Sql, except: readonly string[]): Promise<DueEndpoint[]> {
  return selectDueEndpoints(sql, {
    except,
    perOrganization: ENDPOINTS_OF_ORGANIZATION_MAX,
    rowsMax: ENDPOINTS_AT_ONCE_MAX,
  });
}

/** Send the due events of an endpoint: several at once, or one at a time after a failure. */
async function workOn(context: SendingContext, id: string, isOver: () => boolean, signal: AbortSignal): Promise<void> {
  while (!isOver()) {
    const endpoint = await selectSendable(context.sql, id);
    if (endpoint === null) return;
    const secrets = openSecrets(context.keyRing, endpoint);
    const rowsMax = endpoint.failingMs === null ? EVENTS_AT_ONCE_MAX : 1;
    const claimedAt = performance.now();
    const claimed = await claimDue(context.sql, endpoint, { rowsMax, leaseMs: LEASE_MS });
    if (claimed.length === 0) return;
    const target = { endpoint, secrets, sendBy: claimedAt + SEND_BEFORE_MS };
    const ends = await Promise.allSettled(claimed.map((held) => send(context, target, held, signal)));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }
}

interface Target {
  readonly endpoint: SendableEndpoint;
  readonly secrets: readonly Secret[];
  /** Time by `performance.now()` after which nothing is sent. */
  readonly sendBy: number;
}

async function send(
  context: SendingContext,
  { endpoint, secrets, sendBy }: Target,
  held: HeldDelivery,
  signal: AbortSignal,
): Promise<void> {
  const { sql, agent } = context;
  const { type, occurredAt, data } = held;
  const payload = JSON.stringify({ type, timestamp: occurredAt.toISOString(), data });
  const headers = signatureHeaders({ id: held.id, payload }, secrets, Date.now());
  if (performance.now() > sendBy) return;
  let outcome: PostOutcome;
  try {
    outcome = await postEvent(agent, { url: endpoint.url, headers, payload }, signal);
  } catch (error) {
    await releaseDelivery(sql, held);
    throw error;
  }
  if (outcome.kind !== 'accepted') return recordFailure(context, endpoint, held, outcome);
  context.metrics.tried('delivered');
  await recordDelivered(sql, held, outcome.replyStatus);
  if (endpoint.failingMs !== null) await recordWorking(sql, endpoint);
}

async function recordFailure(
  context: SendingContext,
  endpoint: SendableEndpoint,
  held: HeldDelivery,
  outcome: Exclude<PostOutcome, { kind: 'accepted' }>,
): Promise<void> {
  const { sql, logger } = context;
  const { kind, error, retryAfterMs } = outcome;
  logger.warn({ webhook: endpoint.id, event: held.id, reason: error }, 'an event was not delivered');
  const failingMs = endpoint.failingMs ?? 0;
  const isGivenUp = kind === 'gone' || held.ageMs > RETRY_FOR_MS;
  const waitMs = Math.max(retryAfterMs ?? 0, pauseMs(held.ageMs));
  context.metrics.tried(isGivenUp ? 'given_up' : 'failed');
  await recordFailed(sql, held, outcome, isGivenUp ? null : waitMs);
  if (kind === 'gone') return disable(context, endpoint, 'the receiver answers 410 Gone');
  await recordFailing(sql, endpoint, kind === 'down' ? Math.max(retryAfterMs ?? 0, pauseMs(failingMs)) : null);
  if (kind === 'down') {
    await giveUpOld(sql, endpoint, { ageMs: RETRY_FOR_MS, error, rowsMax: GIVEN_UP_ROWS_MAX });
  }
  if (failingMs > DISABLE_AFTER_MS) {
    const days = DISABLE_AFTER_MS / (24 * 3_600_000);
    await disable(context, endpoint, `it has failed for ${days} days: ${error}`);
  }
}

/** Disable an endpoint, and give up its waiting events. */
async function disable({ sql, logger }: SendingContext, { orgId, id }: SendableEndpoint, reason: string) {
  await sql.begin(async (tx) => {
    if (!(await disableEndpoint(tx, orgId, id, reason))) return;
    await giveUpWaiting(tx, { orgId, id }, reason);
    await recordAudit(tx, { orgId, actor: `webhook:${id}`, action: 'webhook.disable', target: id, detail: { reason } });
  });
  logger.warn({ webhook: id, reason }, 'a webhook was disabled');
}

/** Give up all waiting events of a disabled endpoint. */
export async function giveUpWaiting(
  tx: Sql,
  endpoint: { readonly orgId: string; readonly id: string },
  reason: string,
): Promise<void> {
  const error = `the webhook is disabled: ${reason}`;
  for (let rows = GIVEN_UP_ROWS_MAX; rows === GIVEN_UP_ROWS_MAX; ) {
    rows = await giveUpOld(tx, endpoint, { ageMs: 0, error, rowsMax: GIVEN_UP_ROWS_MAX });
  }
}
