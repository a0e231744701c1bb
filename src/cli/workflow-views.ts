import { printable } from '../platform/printable.ts';
import type { BlockResult, Definition, RunReply, WorkflowDetail } from '../workflows/schema.ts';
import type { Column } from './table.ts';

export const BLOCK_COLUMNS: readonly Column<BlockResult>[] = [
  ['block', (block) => block.id],
  ['type', (block) => block.type],
  ['status', (block) => block.status],
  ['ms', (block) => block.duration_ms],
  ['detail', detailOf, 'may be cut'],
];

function detailOf({ error, would, output }: BlockResult): string | null {
  if (error !== null) return error;
  if (would !== undefined) return `would run with ${JSON.stringify(would)}`;
  return output === null ? null : JSON.stringify(output);
}

/**
 * Describe a workflow for people: its fields, and the blocks of the shown version.
 *
 * @param changing types of blocks with side effects
 */
export function describeWorkflow({ definition, versions, ...workflow }: WorkflowDetail, changing: readonly string[]) {
  const { inputs, blocks } = definition as unknown as Definition;
  const fields = {
    id: workflow.id,
    name: workflow.name,
    status: workflow.status,
    published: workflow.published_version,
    shown: `version ${workflow.version} of ${versions.map(({ version }) => version).join(', ')}`,
    inputs: Object.entries(inputs).map(
      ([name, { type, required }]) => `${name} (${type}${required ? '' : ', optional'})`,
    ),
  };
  return {
    fields,
    blocks: blocks.map(({ id, type, after, if: condition, with: args }) => ({
      id,
      type,
      after,
      condition,
      args: JSON.stringify(args),
      hasSideEffect: changing.includes(type),
    })),
  };
}

/** Return the output of a run as text for people, or null if there is none. */
export function outputText({ output }: RunReply): string | null {
  if (output === null || output === undefined) return null;
  return printable(typeof output === 'string' ? output : JSON.stringify(output, null, 2));
}

/** Describe how a run ended, and what to do next. */
export function describeEnd(reply: RunReply, { bin, workflow }: { bin: string; workflow: string }): string[] {
  if (reply.status === 'needs_review') {
    return [`the workflow is a draft; review it, then publish it with: ${bin} workflows publish "${workflow}"`];
  }
  const end = `run ${reply.run_id} (${reply.mode}, version ${reply.version}): ${reply.status}`;
  if (reply.status === 'failed') return [`${end}: ${printable(reply.error ?? 'unknown')}`];
  const waiting = reply.blocks.filter(({ status }) => status === 'needs_approval').map(({ id }) => id);
  if (waiting.length > 0) {
    const flags = waiting.map((id) => `--approve ${id}`).join(' ');
    const command = `${bin} workflows approve "${workflow}" ${reply.run_id} ${flags}`;
    return [end, `not approved: ${waiting.join(', ')}; to approve and continue: ${command}`];
  }
  const simulated = reply.blocks.filter(({ status }) => status === 'simulated').length;
  return simulated === 0 ? [end] : [end, `nothing was changed; ${simulated} of the blocks would change something`];
}

export function queuesJobs({ blocks }: RunReply): boolean {
  return blocks.some(({ output }) => {
    if (typeof output !== 'object' || output === null) return false;
    const { job_id, reindex_job_id } = output as Readonly<Record<string, unknown>>;
    return typeof job_id === 'string' || typeof reindex_job_id === 'string';
  });
}
