import { useState } from 'preact/hooks';
import { callOnce } from './lib/api.ts';
import { t } from './lib/i18n.ts';
import { useAction, useResource } from './lib/resource.ts';
import { type ActiveSession, acceptSession, type SessionReply, session } from './lib/session.ts';
import { NewPasswordForm } from './new-password-form.tsx';
import { SignInForms } from './sign-in-forms.tsx';
import { ActionError, Button } from './ui/controls.tsx';
import { SignInCard } from './ui/sign-in-card.tsx';
import { Loaded } from './ui/states.tsx';

interface InvitationView {
  readonly organization: string;
  readonly email: string;
  readonly invited_by: string;
}

const OIDC_PATH = '/v1/sessions/oidc/invitation';

/**
 * Page for a person who follows an invitation. The person chooses a password, joins with this browser's account, or
 * signs in at the identity provider and comes back to accept.
 * @param token token of the link; null for a person who comes back from the identity provider
 * @param active session of this browser, if there is one
 */
export function InvitationPage({ token, active }: { token: string | null; active: ActiveSession | null }) {
  return <SignInCard>{token === null ? <Acceptance /> : <Invited token={token} active={active} />}</SignInCard>;
}

function Invited({ token, active }: { token: string; active: ActiveSession | null }) {
  const invitation = useResource('invitation', () =>
    callOnce<InvitationView>('/v1/sessions/invitation/view', { method: 'POST', json: { invitation: token } }),
  );
  const [hasAccount, setHasAccount] = useState(active?.me.kind === 'user');
  return (
    <Loaded of={invitation}>
      {({ organization, email, invited_by }) => (
        <>
          <div class="stack tight">
            <h1>{t('Join {organization}?', { organization })}</h1>
            <p class="quiet">{t('{name} invites {email}.', { name: invited_by, email })}</p>
          </div>
          {hasAccount ? <JoinForm token={token} active={active} /> : <NewAccountForm token={token} email={email} />}
          <div>
            <Button look="quiet" small onClick={() => setHasAccount(!hasAccount)}>
              {hasAccount ? t('Choose a password instead') : t('I already have an account here')}
            </Button>
          </div>
        </>
      )}
    </Loaded>
  );
}

function NewAccountForm({ token, email }: { token: string; email: string }) {
  const methods = useResource('sign-in methods', () =>
    callOnce<{ readonly methods: readonly string[] }>('/v1/sessions/methods'),
  );
  const accept = async (password: string) => {
    const json = { invitation: token, password };
    acceptSession(await callOnce<SessionReply>('/v1/sessions/invitation', { method: 'POST', json }));
  };
  return (
    <>
      <NewPasswordForm email={email} action={t('Join')} onSubmit={accept} />
      {methods.data?.methods.includes('oidc') === true && (
        <a class="button" href={`/v1/sessions/oidc?invitation=${encodeURIComponent(token)}`}>
          {t('Sign in with the identity provider')}
        </a>
      )}
    </>
  );
}

/** Form to join with this browser's account, after sign-in if needed. */
function JoinForm({ token, active }: { token: string; active: ActiveSession | null }) {
  const join = useAction(async () => {
    const json = { invitation: token };
    acceptSession(await callOnce<SessionReply>('/v1/me/account/invitation', { method: 'POST', json }));
  });
  const keep = ({ me, csrf_token }: SessionReply) =>
    session.set({ kind: 'invited', token, active: { me, csrfToken: csrf_token } });
  if (active?.me.user === undefined) return <SignInForms onSession={keep} />;
  return (
    <div class="stack">
      <p>{t('You are signed in as {email}.', { email: active.me.user.email })}</p>
      <ActionError error={join.error} />
      <Button look="primary" isBusy={join.isRunning} onClick={() => join.run()}>
        {t('Join')}
      </Button>
    </div>
  );
}

/** Last step after coming back from the identity provider. */
function Acceptance() {
  const invitation = useResource('invitation', () => callOnce<InvitationView>(OIDC_PATH));
  const accept = useAction(async () => {
    acceptSession(await callOnce<SessionReply>(OIDC_PATH, { method: 'POST', json: { accept: true } }));
  });
  const leave = () => session.set({ kind: 'signed_out', reason: null });
  return (
    <Loaded of={invitation}>
      {({ organization, email }) => (
        <div class="stack tight">
          <h1>{t('Join {organization}?', { organization })}</h1>
          <p class="quiet">
            {t('Your account at the identity provider will sign in as {email}, in this organization only.', { email })}
          </p>
          <ActionError error={accept.error} />
          <div class="form-actions">
            <Button onClick={leave}>{t('Decline')}</Button>
            <Button look="primary" isBusy={accept.isRunning} onClick={() => accept.run()}>
              {t('Accept')}
            </Button>
          </div>
        </div>
      )}
    </Loaded>
  );
}
