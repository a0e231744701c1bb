import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatTime } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useAction, useResource } from '../../lib/resource.ts';
import { linkTo, navigate, type PageProps } from '../../lib/router.ts';
import type { CreatedWebhook, WebhookView } from '../../types.ts';
import { ActionError, Button } from '../../ui/controls.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Facts, PageHeader, Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';
import { toast } from '../../ui/toast.tsx';
import { Deliveries } from './deliveries.tsx';
import { WebhookSecretDialog } from './new-webhook.tsx';
import { stateOf } from './webhooks.tsx';

/** Page `/console/webhooks/{id}`: one webhook with its deliveries. */
export default function WebhookPage({ parameters }: PageProps) {
  const id = parameters[0] ?? '';
  const webhook = useResource(`webhook/${id}`, (signal) => call<WebhookView>(pathOf('v1', 'webhooks', id), { signal }));
  return (
    <div class="page">
      <PageHeader
        title={webhook.data?.name ?? t('Webhook')}
        actions={webhook.data && <WebhookActions webhook={webhook.data} onChange={webhook.refresh} />}
      />
      <Loaded of={webhook}>
        {(loaded) => (
          <>
            <Panel padded>
              <Facts
                of={[
                  [t('State'), <Status key="state" of={stateOf(loaded)} />],
                  ...(loaded.disabled_reason === null ? [] : [[t('Reason'), loaded.disabled_reason] as const]),
                  [t('Address'), <code key="url">{loaded.url}</code>],
                  [t('Events'), loaded.events.join(', ')],
                  ...(loaded.next_try_at === null ? [] : [[t('Next try'), formatTime(loaded.next_try_at)] as const]),
                  [t('Id'), <code key="id">{loaded.id}</code>],
                ]}
              />
            </Panel>
            <Deliveries webhook={loaded} />
          </>
        )}
      </Loaded>
    </div>
  );
}

function WebhookActions({ webhook, onChange }: { webhook: WebhookView; onChange: () => void }) {
  const { id, name, enabled } = webhook;
  const path = pathOf('v1', 'webhooks', id);
  const [asked, setAsked] = useState<'secret' | 'delete' | null>(null);
  const [rotated, setRotated] = useState<CreatedWebhook | null>(null);
  const test = useAction(async () => {
    await call(`${path}/test`, { method: 'POST' });
    toast(t('A test event is on its way'));
    onChange();
  });
  const toggle = useAction(async () => {
    await call(path, { method: 'PATCH', json: { enabled: !enabled } });
    onChange();
  });
  return (
    <>
      {enabled && (
        <Button isBusy={test.isRunning} onClick={() => test.run()}>
          {t('Send a test event')}
        </Button>
      )}
      <Button isBusy={toggle.isRunning} onClick={() => toggle.run()}>
        {enabled ? t('Switch off') : t('Switch on')}
      </Button>
      <Button onClick={() => setAsked('secret')}>{t('New secret')}</Button>
      <Button look="danger" icon="trash" onClick={() => setAsked('delete')}>
        {t('Delete')}
      </Button>
      <ActionError error={test.error ?? toggle.error} />
      {asked === 'secret' && (
        <ConfirmDialog
          title={t('Make a new secret of {name}?', { name })}
          action={t('New secret')}
          onConfirm={async () => setRotated(await call(`${path}/secret`, { method: 'POST', json: {} }))}
          onClose={() => setAsked(null)}
        >
          <p>{t('For 24 hours, events are signed with the old secret, too.')}</p>
        </ConfirmDialog>
      )}
      {asked === 'delete' && (
        <ConfirmDialog
          title={t('Delete the webhook {name}?', { name })}
          action={t('Delete for good')}
          onConfirm={async () => {
            await call(path, { method: 'DELETE' });
            navigate(linkTo('webhooks'));
          }}
          onClose={() => setAsked(null)}
        >
          <p>{t('Events that wait are not sent.')}</p>
        </ConfirmDialog>
      )}
      {rotated && <WebhookSecretDialog of={rotated} onClose={() => setRotated(null)} />}
    </>
  );
}
