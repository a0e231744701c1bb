import { isIP } from 'node:net';
import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { checkRowLimit } from '../access/row-limits-store.ts';
import { conflict, invalidRequest, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { AddressGuard } from '../platform/outbound/address-guard.ts';
import type { Sql } from '../platform/postgres.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import {
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  insertEndpoint,
  isNameTaken,
  rotateSecret,
  selectEndpoint,
  selectEndpoints,
  updateEndpoint,
} from './endpoint-store.ts';
import type { CreatedWebhook, NewWebhook, RotateRequest, WebhookChange, WebhookView } from './schema.ts';
import { sealSecret } from './secrets.ts';
import { giveUpWaiting } from './send-due.ts';
import { newSecret } from './sign.ts';

/** Dependencies of operations on endpoints. */
export interface WebhooksContext {
  readonly sql: Sql;
  readonly keyRing: Pick<KeyRing, 'encryption'>;
  readonly guard: AddressGuard;
}

type Actor = Pick<Caller, 'orgId' | 'actor'>;

const HOUR_MS = 3_600_000;
const DISABLED_BY_PERSON = 'disabled by an administrator';

/**
 * Create an endpoint. Only this response and that of a rotation contain a secret.
 *
 * @throws AppError `invalid_request` (400), `webhook_exists`, `too_many_webhook_endpoints` (409)
 */
export async function createWebhook(
  { sql, keyRing, guard }: WebhooksContext,
  caller: Actor,
  { name, url, events }: NewWebhook,
): Promise<CreatedWebhook> {
  const { orgId, actor } = caller;
  checkAddress(guard, url);
  const id = newId('whk');
  const secret = newSecret();
  const sealedSecret = sealSecret(keyRing, { orgId, id }, secret);
  return sql.begin(async (tx) => {
    const made = await insertEndpoint(tx, orgId, { id, name, url, events, sealedSecret });
    if (made === null) throw nameTaken(name);
    await checkRowLimit(tx, orgId, 'webhook_endpoints');
    await recordAudit(tx, { orgId, actor, action: 'webhook.create', target: id, detail: { name, events } });
    return { ...made, secret: secret.reveal() };
  });
}

/** List the endpoints of an organization by name. */
export function listWebhooks(sql: Sql, { orgId }: Pick<Caller, 'orgId'>): Promise<WebhookView[]> {
  return selectEndpoints(sql, orgId);
}

/** Find an endpoint by id or name. @throws AppError `webhook_not_found` (404) */
export async function findWebhook(sql: Sql, { orgId }: Pick<Caller, 'orgId'>, ref: string): Promise<WebhookView> {
  const found = await selectEndpoint(sql, orgId, ref);
  if (found === null) throw notFound('webhook', ref);
  return found;
}

/**
 * Change an endpoint. Disabling it gives up its waiting events.
 *
 * @throws AppError `invalid_request` (400), `webhook_not_found` (404), `webhook_exists` (409)
 */
export async function changeWebhook(
  { sql, guard }: Pick<WebhooksContext, 'sql' | 'guard'>,
  caller: Actor,
  ref: string,
  change: WebhookChange,
): Promise<WebhookView> {
  const { orgId, actor } = caller;
  if (change.url !== undefined) checkAddress(guard, change.url);
  return sql.begin(async (tx) => {
    const { id, name, url, events, enabled } = await findWebhook(tx, caller, ref);
    if (change.name !== undefined && (await isNameTaken(tx, orgId, change.name, id))) throw nameTaken(change.name);
    const changed = { name, url, events, ...withoutUndefined(change), id };
    await updateEndpoint(tx, orgId, changed);
    if (change.enabled === true && !enabled) await enableEndpoint(tx, orgId, id);
    if (change.enabled === false && enabled) {
      await disableEndpoint(tx, orgId, id, DISABLED_BY_PERSON);
      await giveUpWaiting(tx, { orgId, id }, DISABLED_BY_PERSON);
    }
    const fields = Object.keys(withoutUndefined(change));
    await recordAudit(tx, { orgId, actor, action: 'webhook.change', target: id, detail: { fields } });
    return findWebhook(tx, caller, id);
  });
}

/** Delete an endpoint and its deliveries. @throws AppError `webhook_not_found` (404) */
export async function deleteWebhook(sql: Sql, caller: Actor, ref: string): Promise<void> {
  const { orgId, actor } = caller;
  await sql.begin(async (tx) => {
    const { id, name } = await findWebhook(tx, caller, ref);
    await deleteEndpoint(tx, orgId, id);
    await recordAudit(tx, { orgId, actor, action: 'webhook.delete', target: id, detail: { name } });
  });
}

/**
 * Rotate the secret of an endpoint. Both secrets sign events until the overlap ends.
 *
 * @throws AppError `webhook_not_found` (404)
 */
export async function rotateWebhook(
  { sql, keyRing }: Pick<WebhooksContext, 'sql' | 'keyRing'>,
  caller: Actor,
  ref: string,
  { overlap_hours: overlapHours }: RotateRequest,
): Promise<CreatedWebhook> {
  const { orgId, actor } = caller;
  const secret = newSecret();
  return sql.begin(async (tx) => {
    const { id } = await findWebhook(tx, caller, ref);
    const sealedSecret = sealSecret(keyRing, { orgId, id }, secret);
    const rotated = await rotateSecret(tx, orgId, { id, sealedSecret, overlapMs: overlapHours * HOUR_MS });
    if (rotated === null) throw notFound('webhook', ref);
    const detail = { overlap_hours: overlapHours };
    await recordAudit(tx, { orgId, actor, action: 'webhook.rotate', target: id, detail });
    return { ...rotated, secret: secret.reveal() };
  });
}

/** Refuse a URL that can never receive an event. A host name's address is checked at each connection. */
function checkAddress(guard: AddressGuard, url: string): void {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) === 0 || guard.refusalOf(host) === null) return;
  const message = `url: ${host} is in a network of the operator or a reserved one; use a public address, or ask the operator to list it under webhooks.networks in service.yaml`;
  throw invalidRequest(message, 'url');
}

function nameTaken(name: string) {
  return conflict(`a webhook named "${name}" already exists; choose another name`, 'webhook_exists');
}

function withoutUndefined(change: WebhookChange): {
  [Field in keyof WebhookChange]?: NonNullable<WebhookChange[Field]>;
} {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}
