import { isDeepStrictEqual } from 'node:util';
import { recordAudit } from '../access/audit.ts';
import { type Caller, requireScope } from '../access/caller.ts';
import { checkRowLimit } from '../access/row-limits-store.ts';
import { AppError, conflict, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { isUniqueViolation, type Sql } from '../platform/postgres.ts';
import type { BlockTypes } from './block-types.ts';
import type { Definition, NewWorkflow, WorkflowDetail, WorkflowView } from './schema.ts';
import * as store from './store.ts';
import { validateDefinition } from './validate-definition.ts';

export { listWorkflowRows as listWorkflows } from './store.ts';

/** Database, and the block types that definitions may use. */
export interface WorkflowContext {
  readonly sql: Sql;
  readonly blocks: BlockTypes;
}

/** Maximum number of versions of one workflow. */
export const VERSIONS_MAX = 500;

function tooManyVersions(): AppError {
  const message = `the workflow has ${VERSIONS_MAX} versions, the maximum: create another workflow, and delete this one`;
  return conflict(message, 'too_many_versions');
}

/** @throws AppError `definition_invalid` (400), whose message has one line per fault */
function requireValid(blocks: BlockTypes, value: unknown): Definition {
  const checked = validateDefinition(blocks, value);
  if ('definition' in checked) return checked.definition;
  const message = checked.faults.join('\n');
  const details = { faults: checked.faults };
  throw new AppError({ code: 'definition_invalid', status: 400, message, param: 'definition', details });
}

/**
 * Create a workflow as a draft.
 *
 * @throws AppError `definition_invalid` (400), `workflow_exists` or `too_many_workflows` (409)
 */
export async function createWorkflow(
  { sql, blocks }: WorkflowContext,
  caller: Caller,
  request: NewWorkflow,
): Promise<WorkflowDetail> {
  const definition = requireValid(blocks, request.definition);
  const id = newId('wfl');
  const { orgId, actor } = caller;
  try {
    await sql.begin(async (tx) => {
      await store.insertWorkflow(tx, orgId, { id, name: request.name, actor });
      await checkRowLimit(tx, orgId, 'workflows');
      await store.insertVersion(tx, orgId, id, { definition, actor });
      await recordAudit(tx, { orgId, actor, action: 'workflow.create', target: id, detail: { name: request.name } });
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    const message = `a workflow named "${request.name}" already exists; choose another name, or add a version to it`;
    throw conflict(message, 'workflow_exists');
  }
  return getWorkflow(sql, caller, id);
}

/**
 * Add a version to a workflow. It remains a draft until it is published. Meanwhile, runs use the published version.
 *
 * @throws AppError `workflow_not_found` (404), `definition_invalid` (400), `too_many_versions` (409)
 */
export async function addVersion(
  { sql, blocks }: WorkflowContext,
  caller: Caller,
  ref: string,
  request: { readonly definition: unknown },
): Promise<WorkflowDetail> {
  const { orgId, actor } = caller;
  const { id } = await store.findWorkflow(sql, orgId, ref);
  const definition = requireValid(blocks, request.definition);
  await sql.begin(async (tx) => {
    const version = await store.insertVersion(tx, orgId, id, { definition, actor });
    if (version === null) throw notFound('workflow', ref);
    if (version > VERSIONS_MAX) throw tooManyVersions();
    await recordAudit(tx, { orgId, actor, action: 'workflow.add_version', target: id, detail: { version } });
  });
  return getWorkflow(sql, caller, id);
}

/** Workflow after an import, and the kind of change. */
export interface ImportedWorkflow {
  readonly workflow: WorkflowDetail;
  readonly change: 'created' | 'version added' | 'unchanged';
}

/**
 * Create a workflow or, if the name exists, add a version unless the latest one has the same definition.
 *
 * @throws AppError `definition_invalid` (400)
 */
export async function importWorkflow(
  context: WorkflowContext,
  caller: Caller,
  request: NewWorkflow,
): Promise<ImportedWorkflow> {
  try {
    return { workflow: await createWorkflow(context, caller, request), change: 'created' };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'workflow_exists') throw error;
  }
  const { id } = await store.findWorkflow(context.sql, caller.orgId, request.name);
  const latest = await getWorkflow(context.sql, caller, id);
  const definition = requireValid(context.blocks, request.definition);
  if (isDeepStrictEqual(latest.definition, definition)) return { workflow: latest, change: 'unchanged' };
  return { workflow: await addVersion(context, caller, id, { definition }), change: 'version added' };
}

/**
 * Publish a version of a workflow, by default the latest. A version that sends messages to approvers needs
 * `channels:send`.
 *
 * @throws AppError `scope_missing` (403), `workflow_not_found`, `workflow_version_not_found` (404),
 *   `definition_invalid` (400) if its definition is no longer valid
 */
export async function publishWorkflow(
  { sql, blocks }: WorkflowContext,
  caller: Caller,
  ref: string,
  wanted?: number | undefined,
): Promise<WorkflowView> {
  const { orgId, actor } = caller;
  const workflow = await store.findWorkflow(sql, orgId, ref);
  const { id } = workflow;
  const version = wanted ?? workflow.latest_version;
  const { notify } = requireValid(blocks, await store.readDefinition(sql, orgId, id, version));
  if (notify !== undefined) requireScope(caller, 'channels:send');
  await sql.begin(async (tx) => {
    if (!(await store.publishVersion(tx, orgId, id, version))) throw notFound('workflow', ref);
    await recordAudit(tx, { orgId, actor, action: 'workflow.publish', target: id, detail: { version } });
  });
  return store.findWorkflow(sql, orgId, id);
}

/** Read a workflow with one of its versions, by default the latest. @throws AppError 404 */
export async function getWorkflow(
  sql: Sql,
  caller: Caller,
  ref: string,
  version?: number | undefined,
): Promise<WorkflowDetail> {
  const workflow = await store.findWorkflow(sql, caller.orgId, ref);
  const wanted = version ?? workflow.latest_version;
  const definition = await store.readDefinition(sql, caller.orgId, workflow.id, wanted);
  const versions = await store.listVersions(sql, caller.orgId, workflow.id);
  return { ...workflow, version: wanted, definition, versions };
}

/** Delete a workflow with its versions and its history. @throws AppError `workflow_not_found` (404) */
export async function deleteWorkflow(sql: Sql, caller: Caller, ref: string): Promise<{ id: string; deleted: true }> {
  const { orgId, actor } = caller;
  const { id, name } = await store.findWorkflow(sql, orgId, ref);
  await sql.begin(async (tx) => {
    await store.deleteWorkflowRow(tx, orgId, id);
    await recordAudit(tx, { orgId, actor, action: 'workflow.delete', target: id, detail: { name } });
  });
  return { id, deleted: true };
}
