import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import type { User } from '../../types.ts';
import { CopyButton } from '../../ui/code.tsx';
import { ActionError, Button, Notice } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';

/** Dialog that makes the link by which a person connects an account at the identity provider. */
export function InvitationDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const [url, setUrl] = useState<string | null>(null);
  const invite = useAction(async () => {
    const path = pathOf('v1', 'users', user.id, 'invitation');
    setUrl((await call<{ readonly url: string }>(path, { method: 'POST' })).url);
  });
  return (
    <Dialog title={t('Invite {name}', { name: user.email })} onClose={onClose}>
      <p>{t('The person signs in with the identity provider, and accepts the invitation.')}</p>
      {url !== null && (
        <>
          <Notice tone="warn" title={t('Copy the link now')}>
            {t('It works once, for 7 days, and replaces earlier ones.')}
          </Notice>
          <div class="secret-once">
            <code>{url}</code>
            <CopyButton text={url} />
          </div>
        </>
      )}
      <ActionError error={invite.error} />
      <div class="form-actions">
        <Button onClick={onClose}>{url === null ? t('Cancel') : t('I have stored it')}</Button>
        {url === null && (
          <Button look="primary" isBusy={invite.isRunning} onClick={() => invite.run()}>
            {t('Make a link')}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
