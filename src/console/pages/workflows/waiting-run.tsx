import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useResource } from '../../lib/resource.ts';
import { linkTo, navigate } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { BlockResult, RunView, WorkflowDetail } from '../../types.ts';
import { Button, Notice } from '../../ui/controls.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { ApprovalFields, type Approvals, WouldDo } from './approval.tsx';
import { approveRun, findLaterRun, isLeftOut } from './approve-run.ts';

/**
 * Changes that a run did not make because nobody had approved them. A run is never continued: with the approvals given
 * here the workflow runs again with the same inputs.
 */
export function WaitingRun({ run }: { run: RunView }) {
  const blocks = run.blocks.filter(({ status }) => status === 'needs_approval');
  const state = useResource(`waiting ${run.run_id}`, async (signal) => {
    const workflow = await call<WorkflowDetail>(pathOf('v1', 'workflows', run.workflow_id), { signal });
    const ids = blocks.map(({ id }) => id);
    return { workflow, later: await findLaterRun(run, ids, signal) };
  });
  return (
    <Panel title={t('Waits for an approval')} padded>
      <p>{t('This run has not made the changes below. They are made only if somebody approves them.')}</p>
      <Loaded of={state}>
        {({ workflow, later }) => {
          if (later !== null) return <LaterRun run={later} />;
          const obstacle = obstacleOf(run, blocks, workflow);
          if (obstacle === null) return <Approve run={run} blocks={blocks} />;
          return (
            <>
              <Notice tone="warn">{obstacle}</Notice>
              <Changes blocks={blocks} />
            </>
          );
        }}
      </Loaded>
    </Panel>
  );
}

/** Reason that the caller cannot approve the changes here; null if there is none. */
function obstacleOf(run: RunView, blocks: readonly BlockResult[], workflow: WorkflowDetail): string | null {
  if (!mayUse('workflows:approve') || !mayUse('workflows:run'))
    return t('Somebody with the scopes workflows:run and workflows:approve must approve these changes.');
  if (workflow.published_version !== run.version)
    return t('Another version was published since. Run it on the page of the workflow, and approve its changes there.');
  if (isLeftOut(run.inputs) || blocks.some(({ would }) => isLeftOut(would)))
    return t('The history has not kept all values of this run. Run it on the page of the workflow.');
  return null;
}

function LaterRun({ run: { actor, run_id, workflow_id } }: { run: RunView }) {
  return (
    <Notice tone="info" title={t('{actor} has run it with these inputs since', { actor })}>
      <a href={linkTo('workflows', workflow_id, 'runs', run_id)}>{t('Show that run')}</a>
    </Notice>
  );
}

function Changes({ blocks }: { blocks: readonly BlockResult[] }) {
  return (
    <ul class="stack">
      {blocks.map((block) => (
        <li key={block.id} class="stack tight">
          <strong>{`${block.id} · ${translateName(block.type)}`}</strong>
          <WouldDo block={block} />
        </li>
      ))}
    </ul>
  );
}

function Approve({ run, blocks }: { run: RunView; blocks: readonly BlockResult[] }) {
  const [approvals, setApprovals] = useState<Approvals>({});
  const [isAsking, setIsAsking] = useState(false);
  const approved = blocks.map(({ id }) => id).filter((id) => approvals[id] === true);
  const approve = async () => {
    const reply = await approveRun(run, approved);
    toast(t('It has run again: {state}', { state: translateName(reply.status) }));
    if (reply.run_id !== null) navigate(linkTo('workflows', run.workflow_id, 'runs', reply.run_id));
  };
  return (
    <>
      <ApprovalFields blocks={blocks} approvals={approvals} onApprovals={setApprovals}>
        <Button look="danger" disabled={approved.length === 0} onClick={() => setIsAsking(true)}>
          {t('Approve and run again')}
        </Button>
      </ApprovalFields>
      {isAsking && (
        <ConfirmDialog
          title={t('Approve {blocks}?', { blocks: approved.join(', ') })}
          action={t('Approve and run again')}
          onConfirm={approve}
          onClose={() => setIsAsking(false)}
        >
          <p>
            {t(
              'The workflow runs again from its first block with the same inputs and your rights. It makes only what is approved here.',
            )}
          </p>
          <p>{t('What its blocks find may have changed since, and with it what is written or sent.')}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
