import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import type { BulkEditReply, DocumentView } from '../../types.ts';
import { ActionError, Button, Check, Form, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { PairRows, pairOf } from '../../ui/pair-rows.tsx';
import { toast } from '../../ui/toast.tsx';
import { BulkPreview } from './bulk-preview.tsx';
import { CLASSIFICATIONS, optionsOf, REVIEWS } from './document-policy.tsx';

interface BulkEditDialogProps {
  readonly bucket: string;
  readonly documents: readonly DocumentView[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Preview of a change, and its request. */
interface Preview {
  readonly request: string;
  readonly reply: BulkEditReply;
}

/** Dialog to change metadata and access of the selected documents, with a preview. */
export function BulkEditDialog({ bucket, documents, onClose, onDone }: BulkEditDialogProps) {
  const [pairs, setPairs] = useState(() => [pairOf()]);
  const [level, setLevel] = useState('');
  const [classification, setClassification] = useState('');
  const [review, setReview] = useState('');
  const [reindex, setReindex] = useState(false);
  const [preview, setPreview] = useState<Preview | null>(null);
  const named = pairs.filter(({ key }) => key.trim() !== '');
  const change = {
    ...(named.length === 0
      ? {}
      : { metadata: Object.fromEntries(named.map(({ key, value }) => [key.trim(), value === '' ? null : value])) }),
    ...(level === '' ? {} : { privacy_level: Number(level) }),
    ...(classification === '' ? {} : { classification }),
    ...(review === '' ? {} : { review_status: review }),
  };
  const request = JSON.stringify({ ...change, reindex });
  const send = (isDryRun: boolean) =>
    call<BulkEditReply>(pathOf('v1', 'buckets', bucket, 'documents', 'metadata', 'bulk'), {
      method: 'PATCH',
      json: { ...change, reindex, document_ids: documents.map(({ id }) => id), dry_run: isDryRun },
    });
  // Editing a field invalidates the preview, so that nothing is applied without being shown.
  const shown = preview?.request === request ? preview.reply : null;
  const submit = useAction(async () => {
    if (shown === null) {
      setPreview({ request, reply: await send(true) });
      return;
    }
    const { updated, skipped } = await send(false);
    toast(t('{updated|document was|documents were} changed, {skipped} were left as they are.', { updated, skipped }));
    onDone();
    onClose();
  });
  const unchanged = { value: '', label: t('As it is') };
  return (
    <Dialog title={t('Edit {count|document|documents}', { count: documents.length })} onClose={onClose}>
      <Form onSubmit={() => submit.run()}>
        <fieldset class="stack tight">
          <legend>{t('Metadata')}</legend>
          <p class="hint">{t('A key without a value is removed.')}</p>
          <PairRows pairs={pairs} onPairs={(next) => setPairs([...next])} />
        </fieldset>
        <div class="form-grid">
          <TextField
            label={t('Privacy level')}
            hint={t('Empty: as it is.')}
            type="number"
            min={1}
            max={10}
            value={level}
            onValue={setLevel}
          />
          <SelectField
            label={t('Classification')}
            value={classification}
            options={[unchanged, ...optionsOf(CLASSIFICATIONS)]}
            onValue={setClassification}
          />
          <SelectField
            label={t('Review')}
            value={review}
            options={[unchanged, ...optionsOf(REVIEWS)]}
            onValue={setReview}
          />
        </div>
        <Check label={t('Make the vectors of changed documents anew')} isOn={reindex} onToggle={setReindex} />
        {shown !== null && <BulkPreview reply={shown} documents={documents} />}
        <ActionError error={submit.error} />
        <div class="form-actions">
          <Button onClick={onClose}>{t('Cancel')}</Button>
          <Button
            type="submit"
            look="primary"
            isBusy={submit.isRunning}
            disabled={Object.keys(change).length === 0 || shown?.matched === 0}
          >
            {shown === null ? t('Show what it would change') : t('Apply the change')}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
