import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatBytes, formatNumber, formatTime } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { type Page, useAction, useResource } from '../../lib/resource.ts';
import { linkTo, navigate, type PageProps } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { BucketView, DocumentView, JobView } from '../../types.ts';
import { ActionError, Button, Notice, Warnings } from '../../ui/controls.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Facts, PageHeader, Panel } from '../../ui/page.tsx';
import { Reason } from '../../ui/reason.tsx';
import { Loaded, shownData } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { HistoryPanel } from './document-history.tsx';
import { MetadataPanel } from './document-metadata.tsx';
import { PolicyPanel } from './document-policy.tsx';
import { DocumentState } from './document-state.tsx';
import { Reader } from './reader.tsx';

/** Page `/console/documents/{id}#{chunk}`: a document, with a chunk highlighted. */
export default function DocumentPage({ parameters, place }: PageProps) {
  const id = parameters[0] ?? '';
  const document = useResource(
    `document ${id}`,
    (signal) =>
      call<DocumentView>(pathOf('v1', 'documents', id), { query: { search: place.query.get('search') }, signal }),
    ['documents', 'jobs'],
  );
  // Warnings of a change outlive the document's panels: after it, the user may no longer be able to read the document.
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const onSaved = (given: readonly string[]) => {
    setWarnings(given);
    document.refresh();
  };
  const data = shownData(document);
  return (
    <div class="page">
      {data ? (
        <Header document={data} />
      ) : (
        <PageHeader title={t('Document')} crumbs={[{ label: t('Documents'), href: linkTo('documents') }]} />
      )}
      <Warnings of={warnings} />
      <Loaded of={document}>
        {(shown) => (
          <>
            {shown.status === 'failed' && shown.error_message && (
              <Notice tone="bad" title={t('This document could not be processed')}>
                <Reason of={shown} />
              </Notice>
            )}
            <div class="split">
              <section class="panel" aria-label={t('Text')}>
                <Reader document={shown} cited={place.hash} />
              </section>
              <div class="stack">
                <Panel title={t('Facts')} padded>
                  <DocumentFacts document={shown} />
                </Panel>
                <MetadataPanel document={shown} onSaved={onSaved} />
                <PolicyPanel document={shown} onSaved={onSaved} />
                <HistoryPanel document={shown} />
              </div>
            </div>
          </>
        )}
      </Loaded>
    </div>
  );
}

function Header({ document }: { document: DocumentView }) {
  const [isDeleting, setIsDeleting] = useState(false);
  const { bucket_id: bucketId, id, file_name: name } = document;
  const bucket = useResource(`bucket ${bucketId}`, (signal) =>
    call<BucketView>(pathOf('v1', 'buckets', bucketId), { signal }),
  );
  const bucketName = bucket.data?.name ?? bucketId;
  const remove = async () => {
    await call(pathOf('v1', 'buckets', bucketId, 'documents', id), { method: 'DELETE' });
    toast(t('{name} was deleted', { name }));
    navigate(linkTo('buckets', bucketId));
  };
  return (
    <>
      <PageHeader
        title={name}
        crumbs={[
          { label: t('Documents'), href: linkTo('documents') },
          { label: bucketName, href: linkTo('buckets', bucketId) },
        ]}
        actions={<DocumentActions document={document} onDelete={() => setIsDeleting(true)} />}
      />
      {isDeleting && (
        <ConfirmDialog
          title={t('Delete this document?')}
          action={t('Delete for good')}
          onConfirm={remove}
          onClose={() => setIsDeleting(false)}
        >
          <p>{t('{name}, its chunks and its files are removed for good.', { name })}</p>
        </ConfirmDialog>
      )}
    </>
  );
}

async function findJob(document: DocumentView): Promise<JobView | undefined> {
  const query = { document_id: document.id, limit: 1 };
  const [job] = await call<readonly JobView[]>('/v1/jobs', { query });
  return job;
}

function DocumentActions({ document, onDelete }: { document: DocumentView; onDelete: () => void }) {
  const reprocess = useAction(async () => {
    // An edit that only asks for new vectors queues a job, even if the first job is no longer listed.
    const job = await findJob(document);
    if (job !== undefined && ['ready', 'failed', 'cancelled'].includes(job.status)) {
      await call(pathOf('v1', 'jobs', job.id, 'reprocess'), { method: 'POST' });
    } else {
      await call(pathOf('v1', 'buckets', document.bucket_id, 'documents', document.id, 'metadata'), {
        method: 'PATCH',
        json: { metadata: {}, reindex: true },
      });
    }
    toast(t('The document is processed again'));
  });
  const download = useAction(async () => {
    const job = await findJob(document);
    const files = job === undefined ? null : await call<Page<unknown>>(pathOf('v1', 'jobs', job.id, 'files'));
    if (job === undefined || files?.data.length === 0)
      throw new Error(t('The original file is not kept with a recent job.'));
    location.assign(pathOf('v1', 'jobs', job.id, 'download'));
  });
  return (
    <>
      <Button icon="download" isBusy={download.isRunning} onClick={() => download.run()}>
        {t('Original')}
      </Button>
      {mayUse('jobs:write') && (
        <Button icon="refresh" isBusy={reprocess.isRunning} onClick={() => reprocess.run()}>
          {t('Process again')}
        </Button>
      )}
      {mayUse('documents:write') && (
        <Button look="danger" icon="trash" onClick={onDelete}>
          {t('Delete')}
        </Button>
      )}
      <ActionError error={reprocess.error ?? download.error} />
    </>
  );
}

function DocumentFacts({ document }: { document: DocumentView }) {
  const { status, searchable, file_type, size_bytes, page_count, chunks_count, embed_model, source_path, job_id } =
    document;
  return (
    <Facts
      of={[
        [t('State'), <DocumentState key="state" status={status} searchable={searchable} />],
        [t('Type'), file_type ?? '–'],
        [t('Size'), formatBytes(size_bytes)],
        ...(page_count === null ? [] : [[t('Pages'), formatNumber(page_count)] as const]),
        [t('Chunks'), chunks_count === null ? '–' : formatNumber(chunks_count)],
        ...(embed_model === null ? [] : [[t('Model'), embed_model] as const]),
        ...(source_path === null ? [] : [[t('Source path'), source_path] as const]),
        ...(document.event_time === null ? [] : [[t('Time of the content'), formatTime(document.event_time)] as const]),
        [t('Uploaded'), formatTime(document.created_at)],
        [t('Changed'), formatTime(document.updated_at)],
        ...(job_id === null
          ? []
          : [
              [
                t('Job'),
                <a key="job" href={linkTo('jobs', job_id)}>
                  {job_id}
                </a>,
              ] as const,
            ]),
        [t('Id'), <code key="id">{document.id}</code>],
      ]}
    />
  );
}
