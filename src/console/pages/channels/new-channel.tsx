import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useBuckets } from '../../lib/lists.ts';
import { useAction, useOnceLoaded } from '../../lib/resource.ts';
import type { CreatedChannel } from '../../types.ts';
import { CopyButton } from '../../ui/code.tsx';
import { ActionError, Button, Check, Form, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { isSender, NO_SENDER_VALUES, SenderFields, senderConfig } from './sender-fields.tsx';

const PROVIDERS = [
  { value: 'messenger', label: 'Messenger with signed deliveries' },
  { value: 'kakao', label: 'KakaoTalk chatbot' },
  { value: 'telegram', label: 'Telegram bot' },
  { value: 'teams', label: 'Microsoft Teams outgoing webhook' },
  { value: 'sens', label: 'Alimtalk by NAVER Cloud SENS' },
  { value: 'solapi', label: 'Alimtalk by Solapi' },
  { value: 'nhn', label: 'Alimtalk by NHN Cloud' },
] as const;
type Provider = (typeof PROVIDERS)[number]['value'];

/** Name of the secret of a provider; undefined if the service makes it. */
const SECRETS = {
  messenger: 'Secret of the webhook',
  kakao: undefined,
  telegram: 'Secret token of setWebhook',
  teams: 'Security token of Teams',
  sens: undefined,
  solapi: undefined,
  nhn: undefined,
} as const;

/** Form of a channel. A platform that has to know an address gets it after the channel is made. */
export function NewChannelDialog({ onClose, onSaved }: { onClose: () => void; onSaved: () => void }) {
  const buckets = useBuckets();
  const names = (buckets.data ?? []).map(({ name }) => name);
  const [name, setName] = useState('');
  const [provider, setProvider] = useState<Provider>('messenger');
  const [chosen, setBucket] = useState('');
  const [messenger, setMessenger] = useState({ bot_id: '', channel_id: '', rest_api_key: '' });
  const [secret, setSecret] = useState('');
  const [isPublicOnly, setIsPublicOnly] = useState(false);
  const [sender, setSender] = useState(NO_SENDER_VALUES);
  const [path, setPath] = useState<string | null>(null);
  const secretLabel = SECRETS[provider];
  const create = useAction(async () => {
    const answered = {
      collection: chosen || names[0],
      public_only: isPublicOnly,
      ...(provider === 'messenger' ? messenger : {}),
      ...(secretLabel === undefined ? {} : { secret }),
    };
    const config = isSender(provider) ? senderConfig(provider, sender) : answered;
    const json = { name: name.trim(), provider, config };
    const made = await call<CreatedChannel>('/v1/channels/configs', { method: 'POST', json });
    toast(t('Saved'));
    onSaved();
    if (made.webhook_path === undefined) onClose();
    else setPath(made.webhook_path);
  });
  const submit = useOnceLoaded(buckets, () => create.run());
  if (path !== null) return <AddressDialog path={path} onClose={onClose} />;
  return (
    <Dialog title={t('New channel')} onClose={onClose}>
      <Form onSubmit={submit}>
        <TextField label={t('Name')} required maxLength={100} value={name} onValue={setName} />
        <div class="form-grid">
          <SelectField
            label={t('Messenger')}
            value={provider}
            options={PROVIDERS.map(({ value, label }) => ({ value, label: t(label) }))}
            onValue={(value) => setProvider(value as Provider)}
          />
          {!isSender(provider) && (
            <SelectField
              label={t('Answered from')}
              value={chosen || (names[0] ?? '')}
              options={names.map((value) => ({ value, label: value }))}
              onValue={setBucket}
            />
          )}
        </div>
        {isSender(provider) && <SenderFields provider={provider} values={sender} onValues={setSender} />}
        {provider === 'messenger' && <MessengerFields values={messenger} onValues={setMessenger} />}
        {secretLabel !== undefined && (
          <TextField
            label={t(secretLabel)}
            hint={t('It is stored encrypted and never shown again.')}
            type="password"
            autocomplete="off"
            required
            value={secret}
            onValue={setSecret}
          />
        )}
        {!isSender(provider) && (
          <Check label={t('Answer from public documents only')} isOn={isPublicOnly} onToggle={setIsPublicOnly} />
        )}
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

interface MessengerValues {
  readonly bot_id: string;
  readonly channel_id: string;
  readonly rest_api_key: string;
}

function MessengerFields({
  values,
  onValues,
}: {
  values: MessengerValues;
  onValues: (values: MessengerValues) => void;
}) {
  const field = (name: keyof MessengerValues) => ({
    required: true,
    value: values[name],
    onValue: (value: string) => onValues({ ...values, [name]: value.trim() }),
  });
  return (
    <>
      <div class="form-grid">
        <TextField label={t('Id of the bot')} {...field('bot_id')} />
        <TextField label={t('Id of the channel')} {...field('channel_id')} />
      </div>
      <TextField label={t('API key of the provider')} type="password" autocomplete="off" {...field('rest_api_key')} />
    </>
  );
}

/** Address to register at the platform of a new channel. */
function AddressDialog({ path, onClose }: { path: string; onClose: () => void }) {
  const address = `${location.origin}${path}`;
  return (
    <Dialog title={t('Register this address at the platform')} onClose={onClose}>
      <p>{t('It may hold a secret, so it is shown only once. The platform must reach it by https.')}</p>
      <div class="secret-once">
        <code>{address}</code>
        <CopyButton text={address} />
      </div>
      <div class="form-actions">
        <Button look="primary" onClick={onClose}>
          {t('I have registered it')}
        </Button>
      </div>
    </Dialog>
  );
}
