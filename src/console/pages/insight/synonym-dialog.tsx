import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import { Form, FormEnd, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { BucketField } from './bucket-field.tsx';
import type { StepProps } from './step-props.ts';

/** Form that adds words with the same meaning to a bucket's synonyms. */
export function SynonymDialog({ asked, buckets, onClose }: StepProps) {
  const [bucket, setBucket] = useState(buckets[0]?.id ?? '');
  const [words, setWords] = useState(asked.query);
  const [others, setOthers] = useState('');
  const save = useAction(async () => {
    const path = pathOf('v1', 'buckets', bucket, 'synonyms');
    const { groups } = await call<{ groups: string[][] }>(path);
    const group = [words, ...others.split(',')].map((word) => word.trim()).filter((word) => word !== '');
    await call(path, { method: 'PUT', json: { groups: [...groups, group] } });
    toast(t('The next search uses the synonym'));
    onClose();
  });
  return (
    <Dialog title={t('Add a synonym')} onClose={onClose}>
      <Form onSubmit={() => save.run()}>
        <BucketField buckets={buckets} value={bucket} onValue={setBucket} />
        <TextField label={t('Words of the question')} required maxLength={100} value={words} onValue={setWords} />
        <TextField
          label={t('Words of the documents that mean the same')}
          hint={t('Separate several by commas.')}
          required
          value={others}
          onValue={setOthers}
        />
        <FormEnd of={save} submit={t('Add')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}
