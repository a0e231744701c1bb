import { callOnce } from './lib/api.ts';
import { t } from './lib/i18n.ts';
import { useAction, useResource } from './lib/resource.ts';
import { acceptSession, type SessionReply, session } from './lib/session.ts';
import { ActionError, Button } from './ui/controls.tsx';
import { SignInCard } from './ui/sign-in-card.tsx';
import { Loaded } from './ui/states.tsx';

interface InvitationView {
  readonly organization: string;
  readonly email: string;
  readonly invited_by: string;
}

const PATH = '/v1/sessions/oidc/invitation';

/**
 * Page for a person who follows an invitation: first to the identity provider, then back here to accept it.
 * @param token token of the link; null for a person who comes back from the identity provider
 */
export function InvitationPage({ token }: { token: string | null }) {
  return <SignInCard>{token === null ? <Acceptance /> : <Invited token={token} />}</SignInCard>;
}

function Invited({ token }: { token: string }) {
  return (
    <div class="stack tight">
      <h1>{t('You are invited')}</h1>
      <p class="quiet">{t('Sign in with the identity provider. Then you see the organization, and can accept.')}</p>
      <a class="button primary" href={`/v1/sessions/oidc?invitation=${encodeURIComponent(token)}`}>
        {t('Sign in with the identity provider')}
      </a>
    </div>
  );
}

function Acceptance() {
  const invitation = useResource('invitation', () => callOnce<InvitationView>(PATH));
  const accept = useAction(async () => {
    acceptSession(await callOnce<SessionReply>(PATH, { method: 'POST', json: { accept: true } }));
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
