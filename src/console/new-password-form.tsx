import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { t } from './lib/i18n.ts';
import { useAction } from './lib/resource.ts';
import { ActionError, Button, Check, Form, TextField } from './ui/controls.tsx';

const CHARS_MIN = 10;
const CHARS_MAX = 200;

/**
 * Form for a new password.
 * @param onSubmit its ApiError is shown; a fault of the password is shown next to the field
 */
export function NewPasswordForm({
  email,
  action,
  children,
  onSubmit,
}: {
  /** Email address for the browser's password manager. */
  email?: string;
  action: string;
  /** Fields to show before the new password. */
  children?: ComponentChildren;
  onSubmit: (password: string) => Promise<void>;
}) {
  const [password, setPassword] = useState('');
  const [isShown, setIsShown] = useState(false);
  const save = useAction(() => onSubmit(password));
  const isWeak = save.error?.status === 400 && save.error.message.startsWith('password:');
  return (
    <Form onSubmit={() => save.run()} aria-label={action}>
      {email !== undefined && <input type="hidden" name="username" autocomplete="username" value={email} />}
      {children}
      <TextField
        label={t('New password')}
        hint={t('At least {count} characters.', { count: CHARS_MIN })}
        type={isShown ? 'text' : 'password'}
        autocomplete="new-password"
        required
        minLength={CHARS_MIN}
        maxLength={CHARS_MAX}
        value={password}
        onValue={setPassword}
        fault={isWeak ? t('Choose more different characters, and not your email address.') : null}
      />
      <Check label={t('Show the password')} isOn={isShown} onToggle={setIsShown} />
      {!isWeak && <ActionError error={save.error} />}
      <Button type="submit" look="primary" isBusy={save.isRunning}>
        {action}
      </Button>
    </Form>
  );
}
