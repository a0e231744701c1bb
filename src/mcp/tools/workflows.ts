import { z } from 'zod';
import type { WorkflowRun } from '../../client/schema.ts';
import { defineTool, READ_ONLY, type Tool } from '../tool.ts';
import { MARKS_RULE, markUntrusted } from './mark-untrusted.ts';

const WorkflowId = z.string().min(1).max(128);
const Inputs = z.record(z.string(), z.unknown()).describe('by name');

const RunOutput = z.looseObject({ status: z.string() });

/** Make the tools for workflows: list, try without effects, run. */
export function workflowTools(): Tool[] {
  return [
    defineTool({
      name: 'service_list_workflows',
      title: 'List workflows',
      description: 'List the workflows with their state; only published ones run.',
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
      title: 'Try a workflow without effects',
      description: `Run a workflow without side effects and show the result of every block. ${MARKS_RULE}`,
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
      description:
        'Run a published workflow. In mode "simulate" nothing is changed. In mode "live", blocks with side effects run ' +
        `only where "approvals" is true for them. ${MARKS_RULE}`,
      input: z.object({
        workflow_id: WorkflowId,
        inputs: Inputs.default({}),
        mode: z.enum(['simulate', 'live']).default('simulate'),
        approvals: z
          .record(z.string(), z.boolean())
          .optional()
          .describe('true by block id, only after a person has explicitly agreed to the block'),
      }),
      output: RunOutput,
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
      route: 'POST /v1/workflows/{id}/run',
      scope: 'workflows:run',
      async call({ workflow_id, ...request }, { api, signal }) {
        const structured = await api.runWorkflow(workflow_id, request, signal);
        return { structured, text: renderRun(structured) };
      },
    }),
  ];
}

const RunBlocks = z.array(z.looseObject({ id: z.string(), status: z.string(), error: z.unknown().optional() }));

function renderRun(run: z.output<typeof WorkflowRun>): string {
  const lines = [`Status: ${run.status}`];
  const shown: string[] = [];
  const blocks = RunBlocks.safeParse(run['blocks']);
  for (const { id, status, error } of blocks.data ?? []) {
    lines.push(`Block ${id}: ${status}`);
    if (error != null) shown.push(`Error of block ${id}: ${JSON.stringify(error)}`);
  }
  if (run['output'] != null) shown.push(`Output: ${JSON.stringify(run['output'])}`);
  if (shown.length > 0) lines.push(markUntrusted(shown.join('\n')));
  if (run.status === 'needs_approval' && typeof run['run_id'] === 'string') {
    lines.push(
      `Run ${run['run_id']} waits: a person can approve its blocks in the console and by "service workflows approve".`,
    );
  }
  if (run.status === 'needs_review') lines.push('The workflow is a draft; a person has to review and publish it.');
  return lines.join('\n');
}
