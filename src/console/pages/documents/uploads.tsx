import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../lib/api.ts';
import { useDrops } from '../../lib/drops.ts';
import { formatBytes, formatNumber, formatPercent } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { linkTo } from '../../lib/router.ts';
import { useStore } from '../../lib/store.ts';
import type { DroppedFile, QueueState, Upload, UploadQueue } from '../../lib/upload.ts';
import type { CollectionView } from '../../types.ts';
import { Badge, Button } from '../../ui/controls.tsx';
import { Icon } from '../../ui/icons.tsx';

/** Drop area for files, and the dropped files. */
export function Uploads({ queue, collections }: { queue: UploadQueue; collections: readonly CollectionView[] }) {
  const [collection, setCollection] = useState('');
  const state = useStore(queue.state);
  const { uploads, stored, failed } = state;
  return (
    <section class="panel" aria-label={t('Upload')}>
      <DropZone onFiles={(files) => queue.add(files, collection === '' ? {} : { collection_id: collection })}>
        {collections.length > 0 && (
          <select
            class="input"
            aria-label={t('Collection of the upload')}
            value={collection}
            onChange={(event) => setCollection(event.currentTarget.value)}
          >
            <option value="">{t('No collection')}</option>
            {collections.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        )}
      </DropZone>
      {uploads.length > 0 && (
        <>
          <UploadSummary state={state} />
          <ul class="upload-list" aria-live="polite">
            {uploads.map((upload) => (
              <UploadItem key={upload.id} upload={upload} />
            ))}
          </ul>
          {stored + failed > 0 && (
            <div class="table-foot">
              {failed > 0 && (
                <Button small icon="refresh" onClick={() => queue.retryFailed()}>
                  {t('Try the failed ones again')}
                </Button>
              )}
              <Button look="quiet" small onClick={() => queue.clearEnded()}>
                {t('Clear the list')}
              </Button>
            </div>
          )}
        </>
      )}
    </section>
  );
}

/** Counts of a large upload, whose files don't all fit in the list. */
function UploadSummary({ state: { total, stored, failed, uploads } }: { state: QueueState }) {
  if (total <= 1) return null;
  const sending = uploads.filter(({ state }) => state === 'sending').length;
  return (
    <div class="upload-summary" role="status">
      <span>
        {t('{stored} of {total} files are stored', { stored: formatNumber(stored), total: formatNumber(total) })}
        {failed > 0 && ` · ${t('{count} not stored', { count: formatNumber(failed) })}`}
        {` · ${t('{count} waiting', { count: formatNumber(total - stored - failed - sending) })}`}
      </span>
      <progress value={stored + failed} max={total} aria-label={t('Progress of all uploads')} />
    </div>
  );
}

interface DropZoneProps {
  readonly onFiles: (files: readonly DroppedFile[]) => void;
  readonly children: ComponentChildren;
}

function DropZone({ onFiles, children }: DropZoneProps) {
  const input = useRef<HTMLInputElement>(null);
  const isOver = useDrops(onFiles);
  const choose = () => {
    const element = input.current;
    if (element?.files) onFiles([...element.files].map((file) => ({ file, path: null })));
    if (element) element.value = '';
  };
  return (
    <div class={isOver ? 'drop-zone over' : 'drop-zone'}>
      <Icon name="upload" size={22} />
      <div class="grow">
        <strong>{t('Drop documents anywhere on this page')}</strong>
        <div class="faint">{t('Text, Markdown, HTML, PDF, Office, HWP, mail, pictures and more.')}</div>
      </div>
      {children}
      <input ref={input} type="file" multiple hidden onChange={choose} data-testid="files" />
      <Button onClick={() => input.current?.click()}>{t('Choose files')}</Button>
    </div>
  );
}

function UploadItem({ upload }: { upload: Upload }) {
  const { name, sizeBytes, state, progress, reply, error } = upload;
  return (
    <li>
      <div class="row spread">
        <span class="grow">
          {reply ? <a href={linkTo('documents', reply.duplicate_of ?? reply.id)}>{name}</a> : name}{' '}
          <span class="faint">{formatBytes(sizeBytes)}</span>
        </span>
        <UploadState upload={upload} />
      </div>
      {state === 'sending' && <progress value={progress} max={1} aria-label={t('Upload of {name}', { name })} />}
      {error && <span class="quiet">{reasonOf(error)}</span>}
      {reply?.warnings.map((warning) => (
        <span key={warning} class="quiet">
          {warning}
        </span>
      ))}
    </li>
  );
}

function UploadState({ upload: { state, progress, reply } }: { upload: Upload }) {
  if (state === 'failed') return <Badge tone="bad">{t('Not stored')}</Badge>;
  if (state === 'sending') {
    return <Badge tone="info">{progress < 1 ? formatPercent(progress) : t('Storing')}</Badge>;
  }
  return reply?.duplicate_of ? <Badge>{t('Already in this bucket')}</Badge> : <Badge tone="good">{t('Stored')}</Badge>;
}

function reasonOf(error: ApiError): string {
  if (error.code === 'upload_interrupted') {
    return t(
      'The connection closed during the upload. The file may be larger than the server takes, or the service restarted.',
    );
  }
  return error.message;
}
