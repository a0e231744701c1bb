import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import type { ChannelView, DryRun, SendReply } from '../../types.ts';
import { ActionError, Button, Check, Form, Notice, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { type Pair, PairRows, pairOf } from '../../ui/pair-rows.tsx';
import { toast } from '../../ui/toast.tsx';
import { isSender } from './sender-fields.tsx';

/** Return true for a configuration that can send notifications. */
export function sends({ provider }: ChannelView): boolean {
  return provider === 'messenger' || isSender(provider);
}

/** Form that checks a notification without sending it, and then sends it. */
export function SendDialog({
  configs,
  onClose,
  onSent,
}: {
  configs: readonly ChannelView[];
  onClose: () => void;
  onSent: () => void;
}) {
  const [chosen, setChosen] = useState(configs[0]?.id ?? '');
  const [phone, setPhone] = useState('');
  const [template, setTemplate] = useState('');
  const [pairs, setPairs] = useState<readonly Pair[]>([pairOf()]);
  const [resend, setResend] = useState<boolean | null>(null);
  const [checked, setChecked] = useState<DryRun['result'] | null>(null);
  const channel = configs.find(({ id }) => id === chosen);
  const isAlimtalk = channel !== undefined && isSender(channel.provider);
  const resends = resend ?? channel?.config['resend'] === true;
  const post = (dryRun: boolean) => {
    const named = pairs.filter(({ key }) => key.trim() !== '');
    const json = {
      channel_config_id: chosen,
      phone: phone.replace(/[\s-]/g, ''),
      template_code: template.trim(),
      template_args: Object.fromEntries(named.map(({ key, value }) => [key.trim(), value])),
      ...(isAlimtalk ? { resend: resends } : {}),
      dry_run: dryRun,
    };
    return call<SendReply>('/v1/channels/messenger/send', { method: 'POST', json });
  };
  const check = useAction(async () => {
    setChecked(null);
    const reply = await post(true);
    if (reply.status === 'dry_run') setChecked(reply.result);
  });
  const send = useAction(async () => {
    try {
      await post(false);
      toast(t('The notification was sent'));
      onClose();
    } finally {
      // The outbox may keep a refused notification. Require another check before sending again.
      setChecked(null);
      onSent();
    }
  });
  return (
    <Dialog title={t('Send a notification')} onClose={onClose}>
      <Form onSubmit={() => check.run()}>
        <SelectField
          label={t('Channel')}
          value={chosen}
          options={configs.map(({ id, name }) => ({ value: id, label: name }))}
          onValue={setChosen}
        />
        <div class="form-grid">
          <TextField label={t('Telephone number')} required value={phone} onValue={setPhone} />
          <TextField label={t('Code of the template')} required value={template} onValue={setTemplate} />
        </div>
        <p class="hint">{t('Variables of the template')}</p>
        <PairRows pairs={pairs} onPairs={setPairs} />
        {isAlimtalk && (
          <Check label={t('Send a text message if KakaoTalk does not deliver')} isOn={resends} onToggle={setResend} />
        )}
        {checked && (
          <Notice tone="info">
            <strong>{t('Nothing was sent. The notification is valid.')}</strong>
            {checked.text !== null && <p class="result-text whole">{checked.text}</p>}
          </Notice>
        )}
        <ActionError error={send.error ?? check.error} />
        <div class="form-actions">
          <Button type="submit" isBusy={check.isRunning}>
            {t('Check without sending')}
          </Button>
          <Button look="primary" isBusy={send.isRunning} disabled={checked === null} onClick={() => send.run()}>
            {t('Send')}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
