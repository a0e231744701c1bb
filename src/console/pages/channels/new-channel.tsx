import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useBuckets } from '../../lib/lists.ts';
import { useAction, useOnceLoaded } from '../../lib/resource.ts';
import { ActionError, Button, Check, Form, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';

/** Form of a messenger channel. */
export function NewChannelDialog({ onClose, onSaved }: { onClose: () => void; onSaved: () => void }) {
  const buckets = useBuckets();
  const names = (buckets.data ?? []).map(({ name }) => name);
  const [name, setName] = useState('');
  const [chosen, setBucket] = useState('');
  const [botId, setBotId] = useState('');
  const [channelId, setChannelId] = useState('');
  const [apiKey, setApiKey] = useState('');
  const [secret, setSecret] = useState('');
  const [isPublicOnly, setIsPublicOnly] = useState(false);
  const create = useAction(async () => {
    const config = {
      rest_api_key: apiKey,
      channel_id: channelId.trim(),
      bot_id: botId.trim(),
      secret,
      collection: chosen || names[0],
      public_only: isPublicOnly,
    };
    await call('/v1/channels/configs', { method: 'POST', json: { name: name.trim(), provider: 'messenger', config } });
    toast(t('Saved'));
    onSaved();
    onClose();
  });
  const submit = useOnceLoaded(buckets, () => create.run());
  const hidden = { type: 'password', autocomplete: 'off', required: true } as const;
  return (
    <Dialog title={t('New channel')} onClose={onClose}>
      <Form onSubmit={submit}>
        <TextField label={t('Name')} required maxLength={100} value={name} onValue={setName} />
        <div class="form-grid">
          <SelectField
            label={t('Answered from')}
            value={chosen || (names[0] ?? '')}
            options={names.map((value) => ({ value, label: value }))}
            onValue={setBucket}
          />
          <TextField label={t('Id of the bot')} required value={botId} onValue={setBotId} />
          <TextField label={t('Id of the channel')} required value={channelId} onValue={setChannelId} />
        </div>
        <TextField label={t('API key of the provider')} {...hidden} value={apiKey} onValue={setApiKey} />
        <TextField
          label={t('Secret of the webhook')}
          hint={t('It is stored encrypted and never shown again.')}
          {...hidden}
          value={secret}
          onValue={setSecret}
        />
        <Check label={t('Answer from public documents only')} isOn={isPublicOnly} onToggle={setIsPublicOnly} />
        <ActionError error={create.error} />
        <div class="form-actions">
          <Button onClick={onClose}>{t('Cancel')}</Button>
          <Button type="submit" look="primary" isBusy={create.isRunning}>
            {t('Create')}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
