import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatAgo } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { type PagedResource, useAction } from '../../lib/resource.ts';
import { linkTo } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { CollectionView } from '../../types.ts';
import { Button, Form, FormEnd, TextField } from '../../ui/controls.tsx';
import { Dialog, type DialogProps } from '../../ui/dialog.tsx';
import { Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { MoreButton, Table } from '../../ui/table.tsx';

/** Collections of a bucket: parts of it that searches can be limited to. */
export function Collections({ bucket, of }: { bucket: string; of: PagedResource<CollectionView> }) {
  const [isCreating, setIsCreating] = useState(false);
  const create = mayUse('documents:write') && (
    <Button small icon="plus" onClick={() => setIsCreating(true)}>
      {t('New collection')}
    </Button>
  );
  return (
    <Panel title={t('Collections')} actions={create}>
      <Loaded of={of}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="panel-body quiet">{t('None yet. A search can be limited to a collection.')}</p>
          ) : (
            <>
              <Table
                caption={t('Collections')}
                rows={rows}
                keyOf={({ id }) => id}
                columns={[
                  { title: t('Name'), class: 'main', cell: ({ name }) => name },
                  {
                    title: t('Search'),
                    cell: ({ id }) => (
                      <a href={`${linkTo('search')}?bucket=${encodeURIComponent(bucket)}&collection=${id}`}>
                        {t('Search in it')}
                      </a>
                    ),
                  },
                  { title: t('Created'), wide: true, class: 'nowrap', cell: ({ created_at }) => formatAgo(created_at) },
                ]}
              />
              <MoreButton of={of} />
            </>
          )
        }
      </Loaded>
      {isCreating && <CreateDialog bucket={bucket} onClose={() => setIsCreating(false)} onSaved={of.refresh} />}
    </Panel>
  );
}

function CreateDialog({ bucket, onClose, onSaved }: DialogProps & { bucket: string }) {
  const [name, setName] = useState('');
  const create = useAction(async () => {
    const path = pathOf('v1', 'buckets', bucket, 'collections');
    await call(path, { method: 'POST', json: { name: name.trim() } });
    onSaved();
    onClose();
  });
  return (
    <Dialog title={t('New collection')} onClose={onClose}>
      <Form onSubmit={() => create.run()}>
        <TextField label={t('Name')} required maxLength={128} value={name} onValue={setName} />
        <FormEnd of={create} submit={t('Create')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}
