import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import { linkTo } from '../../lib/router.ts';
import { Field, Form, FormEnd, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { BucketField } from './bucket-field.tsx';
import type { StepProps } from './step-props.ts';

const NAME_CHARS_MAX = 60;

/** Form that writes the answer to a question as a document of its bucket. */
export function AnswerDialog({ asked, buckets, onClose }: StepProps) {
  const [bucket, setBucket] = useState(buckets[0]?.id ?? '');
  const [name, setName] = useState(`${fileNameOf(asked.query)}.md`);
  const [text, setText] = useState(`# ${asked.query}\n\n`);
  const save = useAction(async () => {
    const json = { filename: name.trim(), text };
    await call(pathOf('v1', 'buckets', bucket, 'documents'), { method: 'POST', json });
    toast(t('The document was uploaded'));
    onClose();
  });
  return (
    <Dialog title={t('Add a document')} onClose={onClose}>
      <Form onSubmit={() => save.run()}>
        <BucketField buckets={buckets} value={bucket} onValue={setBucket} />
        <TextField label={t('Name')} required value={name} onValue={setName} />
        <Field label={t('Text')} hint={t('Write the answer below the question, as a sentence that can be found.')}>
          {(control) => (
            <textarea
              class="input"
              rows={8}
              required
              {...control}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          )}
        </Field>
        <p>
          <a href={linkTo('buckets', bucket)}>{t('Upload a file instead')}</a>
        </p>
        <FormEnd of={save} submit={t('Upload')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}

/** Create a file name from a question: its words, joined by hyphens. */
function fileNameOf(query: string): string {
  const words = query.match(/[\p{L}\p{N}]+/gu) ?? ['answer'];
  return Array.from(words.join('-')).slice(0, NAME_CHARS_MAX).join('');
}
