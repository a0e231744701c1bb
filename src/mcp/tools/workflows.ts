import { z } from 'zod';
import type { WorkflowRun } from '../../client/schema.ts';
import { MARKS_RULE, markUntrusted } from '../../platform/mark-untrusted.ts';
import { defineTool, READ_ONLY, type Tool } from '../tool.ts';
import { describeChanges, goOn, questionAbout, readWaiting, type WaitingRun } from './approve-run.ts';

const WorkflowId = z.string().min(1).max(128);
const Inputs = z.record(z.string(), z.unknown()).describe('by name');

const RunOutput = z.looseObject({ status: z.string() });

/** Create the tools for workflows: list, try without side effects, run. */
export function workflowTools(): Tool[] {
  return [
    defineTool({
      name: 'service_list_workflows',
      title: 'List workflows',
      description: 'List the workflows.',
      input: z.object({}),
      output: z.object({ workflows: z.array(z.looseObject({ id: z.string(), name: z.string() })) }),
      annotations: READ_ONLY,
      route: 'GET /v1/workflows',
      async call(_args, { api, signal }) {
        const workflows = await api.listWorkflows(signal);
        const lines = workflows.map(({ id, name, status }) => `${name} (${id}): ${status}`);
        return { structured: { workflows }, text: lines.length === 0 ? 'There is no workflow.' : lines.join('\n') };
      },
    }),
    defineTool({
      name: 'service_workflow_dry_run',
      title: 'Try a workflow',
      description: `Run a workflow without side effects. ${MARKS_RULE}`,
      input: z.object({ workflow_id: WorkflowId, inputs: Inputs.optional() }),
      output: RunOutput,
      annotations: READ_ONLY,
      route: 'POST /v1/workflows/{id}/dry-run',
      scope: 'workflows:run',
      async call({ workflow_id, inputs }, { api, signal }) {
        const structured = await api.dryRunWorkflow(workflow_id, inputs === undefined ? {} : { inputs }, signal);
        return { structured, text: renderRun(structured) };
      },
    }),
    defineTool({
      name: 'service_workflow_run',
      title: 'Run a workflow',
      description: `Run a published workflow. Only mode "live" changes something, once a person has approved it. ${MARKS_RULE}`,
      input: z.object({
        workflow_id: WorkflowId,
        inputs: Inputs.default({}),
        mode: z.enum(['simulate', 'live']).default('simulate'),
        approvals: z
          .record(z.string(), z.boolean())
          .optional()
          .describe('true by block id, only after a person has explicitly agreed'),
      }),
      output: RunOutput,
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
      route: 'POST /v1/workflows/{id}/run',
      scope: 'workflows:run',
      async call({ workflow_id, ...request }, { api, signal, person }) {
        if (person.answer !== null) return replyOf(await goOn({ api, signal, person }));
        const run = await api.runWorkflow(workflow_id, request, signal);
        const waiting = readWaiting(run);
        return { ...replyOf(run), question: waiting && questionAbout(waiting, person) };
      },
    }),
    defineTool({
      name: 'service_workflow_status',
      title: 'Show a run',
      description: 'Show a run.',
      input: z.object({ workflow_id: WorkflowId, run_id: z.string() }),
      output: RunOutput,
      annotations: READ_ONLY,
      route: 'GET /v1/workflows/{id}/runs/{run}',
      scope: 'workflows:run',
      async call({ workflow_id, run_id }, { api, signal }) {
        return replyOf(await api.getWorkflowRun(workflow_id, run_id, signal));
      },
    }),
  ];
}

function replyOf(run: z.output<typeof WorkflowRun>) {
  return { structured: run, text: renderRun(run) };
}

const RunBlocks = z.array(z.looseObject({ id: z.string(), status: z.string(), error: z.unknown().optional() }));

const Decision = z.looseObject({ actor: z.string(), status: z.string() });

function describeWait({ run_id: id, approval_url: url }: WaitingRun): string {
  const where = url === undefined ? 'in the console' : `at ${url}`;
  return `Run ${id} waits. Only a person can approve its blocks, ${where}; service_workflow_status shows the decision.`;
}

function renderRun(run: z.output<typeof WorkflowRun>): string {
  const lines = [`Status: ${run.status}`];
  const shown: string[] = [];
  const blocks = RunBlocks.safeParse(run['blocks']);
  for (const { id, status, error } of blocks.data ?? []) {
    lines.push(`Block ${id}: ${status}`);
    if (error != null) shown.push(`Error of block ${id}: ${JSON.stringify(error)}`);
  }
  const waiting = readWaiting(run);
  if (waiting !== null) shown.push(...describeChanges(waiting));
  if (run['output'] != null) shown.push(`Output: ${JSON.stringify(run['output'])}`);
  if (shown.length > 0) lines.push(markUntrusted(shown.join('\n')));
  const decision = Decision.safeParse(run['continued_by']);
  if (decision.success) lines.push(`${decision.data.actor} decided; the run that goes on is ${decision.data.status}.`);
  else if (waiting !== null) lines.push(describeWait(waiting));
  if (run.status === 'needs_review') lines.push('The workflow is a draft; a person has to review and publish it.');
  return lines.join('\n');
}
