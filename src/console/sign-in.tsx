import { useState } from 'preact/hooks';
import { callOnce } from './lib/api.ts';
import { refreshAll } from './lib/events.ts';
import { t } from './lib/i18n.ts';
import { useAction, useResource } from './lib/resource.ts';
import { acceptSession, type SessionReply, session } from './lib/session.ts';
import { useStore } from './lib/store.ts';
import { ActionError, Button, Check, Form, Notice, TextField } from './ui/controls.tsx';
import { Dialog } from './ui/dialog.tsx';
import { SignInCard } from './ui/sign-in-card.tsx';

/** Page for people without a session. */
export function SignIn() {
  const state = useStore(session);
  const reason = state.kind === 'signed_out' ? state.reason : null;
  return (
    <SignInCard>
      <div class="stack tight">
        <h1>{t('Sign in')}</h1>
        <p class="quiet">{t('Use an API key or a user token of this installation.')}</p>
      </div>
      {reason === 'link' && (
        <Notice tone="warn" title={t('The sign-in link is not valid any more')}>
          <span>
            {t('A link works once and for a short time. Sign in with a key, or make a new link with this command:')}{' '}
            <code>service console link</code>
          </span>
        </Notice>
      )}
      {reason === 'oidc' && (
        <Notice tone="warn" title={t('The identity provider did not sign you in')}>
          {t('Try again, or ask an administrator whether your account is known here.')}
        </Notice>
      )}
      {reason === 'unreachable' && (
        <Notice tone="warn" title={t('The service cannot be reached')}>
          {t('Check that the service is running; then try again.')}
        </Notice>
      )}
      <CredentialForm onSession={acceptSession} />
      <OidcLink />
      <p class="faint">
        {t('An operator makes a key with this command:')} <code>service keys create --name browser</code>
      </p>
    </SignInCard>
  );
}

/** Sign-in at the identity provider, if the operator has configured one. */
function OidcLink() {
  const methods = useResource('sign-in methods', () =>
    callOnce<{ readonly methods: readonly string[] }>('/v1/sessions/methods'),
  );
  if (methods.data?.methods.includes('oidc') !== true) return null;
  return (
    <a class="button" href="/v1/sessions/oidc">
      {t('Sign in with the identity provider')}
    </a>
  );
}

/** Sign-in over a page whose session has ended. The page below stays as it is. */
export function SessionDialog() {
  const accept = (reply: SessionReply) => {
    acceptSession(reply);
    refreshAll();
  };
  const leave = () => session.set({ kind: 'signed_out', reason: null });
  return (
    <Dialog title={t('Your session has ended')}>
      <p class="quiet">{t('Sign in again to go on. What you have typed is kept.')}</p>
      <CredentialForm onSession={accept} />
      <div>
        <Button look="quiet" small onClick={leave}>
          {t('Leave without signing in')}
        </Button>
      </div>
    </Dialog>
  );
}

function CredentialForm({ onSession }: { onSession: (reply: SessionReply) => void }) {
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
    </Form>
  );
}
