import { call, pathOf } from '../../lib/api.ts';
import { useResource } from '../../lib/resource.ts';
import type { RunView, WorkflowDetail } from '../../types.ts';
import { blocksOf } from './definition.ts';
import { Graph } from './graph.tsx';

/** Picture of the workflow with the states of a run. Shows nothing if its version no longer exists. */
export function RunGraph({ run }: { run: RunView }) {
  const { workflow_id: id, version } = run;
  const workflow = useResource(`workflow ${id} ${version}`, (signal) =>
    call<WorkflowDetail>(pathOf('v1', 'workflows', id), { query: { version }, signal }),
  );
  if (workflow.data === null) return null;
  const states = new Map(run.blocks.map((block) => [block.id, block.status]));
  return <Graph blocks={blocksOf(workflow.data.definition)} states={states} />;
}
