import { useState } from 'preact/hooks';
import { callOnce } from './lib/api.ts';
import { t } from './lib/i18n.ts';
import { canUsePasskeys, signInByPasskey } from './lib/passkeys.ts';
import { useAction, useResource } from './lib/resource.ts';
import type { SessionReply } from './lib/session.ts';
import { ActionError, Button, Check, Form, TextField } from './ui/controls.tsx';

interface FormProps {
  readonly onSession: (reply: SessionReply) => void;
}

/** Ways to sign in: by password or passkey if there are accounts, at the identity provider, or with a key. */
export function SignInForms({ onSession }: FormProps) {
  const methods = useResource('sign-in methods', () =>
    callOnce<{ readonly methods: readonly string[] }>('/v1/sessions/methods'),
  );
  const [byKey, setByKey] = useState(false);
  const has = (method: string) => methods.data?.methods.includes(method) === true;
  return (
    <>
      {has('password') && !byKey ? (
        <>
          <PasswordForm onSession={onSession} />
          {has('passkey') && canUsePasskeys() && <PasskeyButton onSession={onSession} />}
        </>
      ) : (
        <CredentialForm onSession={onSession} />
      )}
      {has('oidc') && (
        <a class="button" href="/v1/sessions/oidc">
          {t('Sign in with the identity provider')}
        </a>
      )}
      {has('password') && (
        <div>
          <Button look="quiet" small onClick={() => setByKey(!byKey)}>
            {byKey ? t('Use an email address and a password') : t('Use an API key or a user token')}
          </Button>
        </div>
      )}
    </>
  );
}

function PasswordForm({ onSession }: FormProps) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const signIn = useAction(async () => {
    onSession(await callOnce<SessionReply>('/v1/sessions', { method: 'POST', json: { email, password } }));
  });
  const isRefused = signIn.error?.status === 401;
  return (
    <Form onSubmit={() => signIn.run()} aria-label={t('Sign in')}>
      <TextField
        label={t('E-mail address')}
        type="email"
        autocomplete="username"
        required
        maxLength={254}
        value={email}
        onValue={setEmail}
      />
      <TextField
        label={t('Password')}
        type="password"
        autocomplete="current-password"
        required
        maxLength={200}
        value={password}
        onValue={setPassword}
        fault={
          isRefused ? t('The address or the password is not right. An administrator can reset the password.') : null
        }
      />
      {!isRefused && <ActionError error={signIn.error} />}
      <Button type="submit" look="primary" isBusy={signIn.isRunning}>
        {signIn.isRunning ? t('Signing in…') : t('Sign in')}
      </Button>
    </Form>
  );
}

function PasskeyButton({ onSession }: FormProps) {
  const signIn = useAction(async () => {
    const reply = await signInByPasskey();
    if (reply !== null) onSession(reply);
  });
  return (
    <div class="stack tight">
      <Button isBusy={signIn.isRunning} onClick={() => signIn.run()}>
        {t('Sign in with a passkey')}
      </Button>
      <ActionError error={signIn.error} />
    </div>
  );
}

function CredentialForm({ onSession }: FormProps) {
  const [credential, setCredential] = useState('');
  const [isShown, setIsShown] = useState(false);
  const signIn = useAction(async () => {
    onSession(
      await callOnce<SessionReply>('/v1/sessions', { method: 'POST', json: { credential: credential.trim() } }),
    );
  });
  const submit = () => {
    if (credential.trim() !== '') signIn.run();
  };
  const isRefused = signIn.error?.status === 401;
  return (
    <Form onSubmit={submit} aria-label={t('Sign in')}>
      <TextField
        label={t('API key or user token')}
        type={isShown ? 'text' : 'password'}
        autocomplete="current-password"
        autocapitalize="none"
        spellcheck={false}
        required
        value={credential}
        onValue={setCredential}
        fault={isRefused ? t('This key is not known, or it has expired or was revoked. Check it and try again.') : null}
      />
      <Check label={t('Show the key')} isOn={isShown} onToggle={setIsShown} />
      {!isRefused && <ActionError error={signIn.error} />}
      <Button type="submit" look="primary" isBusy={signIn.isRunning}>
        {signIn.isRunning ? t('Signing in…') : t('Sign in')}
      </Button>
      <p class="faint">
        {t('An operator makes a key with this command:')} <code>service keys create --name browser</code>
      </p>
    </Form>
  );
}
