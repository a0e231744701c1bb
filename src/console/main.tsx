import { render } from 'preact';
import { App } from './app.tsx';
import { ApiError, callOnce } from './lib/api.ts';
import { openLanguage } from './lib/i18n.ts';
import { readInstallation } from './lib/installation.ts';
import { followConsent } from './lib/pending-consent.ts';
import { openTheme, preferredLanguages } from './lib/preferences.ts';
import { acceptSession, type SessionReply, type SignedOutReason, session } from './lib/session.ts';

/** Take the token of a one-time link (`/console#link=…`), and remove it from the URL immediately. */
function takeLinkToken(): string | null {
  const token = /^#link=(.+)$/.exec(location.hash)?.[1] ?? null;
  if (token !== null) history.replaceState(null, '', location.pathname + location.search);
  return token;
}

/** Take the code of a failed sign-in at the identity provider (`/console#sign-in-failed=…`). */
function hasOidcFailed(): boolean {
  if (!location.hash.startsWith('#sign-in-failed=')) return false;
  history.replaceState(null, '', location.pathname + location.search);
  return true;
}

/** Take an invitation (`/console#invitation=…`), or the return from the identity provider with one. */
function takeInvitation(): { readonly token: string | null } | null {
  const [, token = null] = /^#(?:accept-invitation|invitation=(.+))$/.exec(location.hash) ?? [undefined];
  const isInvited = /^#(?:accept-)?invitation/.test(location.hash);
  if (isInvited) history.replaceState(null, '', location.pathname + location.search);
  return isInvited ? { token } : null;
}

/** Take the token of a password reset link (`/console#reset=…`). */
function takeReset(): string | null {
  const token = /^#reset=(.+)$/.exec(location.hash)?.[1] ?? null;
  if (token !== null) history.replaceState(null, '', location.pathname + location.search);
  return token;
}

async function openSession(link: string | null, oidcFailed: boolean): Promise<void> {
  try {
    const reply =
      link === null
        ? await callOnce<SessionReply>('/v1/sessions/current')
        : await callOnce<SessionReply>('/v1/sessions', { method: 'POST', json: { link } });
    acceptSession(reply);
  } catch (error) {
    const status = error instanceof ApiError ? error.status : 0;
    session.set({ kind: 'signed_out', reason: reasonOf(status) });
  }

  function reasonOf(status: number): SignedOutReason | null {
    if (oidcFailed) return 'oidc';
    if (link !== null && status === 401) return 'link';
    return status === 401 || status === 404 ? null : 'unreachable';
  }
}

openTheme();
const link = takeLinkToken();
const invitation = takeInvitation();
const reset = takeReset();
// A user with a session may accept an invitation with the existing account.
await Promise.all([openLanguage(preferredLanguages()), readInstallation(), openSession(link, hasOidcFailed())]);
const state = session.get();
followConsent(state.kind === 'active');
if (invitation !== null)
  session.set({ kind: 'invited', ...invitation, active: state.kind === 'active' ? state : null });
else if (reset !== null) session.set({ kind: 'resetting', token: reset });
const root = document.getElementById('app');
if (root) render(<App />, root);
