import { useState } from 'preact/hooks';
import { pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useBuckets } from '../../lib/lists.ts';
import { useOnceLoaded } from '../../lib/resource.ts';
import { linkTo, navigate } from '../../lib/router.ts';
import { type DroppedFile, uploadQueueOf } from '../../lib/upload.ts';
import { Button, Form, SelectField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';

interface ChooseBucketDialogProps {
  readonly files: readonly DroppedFile[];
  readonly onClose: () => void;
}

/** Dialog that asks for the bucket of files dropped outside of one. */
export function ChooseBucketDialog({ files, onClose }: ChooseBucketDialogProps) {
  const buckets = useBuckets();
  const [chosen, setChosen] = useState('');
  const bucket = chosen || (buckets.data?.[0]?.id ?? '');
  const submit = useOnceLoaded(buckets, () => {
    if (bucket === '') return;
    uploadQueueOf(pathOf('v1', 'buckets', bucket, 'documents')).add(files);
    onClose();
    navigate(linkTo('buckets', bucket));
  });
  return (
    <Dialog title={t('Where do these files go?')} onClose={onClose}>
      <Form onSubmit={submit}>
        <p>{t('{count|file|files}', { count: files.length })}</p>
        <SelectField
          label={t('Bucket')}
          value={bucket}
          options={(buckets.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          onValue={setChosen}
        />
        <div class="form-actions">
          <Button onClick={onClose}>{t('Cancel')}</Button>
          <Button type="submit" look="primary">
            {t('Upload')}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
