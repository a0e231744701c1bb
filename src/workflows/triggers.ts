import { recordAudit } from '../access/audit.ts';
import { type Caller, requireScope } from '../access/caller.ts';
import { findBucket } from '../documents/buckets.ts';
import { nextRun } from '../memory/schedule.ts';
import { conflict, forbidden, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import { seal } from '../platform/seal.ts';
import type { Secret } from '../platform/secret.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { newSecret } from '../webhooks/sign.ts';
import { findWorkflow } from './store.ts';
import type { CreatedTrigger, NewTrigger, TriggerView } from './trigger-schema.ts';
import { deleteTrigger, insertTrigger, lockWorkflow, type NewTriggerRow, selectTriggers } from './trigger-store.ts';

/** Maximum number of triggers of one workflow. */
const TRIGGERS_MAX = 20;

export interface TriggerContext {
  readonly sql: Sql;
  readonly keyRing: Pick<KeyRing, 'encryption'>;
}

/** Return the encryption context of a secret, which binds the encrypted value to its row. */
export function secretContextOf({ orgId, id }: { readonly orgId: string; readonly id: string }): string {
  return `workflow_triggers/${orgId}/${id}`;
}

/**
 * Let a schedule, signed requests or new documents start a workflow. Each run has the caller's rights at the time of
 * its start.
 *
 * @throws AppError `scope_missing`, `grant_not_allowed` (403), `workflow_not_found`, `bucket_not_found` (404),
 *   `too_many_triggers` (409)
 */
export async function createTrigger(
  { sql, keyRing }: TriggerContext,
  caller: Caller,
  ref: string,
  request: NewTrigger,
): Promise<CreatedTrigger> {
  requireScope(caller, 'workflows:run');
  if (caller.kind === 'grant') {
    throw forbidden('a client cannot start workflows on your behalf; sign in yourself', 'grant_not_allowed');
  }
  const { orgId, actor } = caller;
  const { id: workflowId } = await findWorkflow(sql, orgId, ref);
  const secret = request.webhook === undefined ? null : newSecret();
  const row = await rowOf(sql, caller, request);
  const id = newId('trg');
  const sealedSecret = secret && seal(keyRing.encryption, secret.reveal(), secretContextOf({ orgId, id }));
  return sql.begin(async (tx) => {
    if (!(await lockWorkflow(tx, orgId, workflowId))) throw notFound('workflow', ref);
    const made = await insertTrigger(tx, { ...row, id, orgId, workflow_id: workflowId, actor, sealedSecret });
    if ((await selectTriggers(tx, orgId, workflowId)).length > TRIGGERS_MAX) throw tooMany();
    const detail = { trigger: id, kind: made.kind };
    await recordAudit(tx, { orgId, actor, action: 'workflow.add_trigger', target: workflowId, detail });
    return { ...made, secret: revealed(secret) };
  });
}

type TriggerFields = Pick<NewTriggerRow, 'kind' | 'mode' | 'schedule' | 'bucket_id' | 'nextStartAt'>;

async function rowOf(sql: Sql, caller: Caller, { schedule, bucket, mode }: NewTrigger): Promise<TriggerFields> {
  const none = { mode, schedule: null, bucket_id: null, nextStartAt: null };
  if (schedule !== undefined) {
    return { ...none, kind: 'schedule', schedule, nextStartAt: nextRun(schedule, new Date()) };
  }
  if (bucket === undefined) return { ...none, kind: 'webhook' };
  return { ...none, kind: 'document', bucket_id: (await findBucket(sql, caller, bucket)).id };
}

function revealed(secret: Secret | null): string | null {
  return secret === null ? null : secret.reveal();
}

function tooMany() {
  return conflict(`the workflow has ${TRIGGERS_MAX} triggers, the maximum: remove one first`, 'too_many_triggers');
}

/** List the triggers of a workflow, oldest first. @throws AppError `workflow_not_found` (404) */
export async function listTriggers(sql: Sql, caller: Pick<Caller, 'orgId'>, ref: string): Promise<TriggerView[]> {
  const { id } = await findWorkflow(sql, caller.orgId, ref);
  return selectTriggers(sql, caller.orgId, id);
}

/**
 * Remove a trigger. Runs that it has started continue.
 * @throws AppError `workflow_not_found`, `trigger_not_found` (404)
 */
export async function removeTrigger(
  sql: Sql,
  { orgId, actor }: Pick<Caller, 'orgId' | 'actor'>,
  ref: string,
  triggerId: string,
): Promise<void> {
  const { id } = await findWorkflow(sql, orgId, ref);
  await sql.begin(async (tx) => {
    if (!(await deleteTrigger(tx, orgId, id, triggerId))) throw notFound('trigger', triggerId);
    const detail = { trigger: triggerId };
    await recordAudit(tx, { orgId, actor, action: 'workflow.remove_trigger', target: id, detail });
  });
}
