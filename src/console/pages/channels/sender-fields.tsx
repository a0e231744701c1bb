import { t } from '../../lib/i18n.ts';
import { Check, TextField } from '../../ui/controls.tsx';

/** Fields of the Alimtalk vendors, and where to find their values. */
const SENDER_FORMS = {
  sens: {
    where: 'NAVER Cloud console: My Account, then Simple & Easy Notification Service, Biz Message.',
    fields: [
      { name: 'access_key', label: 'Access key', isSecret: true },
      { name: 'secret_key', label: 'Secret key', isSecret: true },
      { name: 'service_id', label: 'Id of the service, such as ncp:kkobizmsg:kr:…', isSecret: false },
      { name: 'channel_id', label: 'KakaoTalk channel, such as @shop', isSecret: false },
    ],
  },
  solapi: {
    where: 'Solapi console: API keys, then KakaoTalk, Channels.',
    fields: [
      { name: 'api_key', label: 'API key', isSecret: true },
      { name: 'api_secret', label: 'API secret', isSecret: true },
      { name: 'channel_id', label: 'Id of the KakaoTalk channel (pfId)', isSecret: false },
    ],
  },
  nhn: {
    where: 'NHN Cloud console: KakaoTalk Bizmessage, URL & Appkey, then Sender profiles.',
    fields: [
      { name: 'app_key', label: 'App key', isSecret: true },
      { name: 'secret_key', label: 'Secret key', isSecret: true },
      { name: 'sender_key', label: 'Sender key', isSecret: true },
    ],
  },
} as const;

export type SenderProvider = keyof typeof SENDER_FORMS;

/** Return true for a provider that sends notifications as Alimtalk. */
export function isSender(provider: string): provider is SenderProvider {
  return Object.hasOwn(SENDER_FORMS, provider);
}

/** Form values by field name. `resend` isn't a string. */
export interface SenderValues {
  readonly texts: Readonly<Record<string, string>>;
  readonly resend: boolean;
}

export const NO_SENDER_VALUES: SenderValues = { texts: {}, resend: false };

/** Return the `config` of a new channel. Omit fields of other vendors. */
export function senderConfig(provider: SenderProvider, { texts, resend }: SenderValues): Record<string, unknown> {
  const given = SENDER_FORMS[provider].fields.map(({ name }) => [name, texts[name]?.trim() ?? ''] as const);
  const from = texts['sms_from']?.replace(/[\s-]/g, '') ?? '';
  return { ...Object.fromEntries(given), resend, ...(from === '' ? {} : { sms_from: from }) };
}

/** Fields of an Alimtalk vendor, with the place in the vendor's console that shows their values. */
export function SenderFields({
  provider,
  values,
  onValues,
}: {
  provider: SenderProvider;
  values: SenderValues;
  onValues: (values: SenderValues) => void;
}) {
  const { where, fields } = SENDER_FORMS[provider];
  const field = (name: string) => ({
    value: values.texts[name] ?? '',
    onValue: (value: string) => onValues({ ...values, texts: { ...values.texts, [name]: value } }),
  });
  return (
    <>
      <p class="hint">{t(where)}</p>
      {fields.map(({ name, label, isSecret }) => (
        <TextField
          key={name}
          label={t(label)}
          {...(isSecret ? { type: 'password', autocomplete: 'off' } : {})}
          required
          {...field(name)}
        />
      ))}
      <Check
        label={t('Send a text message if KakaoTalk does not deliver')}
        isOn={values.resend}
        onToggle={(resend) => onValues({ ...values, resend })}
      />
      <TextField
        label={t('Number of the sender of text messages')}
        hint={t('It must be registered at the vendor.')}
        required={values.resend}
        {...field('sms_from')}
      />
    </>
  );
}
