import { useState } from 'preact/hooks';
import { ApiError, call } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useBuckets } from '../../lib/lists.ts';
import { useAction, useOnceLoaded } from '../../lib/resource.ts';
import { linkTo, navigate } from '../../lib/router.ts';
import type { SourceView } from '../../types.ts';
import { ActionError, Button, Field, Form, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';

/** Form of a new source. The fields of `config` depend on the type of the connection. The service checks them. */
export function NewSourceDialog({ onClose, onSaved }: { onClose: () => void; onSaved: () => void }) {
  const buckets = useBuckets();
  const names = (buckets.data ?? []).map(({ name }) => name);
  const [name, setName] = useState('');
  const [connection, setConnection] = useState('');
  const [chosen, setBucket] = useState('');
  const [config, setConfig] = useState('{}');
  const [tags, setTags] = useState('');
  const [schedule, setSchedule] = useState('');
  const bucket = chosen || (names[0] ?? '');
  const create = useAction(async () => {
    const json = {
      name: name.trim(),
      connection: connection.trim(),
      bucket,
      config: parseConfig(config),
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
          <TextField
            label={t('Connection')}
            hint={t('A name of the setting sources in service.yaml.')}
            required
            maxLength={64}
            value={connection}
            onValue={setConnection}
          />
          <SelectField
            label={t('Bucket')}
            value={bucket}
            options={names.map((value) => ({ value, label: value }))}
            onValue={setBucket}
          />
        </div>
        <Field
          label={t('Configuration as JSON')}
          hint={t('Folder: path, include, exclude. Table: table, text, title and more.')}
        >
          {(control) => (
            <textarea
              class="input code-input"
              rows={4}
              spellcheck={false}
              {...control}
              value={config}
              onInput={(event) => setConfig(event.currentTarget.value)}
            />
          )}
        </Field>
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

function parseConfig(text: string): unknown {
  try {
    return JSON.parse(text === '' ? '{}' : text);
  } catch (error) {
    throw new ApiError(
      400,
      t('The configuration is no JSON: {fault}', { fault: error instanceof Error ? error.message : '' }),
    );
  }
}
