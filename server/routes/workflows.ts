import { z } from 'zod';
import { approveRun } from '../../src/workflows/approve-run.ts';
import { BlockTypeView, listBlockTypes } from '../../src/workflows/list-block-types.ts';
import type { Workflows } from '../../src/workflows/open-workflows.ts';
import { getRun, listRuns, pageOfRun, runWorkflow } from '../../src/workflows/run-workflow.ts';
import {
  ApproveRequest,
  DryRunRequest,
  GetWorkflowQuery,
  NewVersion,
  NewWorkflow,
  PublishRequest,
  RunReply,
  RunRequest,
  RunSummary,
  RunView,
  WorkflowDetail,
  WorkflowView,
} from '../../src/workflows/schema.ts';
import {
  addVersion,
  createWorkflow,
  deleteWorkflow,
  getWorkflow,
  listWorkflows,
  publishWorkflow,
} from '../../src/workflows/workflows.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { NamePageQuery, PageQuery, pageSchema, readPageBy, readPageByName } from '../pages.ts';
import { defineRoute, type Route } from '../route.ts';

const params = z.object({ workflow: z.string().min(1).describe('id or name') });
const RunParams = params.extend({ run: z.string().min(1) });

export function workflowRoutes(workflows: Workflows): Route[] {
  const { sql } = workflows;
  return [
    blockTypesRoute(workflows),
    defineRoute({
      method: 'POST',
      path: '/v1/workflows',
      operationId: 'createWorkflow',
      refusals: [409],
      summary: 'Create a workflow as a draft',
      access: 'workflows:manage',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      body: NewWorkflow,
      responses: { 201: { description: 'The workflow', schema: WorkflowDetail } },
      handle: async ({ caller, body }) => ({ status: 201, body: await createWorkflow(workflows, caller, body) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/workflows',
      operationId: 'listWorkflows',
      summary: 'Workflows of the organization, by name',
      access: 'caller',
      query: NamePageQuery,
      responses: { 200: { description: 'A page', schema: pageSchema(WorkflowView) } },
      handle: async ({ caller, query }) => ({
        body: await readPageByName(query, (page) => listWorkflows(sql, caller.orgId, page)),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/workflows/:workflow',
      operationId: 'getWorkflow',
      summary: 'One workflow, with one of its versions',
      access: 'caller',
      params,
      query: GetWorkflowQuery,
      responses: { 200: { description: 'The workflow', schema: WorkflowDetail } },
      handle: async ({ caller, params, query }) => ({
        body: await getWorkflow(sql, caller, params.workflow, query.version),
      }),
    }),
    defineRoute({
      method: 'PUT',
      path: '/v1/workflows/:workflow',
      operationId: 'addWorkflowVersion',
      refusals: [409],
      summary: 'Add a version to a workflow; it is a draft until it is published',
      access: 'workflows:manage',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params,
      body: NewVersion,
      responses: { 200: { description: 'The workflow', schema: WorkflowDetail } },
      handle: async ({ caller, params, body }) => ({
        body: await addVersion(workflows, caller, params.workflow, body),
      }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/workflows/:workflow',
      operationId: 'deleteWorkflow',
      refusals: [409],
      summary: 'Delete a workflow with its versions and its history',
      access: 'workflows:manage',
      params,
      responses: { 200: { description: 'Deleted', schema: z.object({ id: z.string(), deleted: z.literal(true) }) } },
      handle: async ({ caller, params }) => ({ body: await deleteWorkflow(sql, caller, params.workflow) }),
    }),
    publishRoute(workflows),
    ...runRoutes(workflows),
    ...historyRoutes(workflows),
  ];
}

function publishRoute(workflows: Workflows): Route {
  return defineRoute({
    method: 'POST',
    path: '/v1/workflows/:workflow/publish',
    operationId: 'publishWorkflow',
    refusals: [409],
    summary: 'Publish a version of a workflow, by default the latest',
    access: 'workflows:manage',
    bodyLimitBytes: SMALL_BODY_BYTES_MAX,
    params,
    body: PublishRequest,
    responses: { 200: { description: 'The workflow', schema: WorkflowView } },
    handle: async ({ caller, params, body }) => ({
      body: await publishWorkflow(workflows, caller, params.workflow, body.version),
    }),
  });
}

function runRoutes(workflows: Workflows): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/workflows/:workflow/dry-run',
      operationId: 'dryRunWorkflow',
      refusals: [403, 409],
      summary: 'Run the latest version of a workflow without side effects',
      access: 'workflows:run',
      capacity: 'runs',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params,
      body: DryRunRequest,
      responses: { 200: { description: 'The results of the blocks', schema: RunReply } },
      handle: async ({ caller, params, body, origin, signal }) => ({
        body: await runWorkflow(workflows, caller, params.workflow, { ...body, mode: 'dry_run', origin }, signal),
      }),
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/workflows/:workflow/run',
      operationId: 'runWorkflow',
      refusals: [403, 409],
      summary: 'Run the published version of a workflow; side effects need mode live, and each needs an approval',
      access: 'workflows:run',
      capacity: 'runs',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      repliesDocuments: true,
      params,
      body: RunRequest,
      responses: { 200: { description: 'The results of the blocks', schema: RunReply } },
      handle: async ({ caller, params, body, idempotent, origin, signal }) => ({
        body: withAddress(
          await runWorkflow(workflows, caller, params.workflow, { ...body, idempotent, origin }, signal),
          origin,
        ),
      }),
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/workflows/:workflow/runs/:run/approve',
      operationId: 'approveWorkflowRun',
      refusals: [403, 409],
      summary: 'Approve or decline the changes that a run waits for, and continue it as a new run',
      access: 'workflows:approve',
      capacity: 'runs',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      repliesDocuments: true,
      params: RunParams,
      body: ApproveRequest,
      responses: { 200: { description: 'The results of the blocks', schema: RunReply } },
      handle: async ({ caller, params, body, idempotent, origin, signal }) => ({
        body: withAddress(await approveRun(workflows, caller, params, { ...body, idempotent, origin }, signal), origin),
      }),
    }),
  ];
}

/** Add the URL of the decision page to a waiting run. */
function withAddress<Run extends RunReply | RunView>(run: Run, origin: string | null): Run {
  const isDecided = 'continued_by' in run && run.continued_by !== null;
  if (run.status !== 'needs_approval' || run.run_id === null || origin === null || isDecided) return run;
  return { ...run, approval_url: pageOfRun(run.workflow_id, run.run_id, origin) };
}

function historyRoutes({ sql }: Workflows): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/workflows/:workflow/runs',
      operationId: 'listWorkflowRuns',
      summary: 'Runs of a workflow that the caller may see, newest first',
      access: 'caller',
      params,
      query: PageQuery,
      responses: { 200: { description: 'A page', schema: pageSchema(RunSummary) } },
      handle: async ({ caller, params, query }) => ({
        body: await readPageBy(
          query,
          (page) => listRuns(sql, caller, params.workflow, page),
          (run) => run.run_id,
        ),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/workflows/:workflow/runs/:run',
      operationId: 'getWorkflowRun',
      summary: 'One run of a workflow',
      access: 'caller',
      params: RunParams,
      responses: { 200: { description: 'The run', schema: RunView } },
      handle: async ({ caller, params, origin }) => ({
        body: withAddress(await getRun(sql, caller, params.workflow, params.run), origin),
      }),
    }),
  ];
}

function blockTypesRoute({ blocks }: Workflows): Route {
  return defineRoute({
    method: 'GET',
    path: '/v1/workflow_blocks',
    operationId: 'listWorkflowBlockTypes',
    summary: 'Types of blocks that a workflow can have, with the schema of their arguments',
    access: 'workflows:manage',
    responses: { 200: { description: 'The types', schema: z.array(BlockTypeView) } },
    handle: async () => ({ body: listBlockTypes(blocks) }),
  });
}
