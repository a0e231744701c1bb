import { refreshAll } from './lib/events.ts';
import { t } from './lib/i18n.ts';
import { acceptSession, type SessionReply, session } from './lib/session.ts';
import { useStore } from './lib/store.ts';
import { SignInForms } from './sign-in-forms.tsx';
import { Button, Notice } from './ui/controls.tsx';
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
      {reason === 'password_reset' && (
        <Notice tone="warn" title={t('The link is not valid any more')}>
          {t('A link for a new password works once, for a day. Ask an administrator for another one.')}
        </Notice>
      )}
      <SignInForms onSession={acceptSession} />
    </SignInCard>
  );
}

/** Sign-in over a page whose session has ended. The page below stays unchanged. */
export function SessionDialog() {
  const accept = (reply: SessionReply) => {
    acceptSession(reply);
    refreshAll();
  };
  const leave = () => session.set({ kind: 'signed_out', reason: null });
  return (
    <Dialog title={t('Your session has ended')}>
      <p class="quiet">{t('Sign in again to go on. What you have typed is kept.')}</p>
      <SignInForms onSession={accept} />
      <div>
        <Button look="quiet" small onClick={leave}>
          {t('Leave without signing in')}
        </Button>
      </div>
    </Dialog>
  );
}
