import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useBuckets } from '../../lib/lists.ts';
import { useAction, useOnceLoaded } from '../../lib/resource.ts';
import type { CreatedChannel } from '../../types.ts';
import { CopyButton } from '../../ui/code.tsx';
import { Button, Check, Form, FormEnd, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog, type DialogProps } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { isSender, NO_SENDER_VALUES, SenderFields, senderConfig } from './sender-fields.tsx';

/** Platforms, with the names of their credentials and the steps to take there. */
const PLATFORMS = {
  messenger: { label: 'Messenger with signed deliveries', secret: 'Secret of the webhook', token: null, steps: [] },
  // The service generates the secret of a skill.
  kakao: {
    label: 'KakaoTalk chatbot',
    secret: null,
    token: null,
    steps: [
      'Chatbot admin center → Skill → Create: enter the address as the URL.',
      'Choose the skill in a block, and use the skill data as its response.',
      'For long answers, apply for callbacks under Settings → AI chatbot, and switch them on in the block.',
      'Deploy the chatbot.',
    ],
  },
  telegram: {
    label: 'Telegram bot',
    secret: 'Secret token of setWebhook',
    token: null,
    steps: ['Call setWebhook of the Bot API with the address as url and the secret as secret_token.'],
  },
  teams: {
    label: 'Microsoft Teams outgoing webhook',
    secret: 'Security token of Teams',
    token: null,
    steps: ['Manage team → Apps → Create an outgoing webhook: enter the address as the callback URL.'],
  },
  slack: {
    label: 'Slack app',
    secret: 'Signing secret of the app',
    token: { field: 'bot_token', label: 'Bot user OAuth token' },
    steps: [
      'OAuth & Permissions: add the scopes app_mentions:read, im:history and chat:write, and install the app.',
      'Event Subscriptions: enter the address, and subscribe to app_mention and message.im.',
      'App Home: allow messages. In channels, invite the app and mention it.',
    ],
  },
  line: {
    label: 'LINE channel',
    secret: 'Channel secret',
    token: { field: 'access_token', label: 'Channel access token' },
    steps: [
      'Messaging API tab: enter the address as the Webhook URL, and switch on Use webhook and Webhook redelivery.',
      'LINE Official Account Manager → Response settings: switch off auto-response messages.',
    ],
  },
  // Channels for Alimtalk have their own fields.
  sens: { label: 'Alimtalk by NAVER Cloud SENS', secret: null, token: null, steps: [] },
  solapi: { label: 'Alimtalk by Solapi', secret: null, token: null, steps: [] },
  nhn: { label: 'Alimtalk by NHN Cloud', secret: null, token: null, steps: [] },
} as const;
type Provider = keyof typeof PLATFORMS;

/** Form of a channel. If the platform needs an address, show it after creating the channel. */
export function NewChannelDialog({ onClose, onSaved }: DialogProps) {
  const buckets = useBuckets();
  const names = (buckets.data ?? []).map(({ name }) => name);
  const [name, setName] = useState('');
  const [provider, setProvider] = useState<Provider>('messenger');
  const [chosen, setBucket] = useState('');
  const [messenger, setMessenger] = useState({ bot_id: '', channel_id: '', rest_api_key: '' });
  const [secret, setSecret] = useState('');
  const [token, setToken] = useState('');
  const [isPublicOnly, setIsPublicOnly] = useState(false);
  const [sender, setSender] = useState(NO_SENDER_VALUES);
  const [path, setPath] = useState<string | null>(null);
  const platform = PLATFORMS[provider];
  const create = useAction(async () => {
    const answered = {
      collection: chosen || names[0],
      public_only: isPublicOnly,
      ...(provider === 'messenger' ? messenger : {}),
      ...(platform.secret === null ? {} : { secret }),
      ...(platform.token === null ? {} : { [platform.token.field]: token.trim() }),
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
  if (path !== null) return <AddressDialog path={path} provider={provider} onClose={onClose} />;
  return (
    <Dialog title={t('New channel')} onClose={onClose}>
      <Form onSubmit={submit}>
        <TextField label={t('Name')} required maxLength={100} value={name} onValue={setName} />
        <div class="form-grid">
          <SelectField
            label={t('Messenger')}
            value={provider}
            options={Object.entries(PLATFORMS).map(([value, { label }]) => ({ value, label: t(label) }))}
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
        {platform.secret !== null && <Credential label={platform.secret} value={secret} onValue={setSecret} />}
        {platform.token !== null && <Credential label={platform.token.label} value={token} onValue={setToken} />}
        {!isSender(provider) && (
          <Check label={t('Answer from public documents only')} isOn={isPublicOnly} onToggle={setIsPublicOnly} />
        )}
        <FormEnd of={create} submit={t('Create')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}

type CredentialName = Exclude<
  (typeof PLATFORMS)[Provider]['secret'] | 'Bot user OAuth token' | 'Channel access token',
  null
>;

function Credential({
  label,
  value,
  onValue,
}: {
  label: CredentialName;
  value: string;
  onValue: (value: string) => void;
}) {
  return (
    <TextField
      label={t(label)}
      hint={t('It is stored encrypted and never shown again.')}
      type="password"
      autocomplete="off"
      required
      value={value}
      onValue={onValue}
    />
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

/** Address to register at the platform of a new channel, and the steps there. */
function AddressDialog({ path, provider, onClose }: { path: string; provider: Provider; onClose: () => void }) {
  const address = `${location.origin}${path}`;
  return (
    <Dialog title={t('Register this address at the platform')} onClose={onClose}>
      <p>{t('It may hold a secret, so it is shown only once. The platform must reach it by https.')}</p>
      <div class="secret-once">
        <code>{address}</code>
        <CopyButton text={address} />
      </div>
      <ol class="steps">
        {PLATFORMS[provider].steps.map((step) => (
          <li key={step}>{t(step)}</li>
        ))}
      </ol>
      <p>{t('Then try the channel with a question, and see what arrives under Deliveries.')}</p>
      <div class="form-actions">
        <Button look="primary" onClick={onClose}>
          {t('I have registered it')}
        </Button>
      </div>
    </Dialog>
  );
}
