import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { useDraft } from '../../lib/draft.ts';
import { formatAgo } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { type Page, useAction, usePages } from '../../lib/resource.ts';
import { linkTo, navigate } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { WorkflowDetail, WorkflowView } from '../../types.ts';
import { ActionError, Button, Field, Form, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';
import { MoreButton, Table } from '../../ui/table.tsx';
import { parseDefinition } from './definition.ts';

const PAGE_ROWS = 50;
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
  const workflows = usePages<WorkflowView>(
    'workflows',
    (cursor, signal) => call<Page<WorkflowView>>('/v1/workflows', { query: { cursor, limit: PAGE_ROWS }, signal }),
    ['runs'],
  );
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
        <Loaded of={workflows}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty title={t('There are no workflows yet')}>{t('A workflow is a graph of blocks in JSON.')}</Empty>
            ) : (
              <>
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
                <MoreButton of={workflows} />
              </>
            )
          }
        </Loaded>
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
        <ActionError error={create.error} />
        <div class="form-actions">
          <Button onClick={onClose}>{t('Cancel')}</Button>
          <Button type="submit" look="primary" isBusy={create.isRunning}>
            {t('Create')}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
