import { z } from 'zod';
import { approveRun } from '../../workflows/approve-run.ts';
import { getRun, listRuns, runWorkflow } from '../../workflows/run-workflow.ts';
import { ApproveRequest, type Definition, NewWorkflow } from '../../workflows/schema.ts';
import { NewTrigger } from '../../workflows/trigger-schema.ts';
import { createTrigger, listTriggers, removeTrigger } from '../../workflows/triggers.ts';
import { getWorkflow, importWorkflow, listWorkflows, publishWorkflow } from '../../workflows/workflows.ts';
import { listPage } from '../list-page.ts';
import { forOrganization } from '../operation.ts';

const RUNS_MAX = 200;

/** Workflow by name or id, at a given or the latest version. */
const AtVersion = z.object({ workflow: z.string(), at_version: z.int().min(1).optional() });

/** Import a definition as a new workflow or as a version of an existing one. `change` says which. */
export const add = forOrganization(
  NewWorkflow.extend({ publish: z.boolean() }),
  async ({ publish: isPublished, ...request }, { appliance, operator }) => {
    const { workflow, change } = await importWorkflow(appliance.workflows, operator, request);
    const { id, version } = workflow;
    if (isPublished) await publishWorkflow(appliance.workflows, operator, id, version);
    return { change, workflow: await getWorkflow(appliance.sql, operator, id, version) };
  },
  ['workflows'],
);

export const list = forOrganization(z.object({}), async (_, { appliance, operator }) =>
  listPage(await listWorkflows(appliance.sql, operator.orgId)),
);

export const publish = forOrganization(
  AtVersion,
  ({ workflow, at_version: version }, { appliance, operator }) =>
    publishWorkflow(appliance.workflows, operator, workflow, version),
  ['workflows'],
);

/** Show a workflow. `changing` lists the types of its blocks with side effects. */
export const show = forOrganization(
  AtVersion,
  async ({ workflow: ref, at_version: version }, { appliance: { sql, workflows }, operator }) => {
    const workflow = await getWorkflow(sql, operator, ref, version);
    const { blocks } = workflow.definition as unknown as Definition;
    const types = [...new Set(blocks.map(({ type }) => type))];
    return { workflow, changing: types.filter((type) => workflows.blocks.get(type)?.hasSideEffect ?? false) };
  },
  ['workflows'],
);

/** Run a workflow without asking. A block with a side effect needs an approval in the input. */
export const execute = forOrganization(
  z.object({
    workflow: z.string(),
    mode: z.enum(['simulate', 'live', 'dry_run']),
    inputs: z.record(z.string(), z.unknown()),
    approvals: z.record(z.string(), z.boolean()),
  }),
  ({ workflow, ...input }, { appliance, operator, signal }) =>
    runWorkflow(appliance.workflows, operator, workflow, input, signal),
  ['workflows'],
);

/** Decide on the blocks of a waiting run, and continue it. */
export const approve = forOrganization(
  ApproveRequest.extend({ workflow: z.string(), run: z.string() }),
  ({ workflow, run, approvals }, { appliance, operator, signal }) =>
    approveRun(appliance.workflows, operator, { workflow, run }, { approvals }, signal),
  ['workflows'],
);

export const runs = forOrganization(
  z.object({ workflow: z.string(), limit: z.int().min(1).max(RUNS_MAX) }),
  async ({ workflow, limit }, { appliance, operator }) =>
    listPage(await listRuns(appliance.sql, operator, workflow, { limit }), limit),
);

export const run = forOrganization(
  z.object({ workflow: z.string(), run: z.string() }),
  ({ workflow, run: id }, { appliance, operator }) => getRun(appliance.sql, operator, workflow, id),
);

/** Let a schedule, signed requests or new documents start a workflow. */
export const trigger = forOrganization(
  z.object({ workflow: z.string(), trigger: NewTrigger }),
  ({ workflow, trigger: request }, { appliance, operator }) =>
    createTrigger(appliance.workflows, operator, workflow, request),
  ['workflows'],
);

export const triggers = forOrganization(
  z.object({ workflow: z.string() }),
  async ({ workflow }, { appliance, operator }) => listPage(await listTriggers(appliance.sql, operator, workflow)),
);

export const untrigger = forOrganization(
  z.object({ workflow: z.string(), trigger: z.string() }),
  async ({ workflow, trigger: id }, { appliance, operator }) => {
    await removeTrigger(appliance.sql, operator, workflow, id);
    return { removed: true };
  },
);
