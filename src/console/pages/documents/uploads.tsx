import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../lib/api.ts';
import { formatBytes, formatPercent } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { linkTo } from '../../lib/router.ts';
import { useStore } from '../../lib/store.ts';
import type { Upload, UploadQueue } from '../../lib/upload.ts';
import type { CollectionView } from '../../types.ts';
import { Badge, Button } from '../../ui/controls.tsx';
import { Icon } from '../../ui/icons.tsx';

/** Drop area for files, and the dropped files. */
export function Uploads({ queue, collections }: { queue: UploadQueue; collections: readonly CollectionView[] }) {
  const [collection, setCollection] = useState('');
  const uploads = useStore(queue.uploads);
  const hasEnded = uploads.some(({ state }) => state === 'stored' || state === 'failed');
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
          <ul class="upload-list" aria-live="polite">
            {uploads.map((upload) => (
              <UploadItem key={upload.id} upload={upload} />
            ))}
          </ul>
          {hasEnded && (
            <div class="table-foot">
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

function DropZone({ onFiles, children }: { onFiles: (files: File[]) => void; children: ComponentChildren }) {
  const [isOver, setIsOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useDrops(setIsOver, onFiles);
  const choose = () => {
    const element = input.current;
    if (element?.files) onFiles([...element.files]);
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

/** Accept files dropped anywhere on the page. */
function useDrops(setIsOver: (isOver: boolean) => void, onFiles: (files: File[]) => void): void {
  const take = useRef(onFiles);
  take.current = onFiles;
  useEffect(() => {
    let depth = 0;
    const enter = () => {
      depth += 1;
      setIsOver(true);
    };
    const leave = () => {
      depth = Math.max(0, depth - 1);
      if (depth === 0) setIsOver(false);
    };
    const over = (event: DragEvent) => event.preventDefault();
    const drop = (event: DragEvent) => {
      event.preventDefault();
      depth = 0;
      setIsOver(false);
      const files = [...(event.dataTransfer?.files ?? [])];
      if (files.length > 0) take.current(files);
    };
    const handlers = { dragenter: enter, dragleave: leave, dragover: over, drop } as const;
    for (const [name, handler] of Object.entries(handlers)) addEventListener(name, handler as EventListener);
    return () => {
      for (const [name, handler] of Object.entries(handlers)) removeEventListener(name, handler as EventListener);
    };
  }, [setIsOver]);
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
  if (state === 'waiting') return <Badge>{t('Waiting')}</Badge>;
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
