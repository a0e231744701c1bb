import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useBuckets } from '../../lib/lists.ts';
import { useAction, useOnceLoaded, useResource } from '../../lib/resource.ts';
import { linkTo, navigate } from '../../lib/router.ts';
import type { ConnectionView, SourceView } from '../../types.ts';
import { ActionError, Button, Form, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { type FormTexts, type ObjectSchema, valuesOf } from '../../ui/schema-form/schema.ts';
import { SchemaFields } from '../../ui/schema-form/schema-fields.tsx';

/** Form of a new source. The fields of its configuration come from the schema of the connection. */
export function NewSourceDialog({ onClose, onSaved }: { onClose: () => void; onSaved: () => void }) {
  const buckets = useBuckets();
  const names = (buckets.data ?? []).map(({ name }) => name);
  const [name, setName] = useState('');
  const connections = useResource('connections', (signal) =>
    call<readonly ConnectionView[]>('/v1/memory/connections', { signal }),
  );
  const [chosenConnection, setConnection] = useState('');
  const [chosen, setBucket] = useState('');
  const [config, setConfig] = useState<FormTexts>({});
  const [tags, setTags] = useState('');
  const [schedule, setSchedule] = useState('');
  const bucket = chosen || (names[0] ?? '');
  const all = connections.data ?? [];
  const connection = all.find((each) => each.name === chosenConnection) ?? all[0];
  const schema: ObjectSchema = connection?.config_schema ?? {};
  const create = useAction(async () => {
    const json = {
      name: name.trim(),
      connection: connection?.name ?? '',
      bucket,
      config: valuesOf(schema, config),
      tags: tags
        .split(',')
        .map((tag) => tag.trim())
        .filter(Boolean),
      ...(schedule.trim() === '' ? {} : { schedule: schedule.trim() }),
    };
    const source = await call<SourceView>('/v1/memory/sources', { method: 'POST', json });
    onSaved();
    navigate(linkTo('sources', source.id));
  });
  const submit = useOnceLoaded(buckets, () => create.run());
  return (
    <Dialog title={t('Connect a source')} onClose={onClose}>
      <Form onSubmit={submit}>
        <TextField label={t('Name')} required maxLength={100} value={name} onValue={setName} />
        <div class="form-grid">
          <SelectField
            label={t('Connection')}
            hint={
              connections.data?.length === 0
                ? t('There is none yet; an operator adds it to the setting sources in service.yaml.')
                : t('The operator allows it in the setting sources.')
            }
            value={connection?.name ?? ''}
            options={all.map((each) => ({ value: each.name, label: `${each.name} · ${translateName(each.type)}` }))}
            onValue={(value) => {
              setConnection(value);
              setConfig({});
            }}
          />
          <SelectField
            label={t('Bucket')}
            value={bucket}
            options={names.map((value) => ({ value, label: value }))}
            onValue={setBucket}
          />
        </div>
        <SchemaFields schema={schema} texts={config} onTexts={setConfig} />
        <TextField label={t('Tags')} hint={t('key:value, with commas between them.')} value={tags} onValue={setTags} />
        <TextField
          label={t('Schedule')}
          hint={t('Cron expression of five fields in UTC; empty for none.')}
          placeholder="0 * * * *"
          value={schedule}
          onValue={setSchedule}
        />
        <ActionError error={create.error} />
        <div class="form-actions">
          <Button onClick={onClose}>{t('Cancel')}</Button>
          <Button type="submit" look="primary" isBusy={create.isRunning}>
            {t('Connect')}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
