import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useBuckets } from '../../lib/lists.ts';
import { useAction, useOnceLoaded, useResource } from '../../lib/resource.ts';
import { linkTo, navigate } from '../../lib/router.ts';
import type { ConnectionView, SourcePreview, SourceView } from '../../types.ts';
import { Button, Form, FormEnd, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog, type DialogProps } from '../../ui/dialog.tsx';
import { PrivacyLevelField } from '../../ui/privacy-level-field.tsx';
import { type FormTexts, type ObjectSchema, valuesOf } from '../../ui/schema-form/schema.ts';
import { SchemaFields } from '../../ui/schema-form/schema-fields.tsx';
import { Preview } from './preview.tsx';

/** Step of the dialog: choose the place, preview its contents, and name the source. */
type Step = 'place' | 'preview' | 'details';

/** Form of a new source in three steps. The fields of its configuration come from the schema of the connection. */
export function NewSourceDialog({ onClose, onSaved }: DialogProps) {
  const connections = useResource('connections', (signal) =>
    call<readonly ConnectionView[]>('/v1/memory/connections', { signal }),
  );
  const [step, setStep] = useState<Step>('place');
  const [chosen, setConnection] = useState('');
  const [texts, setTexts] = useState<FormTexts>({});
  const [preview, setPreview] = useState<SourcePreview | null>(null);
  const all = connections.data ?? [];
  const connection = all.find(({ name }) => name === chosen) ?? all[0];
  const schema: ObjectSchema = connection?.config_schema ?? {};
  const place = () => ({ connection: connection?.name ?? '', config: valuesOf(schema, texts) });
  const look = useAction(async () => {
    setPreview(await call<SourcePreview>('/v1/memory/preview', { method: 'POST', json: place() }));
    setStep('preview');
  });
  const submitPlace = useOnceLoaded(connections, () => look.run());
  return (
    <Dialog title={t('Connect a source')} onClose={onClose}>
      {step === 'place' && (
        <Form onSubmit={submitPlace}>
          <ConnectionField
            isEmpty={connections.data?.length === 0}
            all={all}
            value={connection?.name ?? ''}
            onValue={(value) => {
              setConnection(value);
              setTexts({});
            }}
          />
          <SchemaFields schema={schema} texts={texts} onTexts={setTexts} />
          <FormEnd of={look} submit={t('Look at the entries')} onLeave={onClose} />
        </Form>
      )}
      {step === 'preview' && preview !== null && (
        <Form onSubmit={() => setStep('details')}>
          <Preview of={preview} />
          <div class="form-actions">
            <Button onClick={() => setStep('place')}>{t('Back')}</Button>
            <Button type="submit" look="primary">
              {t('Continue')}
            </Button>
          </div>
        </Form>
      )}
      {step === 'details' && <SourceForm place={place()} onBack={() => setStep('preview')} onSaved={onSaved} />}
    </Dialog>
  );
}

function ConnectionField(props: {
  isEmpty: boolean;
  all: readonly ConnectionView[];
  value: string;
  onValue: (value: string) => void;
}) {
  return (
    <SelectField
      label={t('Connection')}
      hint={
        props.isEmpty
          ? t('There is none yet; an operator adds it to the setting sources in service.yaml.')
          : t('The operator allows it in the setting sources.')
      }
      value={props.value}
      options={props.all.map(({ name, type }) => ({ value: name, label: `${name} · ${translateName(type)}` }))}
      onValue={props.onValue}
    />
  );
}

/** Last step of a new source: its name, bucket, tags and schedule. */
function SourceForm(props: {
  place: { connection: string; config: Record<string, unknown> };
  onBack: () => void;
  onSaved: () => void;
}) {
  const buckets = useBuckets();
  const names = (buckets.data ?? []).map(({ name }) => name);
  const [name, setName] = useState('');
  const [chosen, setBucket] = useState('');
  const [tags, setTags] = useState('');
  const [schedule, setSchedule] = useState('');
  const [level, setLevel] = useState('1');
  const bucket = chosen || (names[0] ?? '');
  const create = useAction(async () => {
    const json = {
      ...props.place,
      name: name.trim(),
      bucket,
      privacy_level: Number(level),
      tags: tags
        .split(',')
        .map((tag) => tag.trim())
        .filter(Boolean),
      ...(schedule.trim() === '' ? {} : { schedule: schedule.trim() }),
    };
    const source = await call<SourceView>('/v1/memory/sources', { method: 'POST', json });
    props.onSaved();
    navigate(linkTo('sources', source.id));
  });
  const submit = useOnceLoaded(buckets, () => create.run());
  return (
    <Form onSubmit={submit}>
      <div class="form-grid">
        <TextField label={t('Name')} required maxLength={100} value={name} onValue={setName} />
        <SelectField
          label={t('Bucket')}
          value={bucket}
          options={names.map((value) => ({ value, label: value }))}
          onValue={setBucket}
        />
      </div>
      <TextField label={t('Tags')} hint={t('key:value, with commas between them.')} value={tags} onValue={setTags} />
      <PrivacyLevelField label={t('Privacy level of its documents')} value={level} onValue={setLevel} />
      <TextField
        label={t('Schedule')}
        hint={t('Cron expression of five fields in UTC; empty for none.')}
        placeholder="0 * * * *"
        value={schedule}
        onValue={setSchedule}
      />
      <FormEnd of={create} submit={t('Connect')} leave={t('Back')} onLeave={props.onBack} />
    </Form>
  );
}
