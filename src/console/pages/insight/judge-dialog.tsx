import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { type Page, useAction, useResource } from '../../lib/resource.ts';
import type { DocumentView } from '../../types.ts';
import { Form, FormEnd, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import type { StepProps } from './step-props.ts';

const GRADES = ['3', '2', '1', '0'] as const;
const NAMES = { 3: 'fully', 2: 'well', 1: 'a little', 0: 'not at all' } as const;

/** Form that judges how well a document answers a question, for tuning and measuring searches. */
export function JudgeDialog({ asked, buckets, onClose }: StepProps) {
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState('');
  const [grade, setGrade] = useState<(typeof GRADES)[number]>('3');
  const found = useResource(name.trim() === '' ? null : `documents named ${name.trim()}`, (signal) =>
    call<Page<DocumentView>>('/v1/documents', { query: { name: name.trim(), limit: 20 }, signal }),
  );
  const documents = (found.data?.data ?? []).filter((each) => buckets.some(({ id }) => id === each.bucket_id));
  const document = documents.find(({ id }) => id === chosen) ?? documents[0];
  const save = useAction(async () => {
    const json = { document_id: document?.id, grade: Number(grade) };
    await call(pathOf('v1', 'search', 'log', asked.last_id, 'judgement'), { method: 'POST', json });
    toast(t('The judgement was kept'));
    onClose();
  });
  return (
    <Dialog title={t('Judge a document')} onClose={onClose}>
      <Form onSubmit={() => document && save.run()}>
        <p class="result-text whole">{asked.query}</p>
        <TextField
          label={t('Part of the name of a document')}
          type="search"
          value={name}
          onValue={setName}
          hint={t('Judged pairs tune the weights of the bucket: service index tune --judged-from-log.')}
        />
        {name.trim() !== '' && !found.isLoading && documents.length === 0 && (
          <p class="faint">{t('No document of these buckets has this name.')}</p>
        )}
        {document && (
          <>
            <SelectField
              label={t('Document')}
              value={document.id}
              options={documents.map((each) => ({ value: each.id, label: each.file_name }))}
              onValue={setChosen}
            />
            <SelectField
              label={t('How well it answers the question')}
              value={grade}
              options={GRADES.map((each) => ({ value: each, label: t(NAMES[each]) }))}
              onValue={(value) => setGrade(value as typeof grade)}
            />
          </>
        )}
        <FormEnd of={save} submit={t('Keep')} disabled={!document} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}
