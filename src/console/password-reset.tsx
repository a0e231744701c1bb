import { ApiError, callOnce } from './lib/api.ts';
import { t } from './lib/i18n.ts';
import { acceptSession, type SessionReply, session } from './lib/session.ts';
import { NewPasswordForm } from './new-password-form.tsx';
import { SignInCard } from './ui/sign-in-card.tsx';

/** Page for a person who follows a password reset link. */
export function PasswordResetPage({ token }: { token: string }) {
  const reset = async (password: string) => {
    try {
      const json = { reset: token, password };
      acceptSession(await callOnce<SessionReply>('/v1/sessions/password-reset', { method: 'POST', json }));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      session.set({ kind: 'signed_out', reason: 'password_reset' });
    }
  };
  return (
    <SignInCard>
      <div class="stack tight">
        <h1>{t('Choose a new password')}</h1>
        <p class="quiet">{t('Your other browsers are signed out, and your passkeys are removed.')}</p>
      </div>
      <NewPasswordForm action={t('Save and sign in')} onSubmit={reset} />
    </SignInCard>
  );
}
