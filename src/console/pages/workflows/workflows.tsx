import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { useDraft } from '../../lib/draft.ts';
import { formatAgo } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useList } from '../../lib/lists.ts';
import { useAction } from '../../lib/resource.ts';
import { linkTo, navigate } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { WorkflowDetail, WorkflowView } from '../../types.ts';
import { Button, Field, Form, FormEnd, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Status } from '../../ui/status.tsx';
import { List, Table } from '../../ui/table.tsx';
import { parseDefinition } from './definition.ts';

const EXAMPLE = JSON.stringify(
  {
    inputs: { question: { type: 'string' } },
    blocks: [{ id: 'find', type: 'search', with: { bucket: 'default', query: '{{inputs.question}}' } }],
    output: '{{blocks.find.output.results.0.text}}',
  },
  null,
  2,
);

export default function WorkflowsPage() {
  const [isCreating, setIsCreating] = useState(false);
  const workflows = useList<WorkflowView>('/v1/workflows', { topics: ['runs'] });
  const create = mayUse('workflows:manage') && (
    <Button look="primary" icon="plus" onClick={() => setIsCreating(true)}>
      {t('New workflow')}
    </Button>
  );
  return (
    <div class="page">
      <PageHeader title={t('Workflows')} actions={create}>
        {t('Steps that search, write and notify; each change needs an approval.')}
      </PageHeader>
      <Panel>
        <List
          of={workflows}
          empty={t('There are no workflows yet')}
          hint={t('A workflow is a graph of blocks in JSON.')}
        >
          {(rows) => (
            <Table
              caption={t('Workflows')}
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: t('Name'),
                  class: 'main',
                  cell: ({ id, name }) => <a href={linkTo('workflows', id)}>{name}</a>,
                },
                { title: t('State'), cell: ({ status }) => <Status of={status} /> },
                {
                  title: t('Published version'),
                  numeric: true,
                  wide: true,
                  cell: ({ published_version }) => published_version ?? '–',
                },
                {
                  title: t('Latest version'),
                  numeric: true,
                  wide: true,
                  cell: ({ latest_version }) => latest_version,
                },
                {
                  title: t('Changed'),
                  wide: true,
                  class: 'nowrap',
                  cell: ({ updated_at }) => formatAgo(updated_at),
                },
              ]}
            />
          )}
        </List>
      </Panel>
      {isCreating && <CreateDialog onClose={() => setIsCreating(false)} />}
    </div>
  );
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [definition, setDefinition] = useDraft('workflow', EXAMPLE);
  const create = useAction(async () => {
    const json = { name: name.trim(), definition: parseDefinition(definition) };
    const created = await call<WorkflowDetail>('/v1/workflows', { method: 'POST', json });
    setDefinition(EXAMPLE);
    navigate(linkTo('workflows', created.id));
  });
  return (
    <Dialog title={t('New workflow')} onClose={onClose}>
      <Form onSubmit={() => create.run()}>
        <TextField label={t('Name')} required maxLength={100} value={name} onValue={setName} />
        <Field label={t('Definition as JSON')}>
          {(control) => (
            <textarea
              class="input code-input"
              rows={14}
              spellcheck={false}
              {...control}
              value={definition}
              onInput={(event) => setDefinition(event.currentTarget.value)}
            />
          )}
        </Field>
        <FormEnd of={create} submit={t('Create')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}
