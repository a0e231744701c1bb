import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { acceptSession, type SessionReply } from '../../lib/session.ts';
import { NewPasswordForm } from '../../new-password-form.tsx';
import { TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';

/** Dialog that changes the signed-in user's password. */
export function PasswordDialog({ onClose }: { onClose: () => void }) {
  const [current, setCurrent] = useState('');
  const save = async (password: string) => {
    const json = { current_password: current, new_password: password };
    acceptSession(await call<SessionReply>('/v1/me/account/password', { method: 'PUT', json }));
    toast(t('The password was changed. Your other browsers are signed out.'));
    onClose();
  };
  return (
    <Dialog title={t('Change the password')} onClose={onClose}>
      <NewPasswordForm action={t('Save')} onSubmit={save}>
        <TextField
          label={t('Current password')}
          type="password"
          autocomplete="current-password"
          required
          maxLength={200}
          value={current}
          onValue={setCurrent}
        />
      </NewPasswordForm>
    </Dialog>
  );
}
