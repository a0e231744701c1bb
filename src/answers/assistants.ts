import type { Caller } from '../access/caller.ts';
import { checkRowLimit } from '../access/row-limits-store.ts';
import { findBucket } from '../documents/buckets.ts';
import type { BucketUser } from '../documents/store.ts';
import { conflict, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import type { Assistant, AssistantRequest } from './assistant-schema.ts';
import { deleteAssistantRow, insertAssistant, selectAssistant, selectAssistants } from './assistant-store.ts';

/**
 * Create an assistant of the caller's organization.
 *
 * @throws AppError `bucket_not_found` (404), `assistant_exists`, `too_many_assistants` (409)
 */
export async function createAssistant(sql: Sql, caller: Caller, request: AssistantRequest): Promise<Assistant> {
  const { name, buckets, ...rest } = request;
  const definition = {
    ...rest,
    buckets: await Promise.all(buckets.map(async (ref) => (await findBucket(sql, caller, ref)).id)),
  };
  return inTransaction(sql, async (tx) => {
    const made = await insertAssistant(tx, caller.orgId, { id: newId('asst'), name, definition });
    if (made === null)
      throw conflict(`an assistant named "${name}" already exists; choose another name`, 'assistant_exists');
    await checkRowLimit(tx, caller.orgId, 'assistants');
    return made;
  });
}

/** Find an assistant by its id or name. @throws AppError `assistant_not_found` (404) */
export async function findAssistant(sql: Sql, caller: BucketUser, ref: string): Promise<Assistant> {
  const found = await selectAssistant(sql, caller, ref);
  if (found === null) throw notFound('assistant', ref);
  return found;
}

/** List the assistants that exist for the caller, by name. */
export function listAssistants(sql: Sql, caller: BucketUser): Promise<Assistant[]> {
  return selectAssistants(sql, caller);
}

/** Delete an assistant by its id or name. @throws AppError `assistant_not_found` (404) */
export async function deleteAssistant(sql: Sql, caller: BucketUser, ref: string): Promise<void> {
  const { id } = await findAssistant(sql, caller, ref);
  await deleteAssistantRow(sql, caller.orgId, id);
}
