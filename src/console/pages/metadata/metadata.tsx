import { useState } from 'preact/hooks';
import { type ApiError, call, pathOf } from '../../lib/api.ts';
import { useDraft } from '../../lib/draft.ts';
import { t } from '../../lib/i18n.ts';
import { useBuckets } from '../../lib/lists.ts';
import { useAction, useOnceLoaded } from '../../lib/resource.ts';
import type { BulkEditReply } from '../../types.ts';
import { ActionError, Button, Check, Notice, SelectField } from '../../ui/controls.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import { ReplyView } from './reply.tsx';
import { StatementEditor } from './statement-editor.tsx';
import { StatementFault } from './statement-fault.tsx';

const EXAMPLE = "SELECT documents WHERE status = 'ready' LIMIT 20";

/** Reply to a statement. */
interface Executed {
  readonly statement: string;
  readonly reply: BulkEditReply;
}

/** Result of a dry run, and its bucket. */
interface Preview extends Executed {
  readonly bucket: string;
}

const isSelect = (statement: string) => /^\s*select\b/i.test(statement);
const isHardDelete = (statement: string) => /^\s*harddelete\b/i.test(statement);
const isEdit = (statement: string) => !isSelect(statement) && !isHardDelete(statement);

/**
 * Page `/console/metadata`: statements over the metadata of a bucket. Changes are previewed before they are applied.
 */
export default function MetadataPage() {
  const buckets = useBuckets();
  const [chosen, setChosen] = useDraft('statement-bucket', '');
  const [statement, setStatement] = useDraft('statement', EXAMPLE);
  const [reindex, setReindex] = useState(true);
  const [preview, setPreview] = useState<Preview | null>(null);
  const [isConfirming, setIsConfirming] = useState(false);
  const [done, setDone] = useState<Executed | null>(null);
  const all = buckets.data ?? [];
  const bucket = all.find(({ name }) => name === chosen) ?? all[0];
  const send = (json: Record<string, unknown>) =>
    call<BulkEditReply>(pathOf('v1', 'buckets', bucket?.id ?? '', 'documents', 'metadata', 'bulk'), {
      method: 'PATCH',
      json: { statement, reindex, ...json },
    });
  const dryRun = useAction(async () => {
    setDone(null);
    setPreview(null);
    setPreview({ statement, bucket: bucket?.id ?? '', reply: await send({ dry_run: true }) });
  });
  const run = useOnceLoaded(buckets, () => dryRun.run());
  const apply = async () => {
    const confirm = isHardDelete(statement) ? { confirm: `HARDDELETE ${bucket?.id}` } : {};
    setDone({ statement, reply: await send({ dry_run: false, ...confirm }) });
    setPreview(null);
    toast(t('The statement was executed'));
  };
  const isPreviewed = preview !== null && preview.statement === statement && preview.bucket === bucket?.id;
  return (
    <div class="page">
      <PageHeader title={t('Metadata')}>
        {t('Find and change documents by a statement. Every change is shown before it is made.')}
      </PageHeader>
      <div class="panel padded stack">
        <div class="form-grid">
          <SelectField
            label={t('Bucket')}
            value={bucket?.name ?? ''}
            options={all.map(({ name }) => ({ value: name, label: name }))}
            onValue={setChosen}
          />
        </div>
        <StatementEditor statement={statement} onStatement={setStatement} onRun={run} error={dryRun.error} />
        <FaultView error={dryRun.error} statement={statement} />
        <div class="row spread">
          <Check label={t('Make the vectors of changed documents anew')} isOn={reindex} onToggle={setReindex} />
          <div class="row">
            <Button
              look={isPreviewed && !isSelect(statement) ? 'plain' : 'primary'}
              isBusy={dryRun.isRunning}
              disabled={!bucket}
              onClick={() => dryRun.run()}
            >
              {isSelect(statement) ? t('Run') : t('Show what it would change')}
            </Button>
            {isPreviewed && !isSelect(statement) && (
              <Button look="danger" disabled={preview.reply.matched === 0} onClick={() => setIsConfirming(true)}>
                {t('Execute')}
              </Button>
            )}
          </div>
        </div>
      </div>
      {done && <DoneView {...done} />}
      {isPreviewed && (
        <Panel title={isSelect(statement) ? t('Documents') : t('What it would change')}>
          <ReplyView reply={preview.reply} statement={statement} isEdit={isEdit(statement)} />
        </Panel>
      )}
      {isConfirming && preview && bucket && (
        <ConfirmDialog
          title={t('Execute this statement?')}
          action={t('Execute')}
          {...(isHardDelete(statement) ? { typed: bucket.name } : {})}
          onConfirm={apply}
          onClose={() => setIsConfirming(false)}
        >
          <p>
            {isHardDelete(statement)
              ? t('{count|document is|documents are} removed for good.', { count: preview.reply.matched })
              : t('{count|document is|documents are} changed.', { count: preview.reply.matched })}
          </p>
          <code>{statement}</code>
        </ConfirmDialog>
      )}
    </div>
  );
}

function FaultView({ error, statement }: { error: ApiError | null; statement: string }) {
  if (error === null) return null;
  return /^line \d+, column \d+/.test(error.message) ? (
    <StatementFault message={error.message} statement={statement} />
  ) : (
    <ActionError error={error} />
  );
}

function DoneView({ reply, statement }: Executed) {
  const text =
    reply.status === 'queued'
      ? t('A job removes {count|document|documents}.', { count: reply.matched })
      : t('{updated|document was|documents were} changed, {skipped} were left as they are.', {
          updated: reply.updated,
          skipped: reply.skipped,
        });
  return (
    <>
      <Notice tone="good" title={t('The statement was executed')}>
        {text}
      </Notice>
      <Panel title={t('Result')}>
        <ReplyView reply={reply} statement={statement} isEdit={isEdit(statement)} />
      </Panel>
    </>
  );
}
