import { notFound } from '../platform/errors.ts';
import { withIsoTimes } from '../platform/postgres/views.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Definition, WorkflowDetail, WorkflowView } from './schema.ts';

type Row = Readonly<Record<string, unknown>>;

/** Maximum number of workflows or versions in a list. */
const LIST_ROWS_MAX = 1_000;

export async function insertWorkflow(
  tx: Sql,
  orgId: string,
  workflow: { id: string; name: string; actor: string },
): Promise<void> {
  await tx`
    INSERT INTO workflows (id, org_id, name, latest_version, created_by)
    VALUES (${workflow.id}, ${orgId}, ${workflow.name}, 0, ${workflow.actor})`;
}

/** Add a version to a workflow. @returns its number, or null if the workflow is deleted */
export async function insertVersion(
  tx: Sql,
  orgId: string,
  workflowId: string,
  version: { definition: Definition; actor: string },
): Promise<number | null> {
  const [row] = await tx`
    UPDATE workflows SET latest_version = latest_version + 1, updated_at = now()
    WHERE org_id = ${orgId} AND id = ${workflowId} RETURNING latest_version`;
  if (!row) return null;
  // `tx.json` would send jsonb, which loses key order.
  const definition = JSON.stringify(version.definition);
  await tx`
    INSERT INTO workflow_versions (workflow_id, version, definition, created_by)
    VALUES (${workflowId}, ${row['latest_version'] as number}, ${definition}::text::json, ${version.actor})`;
  return row['latest_version'] as number;
}

/** Publish a version. @returns false if it does not exist */
export async function publishVersion(tx: Sql, orgId: string, workflowId: string, version: number): Promise<boolean> {
  const rows = await tx`
    UPDATE workflow_versions SET published_at = coalesce(published_at, now())
    FROM workflows
    WHERE workflows.id = workflow_id AND org_id = ${orgId} AND workflow_id = ${workflowId} AND version = ${version}
    RETURNING 1`;
  if (rows.length === 0) return false;
  await tx`
    UPDATE workflows SET published_version = ${version}, updated_at = now()
    WHERE org_id = ${orgId} AND id = ${workflowId}`;
  return true;
}

/** List workflows by name (all of them without `page`). @param page.after last name of the previous page */
export async function listWorkflowRows(
  sql: Sql,
  orgId: string,
  page?: { readonly limit: number; readonly after: string | undefined },
): Promise<WorkflowView[]> {
  const rows = await sql`
    SELECT * FROM workflows WHERE org_id = ${orgId} ${page?.after === undefined ? sql`` : sql`AND name > ${page.after}`}
    ORDER BY name LIMIT ${page?.limit ?? null}`;
  return rows.map(toWorkflow);
}

/** Find a workflow by id or name. @throws AppError `workflow_not_found` (404) */
export async function findWorkflow(sql: Sql, orgId: string, ref: string): Promise<WorkflowView> {
  const [row] = await sql`SELECT * FROM workflows WHERE org_id = ${orgId} AND (id = ${ref} OR name = ${ref})`;
  if (!row) throw notFound('workflow', ref);
  return toWorkflow(row);
}

/** Read a version of a workflow. @throws AppError `workflow_version_not_found` (404) */
export async function readDefinition(
  sql: Sql,
  orgId: string,
  workflowId: string,
  version: number,
): Promise<Definition> {
  const [row] = await sql`
    SELECT definition FROM workflow_versions JOIN workflows ON workflows.id = workflow_id
    WHERE org_id = ${orgId} AND workflow_id = ${workflowId} AND version = ${version}`;
  if (!row) throw notFound('workflow version', String(version));
  return row['definition'] as Definition;
}

export async function listVersions(sql: Sql, orgId: string, workflowId: string): Promise<WorkflowDetail['versions']> {
  const rows = await sql`
    SELECT version, v.created_at, v.published_at FROM workflow_versions v JOIN workflows ON workflows.id = workflow_id
    WHERE org_id = ${orgId} AND workflow_id = ${workflowId} ORDER BY version DESC LIMIT ${LIST_ROWS_MAX}`;
  return rows.map(withIsoTimes<WorkflowDetail['versions'][number]>);
}

export async function deleteWorkflowRow(tx: Sql, orgId: string, id: string): Promise<void> {
  await tx`DELETE FROM workflows WHERE org_id = ${orgId} AND id = ${id}`;
}

function toWorkflow(row: Row): WorkflowView {
  const { id, name, latest_version, published_version, created_at, updated_at } = row;
  const status = published_version === null ? 'draft' : 'published';
  return withIsoTimes({ id, name, status, latest_version, published_version, created_at, updated_at });
}
