import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatNumber, formatTime } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useAction, useResource } from '../../lib/resource.ts';
import { linkTo, navigate, type PageProps } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { SourcePreview, SourceView } from '../../types.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { ActionError, Button, Check, Notice } from '../../ui/controls.tsx';
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx';
import { Facts, PageHeader, Panel, Tile } from '../../ui/page.tsx';
import { Reason } from '../../ui/reason.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';
import { toast } from '../../ui/toast.tsx';
import { SourceFaults } from './faults.tsx';
import { Preview } from './preview.tsx';

const COUNT_NAMES = {
  added: 'Added',
  changed: 'Changed',
  removed: 'Removed',
  renamed: 'Renamed',
  unchanged: 'Unchanged',
  failed: 'Failed',
} as const;
const COUNTS = Object.keys(COUNT_NAMES) as (keyof typeof COUNT_NAMES)[];

/** Page `/console/sources/{id}`. */
export default function SourcePage({ parameters }: PageProps) {
  const id = parameters[0] ?? '';
  const source = useResource(
    `source ${id}`,
    (signal) => call<SourceView>(pathOf('v1', 'memory', 'sources', id), { signal }),
    ['sources', 'jobs'],
  );
  return (
    <div class="page">
      <PageHeader
        title={source.data?.name ?? t('Source')}
        crumbs={[{ label: t('Sources'), href: linkTo('sources') }]}
        actions={
          source.data && mayUse('sources:manage') && <SourceActions source={source.data} onChange={source.refresh} />
        }
      />
      <Loaded of={source}>{(shown) => <SourceDetails source={shown} onChange={source.refresh} />}</Loaded>
    </div>
  );
}

function SourceDetails({ source, onChange }: { source: SourceView; onChange: () => void }) {
  const timeOf = (iso: string | null) => (iso === null ? '–' : formatTime(iso));
  return (
    <>
      {source.error_message && (
        <Notice tone="bad" title={t('The last synchronisation failed')}>
          <Reason of={source} />
        </Notice>
      )}
      <div class="tiles">
        {COUNTS.map((count) => (
          <Tile key={count} label={t(COUNT_NAMES[count])} value={formatNumber(source.counts[count])} />
        ))}
      </div>
      {source.paused_at !== null && (
        <Notice tone="info" title={t('The source is paused')}>
          {t('Nothing is synchronised until it is resumed. Its documents can still be searched.')}
        </Notice>
      )}
      {mayUse('sources:manage') && source.counts.failed > 0 && <SourceFaults source={source} onChange={onChange} />}
      <Panel title={t('Facts')} padded>
        <Facts
          of={[
            [t('State'), <Status key="state" of={source.sync_state} />],
            [t('Type'), translateName(source.type)],
            [t('Connection'), source.connection],
            [
              t('Bucket'),
              <a key="bucket" href={linkTo('buckets', source.bucket_id)}>
                {source.bucket_id}
              </a>,
            ],
            [t('Documents'), formatNumber(source.indexed_document_count)],
            [t('Last synchronised'), timeOf(source.last_synced_at)],
            [t('Next'), timeOf(source.next_sync_at)],
            [t('Schedule'), source.schedule === null ? t('None') : <code key="schedule">{source.schedule}</code>],
            [t('Tags'), source.tags.join(', ') || '–'],
            [t('Privacy level'), source.privacy_level],
            [t('Earlier versions'), source.versions === 'keep' ? t('Kept') : t('Replaced')],
            ...(source.sync_job_id === null
              ? []
              : [
                  [
                    t('Job'),
                    <a key="job" href={linkTo('jobs', source.sync_job_id)}>
                      {source.sync_job_id}
                    </a>,
                  ] as const,
                ]),
          ]}
        />
      </Panel>
      <Panel title={t('Configuration')} padded>
        <CodeBlock code={JSON.stringify(source.config, null, 2)} label={t('Configuration')} />
      </Panel>
    </>
  );
}

function SourceActions({ source, onChange }: { source: SourceView; onChange: () => void }) {
  const [isDeleting, setIsDeleting] = useState(false);
  const [isKeeping, setIsKeeping] = useState(false);
  const path = pathOf('v1', 'memory', 'sources', source.id);
  const sync = useAction(async () => {
    await call(`${path}/sync`, { method: 'POST' });
    toast(t('The synchronisation was queued'));
    onChange();
  });
  const isPaused = source.paused_at !== null;
  const pause = useAction(async () => {
    await call(path, { method: 'PATCH', json: { paused: !isPaused } });
    toast(isPaused ? t('{name} goes on', { name: source.name }) : t('{name} is paused', { name: source.name }));
    onChange();
  });
  const [preview, setPreview] = useState<SourcePreview | null>(null);
  const look = useAction(async () => {
    setPreview(await call<SourcePreview>('/v1/memory/preview', { method: 'POST', json: { source: source.id } }));
  });
  const remove = async () => {
    await call(path, { method: 'DELETE', query: { keep_documents: isKeeping } });
    toast(t('{name} was disconnected', { name: source.name }));
    navigate(linkTo('sources'));
  };
  return (
    <>
      {!isPaused && (
        <Button icon="refresh" look="primary" isBusy={sync.isRunning} onClick={() => sync.run()}>
          {t('Synchronise now')}
        </Button>
      )}
      <Button isBusy={look.isRunning} onClick={() => look.run()}>
        {t('Preview')}
      </Button>
      <Button look={isPaused ? 'primary' : 'plain'} isBusy={pause.isRunning} onClick={() => pause.run()}>
        {isPaused ? t('Resume') : t('Pause')}
      </Button>
      <Button look="danger" onClick={() => setIsDeleting(true)}>
        {t('Disconnect')}
      </Button>
      <ActionError error={sync.error ?? pause.error ?? look.error} />
      {preview !== null && (
        <Dialog title={t('What a synchronisation would find')} keepsNothing onClose={() => setPreview(null)}>
          <Preview of={preview} />
          <div class="form-actions">
            <Button onClick={() => setPreview(null)}>{t('Close')}</Button>
          </div>
        </Dialog>
      )}
      {isDeleting && (
        <ConfirmDialog
          title={t('Disconnect {name}?', { name: source.name })}
          action={t('Disconnect')}
          typed={source.name}
          onConfirm={remove}
          onClose={() => setIsDeleting(false)}
        >
          <p>
            {t('{count|document of this source is|documents of this source are} removed, unless they are to stay.', {
              count: source.indexed_document_count,
            })}
          </p>
          <Check label={t('Keep its documents in the bucket')} isOn={isKeeping} onToggle={setIsKeeping} />
        </ConfirmDialog>
      )}
    </>
  );
}
