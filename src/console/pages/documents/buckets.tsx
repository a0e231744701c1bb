import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { useDrops } from '../../lib/drops.ts';
import { formatAgo, formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useList } from '../../lib/lists.ts';
import { useAction } from '../../lib/resource.ts';
import { linkTo, navigate } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { DroppedFile } from '../../lib/upload.ts';
import type { BucketView } from '../../types.ts';
import { Button, Form, FormEnd, Notice, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { List, Table } from '../../ui/table.tsx';
import { ChooseBucketDialog } from './choose-bucket.tsx';

/** Page `/console/documents`: the buckets of the organization. */
export default function BucketsPage() {
  const [isCreating, setIsCreating] = useState(false);
  const buckets = useList<BucketView>('/v1/buckets', { topics: ['documents'] });
  const [dropped, setDropped] = useState<readonly DroppedFile[]>([]);
  const isOver = useDrops((files) => mayUse('documents:write') && setDropped(files));
  const create = mayUse('buckets:manage') && (
    <Button look="primary" icon="plus" onClick={() => setIsCreating(true)}>
      {t('New bucket')}
    </Button>
  );
  return (
    <div class="page">
      <PageHeader title={t('Documents')} actions={create}>
        {t('A bucket is a set of documents that are searched together.')}
      </PageHeader>
      {isOver && <Notice title={t('Drop the files, and then choose a bucket')} />}
      <Panel>
        <List
          of={buckets}
          empty={t('There are no buckets yet')}
          hint={t('Make a bucket, and then drop documents into it.')}
          action={create}
        >
          {(rows) => <BucketTable buckets={rows} />}
        </List>
      </Panel>
      {dropped.length > 0 && <ChooseBucketDialog files={dropped} onClose={() => setDropped([])} />}
      {isCreating && <CreateDialog onClose={() => setIsCreating(false)} />}
    </div>
  );
}

function BucketTable({ buckets }: { buckets: readonly BucketView[] }) {
  return (
    <Table
      caption={t('Buckets')}
      rows={buckets}
      keyOf={({ id }) => id}
      columns={[
        {
          title: t('Name'),
          class: 'main',
          cell: ({ id, name }) => <a href={linkTo('buckets', id)}>{name}</a>,
        },
        { title: t('Documents'), numeric: true, cell: (bucket) => formatNumber(bucket.document_count ?? 0) },
        {
          title: t('Highest privacy level'),
          numeric: true,
          wide: true,
          cell: ({ policy }) => policy.max_privacy_level,
        },
        {
          title: t('Public documents'),
          wide: true,
          cell: ({ policy }) => (policy.allow_public ? t('Allowed') : t('Not allowed')),
        },
        { title: t('Created'), wide: true, class: 'nowrap', cell: (bucket) => formatAgo(bucket.created_at) },
      ]}
    />
  );
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const create = useAction(async () => {
    const bucket = await call<BucketView>('/v1/buckets', { method: 'POST', json: { name: name.trim() } });
    navigate(linkTo('buckets', bucket.id));
  });
  return (
    <Dialog title={t('New bucket')} onClose={onClose}>
      <Form onSubmit={() => create.run()}>
        <TextField
          label={t('Name')}
          hint={t('Letters, digits and . _ - ; it is part of addresses.')}
          required
          maxLength={63}
          value={name}
          onValue={setName}
        />
        <FormEnd of={create} submit={t('Create')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}
