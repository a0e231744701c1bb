import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import type { User } from '../../types.ts';
import { CopyButton } from '../../ui/code.tsx';
import { ActionError, Button, Notice } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';

/** Dialog that creates the link by which a person first signs in, or sets a new password. */
export function InvitationDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const isReset = user.has_account;
  const [url, setUrl] = useState<string | null>(null);
  const invite = useAction(async () => {
    const path = pathOf('v1', 'users', user.id, isReset ? 'password-reset' : 'invitation');
    setUrl((await call<{ readonly url: string }>(path, { method: 'POST' })).url);
  });
  return (
    <Dialog
      title={
        isReset ? t('Reset the password of {name}', { name: user.email }) : t('Invite {name}', { name: user.email })
      }
      onClose={onClose}
    >
      <p>
        {isReset
          ? t('The person chooses a new password by a link. Until then nothing changes.')
          : t('The person opens a link, and chooses a password or signs in with the identity provider.')}
      </p>
      {url !== null && (
        <>
          <Notice tone="warn" title={t('Copy the link now')}>
            {isReset
              ? t('It works once, for a day. Send it to this person only.')
              : t('It works once, for 7 days. Send it to this person only.')}
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
