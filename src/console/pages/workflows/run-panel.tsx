import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import { mayUse } from '../../lib/session.ts';
import type { BlockResult, RunReply, WorkflowDetail } from '../../types.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { ActionError, Button, Form, Notice } from '../../ui/controls.tsx';
import { Panel } from '../../ui/page.tsx';
import { type FormTexts, valuesOf } from '../../ui/schema-form/schema.ts';
import { SchemaFields } from '../../ui/schema-form/schema-fields.tsx';
import { ApprovalFields, type Approvals } from './approval.tsx';
import { BlockList } from './block-list.tsx';
import { inputSchemaOf } from './definition.ts';

/** Panel to run a workflow: first without side effects, then with those that the user approves. */
export function RunPanel({ workflow, onRun }: { workflow: WorkflowDetail; onRun: () => void }) {
  const schema = inputSchemaOf(workflow.definition);
  const [inputs, setInputs] = useState<FormTexts>({});
  const [reply, setReply] = useState<RunReply | null>(null);
  const [approvals, setApprovals] = useState<Approvals>({});
  const send = async (action: 'dry-run' | 'run', more: Record<string, unknown>) => {
    const json = { inputs: valuesOf(schema, inputs), ...more };
    setReply(await call<RunReply>(pathOf('v1', 'workflows', workflow.id, action), { method: 'POST', json }));
    onRun();
  };
  const dryRun = useAction(async () => {
    setApprovals({});
    await send('dry-run', {});
  });
  const run = useAction(() => send('run', { mode: 'live', approvals }));
  const toApprove = reply?.blocks.filter(({ status }) => status === 'needs_approval' || status === 'simulated') ?? [];
  return (
    <Panel title={t('Run')} padded>
      <Form onSubmit={() => dryRun.run()} aria-label={t('Run')}>
        <SchemaFields schema={schema} texts={inputs} onTexts={setInputs} />
        <ActionError error={dryRun.error ?? run.error} />
        <div class="form-actions">
          <Button type="submit" look="primary" isBusy={dryRun.isRunning}>
            {t('Try without side effects')}
          </Button>
          {workflow.published_version !== null && (
            <Button isBusy={run.isRunning} onClick={() => run.run()}>
              {t('Run the published version')}
            </Button>
          )}
        </div>
      </Form>
      {reply && (
        <div class="stack">
          <ReplyNotice reply={reply} />
          {toApprove.length > 0 && workflow.published_version !== null && (
            <Approval
              blocks={toApprove}
              approvals={approvals}
              onApprovals={setApprovals}
              isRunning={run.isRunning}
              onRun={() => run.run()}
            />
          )}
          <BlockList blocks={reply.blocks} />
          {reply.output !== null && <CodeBlock code={JSON.stringify(reply.output, null, 2)} label={t('Output')} />}
        </div>
      )}
    </Panel>
  );
}

function ReplyNotice({ reply: { status, error, mode } }: { reply: RunReply }) {
  const tone = status === 'completed' ? 'good' : status === 'failed' ? 'bad' : 'warn';
  return (
    <Notice tone={tone} title={`${translateName(mode)}: ${translateName(status)}`}>
      {error}
    </Notice>
  );
}

interface ApprovalProps {
  readonly blocks: readonly BlockResult[];
  readonly approvals: Approvals;
  readonly onApprovals: (approvals: Approvals) => void;
  readonly isRunning: boolean;
  readonly onRun: () => void;
}

/** Side effects of a run on this page that wait for approval, shown to users who may approve them. */
function Approval({ blocks, approvals, onApprovals, isRunning, onRun }: ApprovalProps) {
  if (!mayUse('workflows:approve'))
    return <Notice tone="warn">{t('Somebody with the scope workflows:approve must approve these changes.')}</Notice>;
  const approved = blocks.filter(({ id }) => approvals[id] === true).length;
  return (
    <ApprovalFields blocks={blocks} approvals={approvals} onApprovals={onApprovals}>
      <Button look="danger" isBusy={isRunning} disabled={approved === 0} onClick={onRun}>
        {t('Run with {count|approval|approvals}', { count: approved })}
      </Button>
    </ApprovalFields>
  );
}
