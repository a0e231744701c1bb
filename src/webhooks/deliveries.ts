import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { conflict, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import { insertDelivery, replayFailed, replayOne, selectDeliveries } from './delivery-store.ts';
import { type ListDeliveriesQuery, type ReplayRequest, TEST_EVENT, type WebhookDelivery } from './schema.ts';
import { findWebhook } from './webhooks.ts';

type Actor = Pick<Caller, 'orgId' | 'actor'>;

/** Maximum number of deliveries to replay per request. */
export const REPLAYED_MAX = 10_000;

/** List the deliveries of an endpoint, newest first. @throws AppError `webhook_not_found` (404) */
export async function listDeliveries(
  sql: Sql,
  caller: Pick<Caller, 'orgId'>,
  ref: string,
  query: ListDeliveriesQuery,
): Promise<WebhookDelivery[]> {
  const { id } = await findWebhook(sql, caller, ref);
  return selectDeliveries(sql, caller.orgId, id, query);
}

/**
 * Send a test event to an endpoint.
 *
 * @throws AppError `webhook_not_found` (404), `webhook_disabled` (409)
 */
export async function sendTestEvent(sql: Sql, caller: Actor, ref: string): Promise<WebhookDelivery> {
  const { orgId, actor } = caller;
  return sql.begin(async (tx) => {
    const endpointId = await findEnabled(tx, caller, ref);
    const id = newId('msg');
    const data = { webhook_id: endpointId };
    await insertDelivery(tx, { endpointId, id, orgId, type: TEST_EVENT, objectId: id, data, onceKey: null });
    await recordAudit(tx, { orgId, actor, action: 'webhook.test', target: endpointId });
    const delivery = await replayOne(tx, { orgId, endpointId, id });
    if (delivery === null) throw notFound('webhook', ref);
    return delivery;
  });
}

/**
 * Replay a delivery under the same id.
 *
 * @throws AppError `webhook_not_found`, `delivery_not_found` (404), `webhook_disabled` (409)
 */
export async function replayDelivery(sql: Sql, caller: Actor, ref: string, id: string): Promise<WebhookDelivery> {
  const { orgId, actor } = caller;
  return sql.begin(async (tx) => {
    const endpointId = await findEnabled(tx, caller, ref);
    const delivery = await replayOne(tx, { orgId, endpointId, id });
    if (delivery === null) throw notFound('delivery', id);
    await recordAudit(tx, { orgId, actor, action: 'webhook.replay', target: endpointId, detail: { delivery: id } });
    return delivery;
  });
}

/**
 * Replay the failed deliveries of events since a time, oldest first, at most `REPLAYED_MAX`.
 *
 * @returns number of replayed deliveries
 * @throws AppError `webhook_not_found` (404), `webhook_disabled` (409)
 */
export async function replaySince(sql: Sql, caller: Actor, ref: string, { since }: ReplayRequest): Promise<number> {
  const { orgId, actor } = caller;
  return sql.begin(async (tx) => {
    const endpointId = await findEnabled(tx, caller, ref);
    // Clamp the time: PostgreSQL has no year 0, and no event is older than the service.
    const from = new Date(Math.max(0, Date.parse(since)));
    const replayed = await replayFailed(tx, { orgId, endpointId }, from, REPLAYED_MAX);
    await recordAudit(tx, { orgId, actor, action: 'webhook.replay', target: endpointId, detail: { since, replayed } });
    return replayed;
  });
}

async function findEnabled(tx: Sql, caller: Actor, ref: string): Promise<string> {
  const { id, name, enabled, disabled_reason: reason } = await findWebhook(tx, caller, ref);
  if (enabled) return id;
  throw conflict(`the webhook ${name} is disabled (${reason}); enable it first`, 'webhook_disabled');
}
