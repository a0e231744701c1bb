import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import type { CreatedWebhook } from '../../types.ts';
import { CopyButton } from '../../ui/code.tsx';
import { Button, Form, FormEnd, Notice, TextField } from '../../ui/controls.tsx';
import { Dialog, type DialogProps } from '../../ui/dialog.tsx';

/** Form of a new webhook, and then its secret. */
export function NewWebhookDialog({ onClose, onSaved }: DialogProps) {
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [events, setEvents] = useState('');
  const [created, setCreated] = useState<CreatedWebhook | null>(null);
  const create = useAction(async () => {
    const types = events.split(/[\s,]+/).filter(Boolean);
    const json = { name, url, ...(types.length === 0 ? {} : { events: types }) };
    setCreated(await call<CreatedWebhook>('/v1/webhooks', { method: 'POST', json }));
    onSaved();
  });
  if (created !== null) return <WebhookSecretDialog of={created} onClose={onClose} />;
  return (
    <Dialog title={t('New webhook')} onClose={onClose}>
      <Form onSubmit={() => create.run()}>
        <TextField label={t('Name')} value={name} onValue={setName} required />
        <TextField
          label={t('Address')}
          hint={t('Address to which events are posted.')}
          value={url}
          onValue={setUrl}
          required
        />
        <TextField
          label={t('Events')}
          hint={t('Types such as job.failed, with commas between them; empty: all.')}
          value={events}
          onValue={setEvents}
        />
        <FormEnd of={create} submit={t('Create')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}

/** Secret of a webhook, which is shown once. */
export function WebhookSecretDialog({ of: { name, secret }, onClose }: { of: CreatedWebhook; onClose: () => void }) {
  return (
    <Dialog title={t('The secret of {name}', { name })}>
      <Notice tone="warn" title={t('Copy the secret now')}>
        {t('It is shown only here and only once.')}
      </Notice>
      <div class="secret-once">
        <code>{secret}</code>
        <CopyButton text={secret} />
      </div>
      <div class="form-actions">
        <Button look="primary" onClick={onClose}>
          {t('I have stored it')}
        </Button>
      </div>
    </Dialog>
  );
}
