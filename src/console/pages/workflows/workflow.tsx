import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { useDraft } from '../../lib/draft.ts';
import { formatAgo, formatTime } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useList } from '../../lib/lists.ts';
import { useAction, useResource } from '../../lib/resource.ts';
import { linkTo, navigate, type PageProps } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { RunSummary, WorkflowDetail } from '../../types.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { ActionError, Button, Field, Form, FormEnd } from '../../ui/controls.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Facts, PageHeader, Panel } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';
import { MoreButton, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { AddBlock } from './add-block.tsx';
import { blocksOf, parseDefinition } from './definition.ts';
import { Graph } from './graph.tsx';
import { RunPanel } from './run-panel.tsx';

/** Page `/console/workflows/{id}`: the definition, test runs, runs with approvals, and the history. */
export default function WorkflowPage({ parameters }: PageProps) {
  const id = parameters[0] ?? '';
  const workflow = useResource(`workflow ${id}`, (signal) =>
    call<WorkflowDetail>(pathOf('v1', 'workflows', id), { signal }),
  );
  const runs = useList<RunSummary>(pathOf('v1', 'workflows', id, 'runs'), { topics: ['runs'] });
  return (
    <div class="page">
      <PageHeader
        title={workflow.data?.name ?? t('Workflow')}
        crumbs={[{ label: t('Workflows'), href: linkTo('workflows') }]}
        actions={
          workflow.data &&
          mayUse('workflows:manage') && <WorkflowActions workflow={workflow.data} onChange={workflow.refresh} />
        }
      />
      <Loaded of={workflow}>
        {(shown) => (
          <>
            <WorkflowFacts workflow={shown} />
            <Panel title={t('Blocks')} padded>
              <Graph blocks={blocksOf(shown.definition)} />
            </Panel>
            {mayUse('workflows:run') && <RunPanel workflow={shown} onRun={runs.refresh} />}
            <DefinitionPanel workflow={shown} onSaved={workflow.refresh} />
          </>
        )}
      </Loaded>
      <Panel title={t('Runs')}>
        <Loaded of={runs}>{(rows) => <Runs runs={rows} />}</Loaded>
        <MoreButton of={runs} />
      </Panel>
    </div>
  );
}

function WorkflowActions({ workflow, onChange }: { workflow: WorkflowDetail; onChange: () => void }) {
  const [isDeleting, setIsDeleting] = useState(false);
  const { id, name, latest_version: latest, published_version: published } = workflow;
  const publish = useAction(async () => {
    await call(pathOf('v1', 'workflows', id, 'publish'), { method: 'POST', json: { version: latest } });
    toast(t('Version {number} is published', { number: latest }));
    onChange();
  });
  const remove = async () => {
    await call(pathOf('v1', 'workflows', id), { method: 'DELETE' });
    navigate(linkTo('workflows'));
  };
  return (
    <>
      {published !== latest && (
        <Button look="primary" isBusy={publish.isRunning} onClick={() => publish.run()}>
          {t('Publish version {number}', { number: latest })}
        </Button>
      )}
      <Button look="danger" icon="trash" onClick={() => setIsDeleting(true)}>
        {t('Delete')}
      </Button>
      <ActionError error={publish.error} />
      {isDeleting && (
        <ConfirmDialog
          title={t('Delete the workflow {name}?', { name })}
          action={t('Delete for good')}
          typed={name}
          onConfirm={remove}
          onClose={() => setIsDeleting(false)}
        >
          <p>{t('Its versions and the history of its runs are removed too.')}</p>
        </ConfirmDialog>
      )}
    </>
  );
}

function WorkflowFacts({ workflow }: { workflow: WorkflowDetail }) {
  return (
    <Panel title={t('Facts')} padded>
      <Facts
        of={[
          [t('State'), <Status key="state" of={workflow.status} />],
          [t('Published version'), workflow.published_version ?? '–'],
          [t('Latest version'), workflow.latest_version],
          [t('Changed'), formatTime(workflow.updated_at)],
        ]}
      />
    </Panel>
  );
}

function DefinitionPanel({ workflow, onSaved }: { workflow: WorkflowDetail; onSaved: () => void }) {
  const stored = JSON.stringify(workflow.definition, null, 2);
  const canEdit = mayUse('workflows:manage');
  const [text, setText] = useDraft(`workflow ${workflow.id} ${workflow.version}`, stored);
  const [isEditing, setIsEditing] = useState(canEdit && text !== stored);
  const startOver = (next: { isEditing: boolean }) => {
    setText(stored);
    setIsEditing(next.isEditing);
  };
  const save = useAction(async () => {
    const json = { definition: parseDefinition(text) };
    await call<WorkflowDetail>(pathOf('v1', 'workflows', workflow.id), { method: 'PUT', json });
    toast(t('Saved'));
    startOver({ isEditing: false });
    onSaved();
  });
  const edit = !isEditing && canEdit && (
    <Button small onClick={() => startOver({ isEditing: true })}>
      {t('Edit')}
    </Button>
  );
  return (
    <Panel title={t('Definition, version {number}', { number: workflow.version })} actions={edit} padded>
      {!isEditing ? (
        <CodeBlock code={stored} label={t('Definition as JSON')} />
      ) : (
        <Form onSubmit={() => save.run()} aria-label={t('Definition as JSON')}>
          <Field
            label={t('Definition as JSON')}
            hint={t('It is stored as a new version, which is a draft until it is published.')}
          >
            {(control) => (
              <textarea
                class="input code-input"
                rows={18}
                spellcheck={false}
                {...control}
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
              />
            )}
          </Field>
          <AddBlock definition={text} onDefinition={setText} />
          <FormEnd of={save} submit={t('Save')} onLeave={() => startOver({ isEditing: false })} />
        </Form>
      )}
    </Panel>
  );
}

function Runs({ runs }: { runs: readonly RunSummary[] }) {
  if (runs.length === 0) return <Empty title={t('It has not run yet')} />;
  return (
    <Table
      caption={t('Runs')}
      rows={runs}
      keyOf={({ run_id }) => run_id}
      columns={[
        { title: t('Run'), cell: nameCell },
        { title: t('State'), cell: stateCell },
        { title: t('Version'), numeric: true, wide: true, cell: ({ version }) => version },
        { title: t('By'), wide: true, cell: ({ actor }) => actor },
        { title: t('Started'), wide: true, class: 'nowrap', cell: ({ started_at }) => formatAgo(started_at) },
      ]}
    />
  );
}

function nameCell({ run_id, workflow_id, mode }: RunSummary) {
  return (
    <>
      <a class="main" href={linkTo('workflows', workflow_id, 'runs', run_id)}>
        {run_id}
      </a>
      <span class="sub">{translateName(mode)}</span>
    </>
  );
}

/** State of a run. A waiting run also links to the pending decision. */
function stateCell({ status, run_id, workflow_id, continued_by }: RunSummary) {
  return (
    <>
      <Status of={status} />
      {status === 'needs_approval' && continued_by === null && (
        <a class="sub" href={linkTo('workflows', workflow_id, 'runs', run_id)}>
          {t('Show what waits')}
        </a>
      )}
      {continued_by !== null && <span class="sub">{t('Decided by {actor}', { actor: continued_by.actor })}</span>}
    </>
  );
}
