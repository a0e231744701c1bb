import type { CallerDescription, Scope } from '../types.ts';
import { createStore } from './store.ts';

/** Caller of a session, and the token that its requests need. */
export interface ActiveSession {
  readonly me: CallerDescription;
  readonly csrfToken: string;
}

/**
 * Session of the browser. `invited`: the user follows an invitation. `resetting`: the user follows a password reset
 * link. `expired`: the session ended while pages were open; they stay until somebody signs in again.
 */
export type SessionState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'signed_out'; readonly reason: SignedOutReason | null }
  | { readonly kind: 'invited'; readonly token: string | null; readonly active: ActiveSession | null }
  | { readonly kind: 'resetting'; readonly token: string }
  | ({ readonly kind: 'active' } & ActiveSession)
  | ({ readonly kind: 'expired' } & ActiveSession);

/** Reason why nobody is signed in, if the user should know. */
export type SignedOutReason = 'link' | 'oidc' | 'password_reset' | 'unreachable';

/** Response to a sign-in. */
export interface SessionReply {
  readonly csrf_token: string;
  readonly expires_at: string;
  readonly me: CallerDescription;
}

export const session = createStore<SessionState>({ kind: 'loading' });

/** Accept a session from the server. Drop pages of another organization. */
export function acceptSession({ csrf_token, me }: SessionReply): void {
  const before = session.get();
  if (before.kind === 'expired' && before.me.org.id !== me.org.id) {
    location.assign('/console');
    return;
  }
  session.set({ kind: 'active', me, csrfToken: csrf_token });
}

/** Record that the server refused the session, and wait until somebody has signed in again. */
export function waitForSignIn(signal?: AbortSignal): Promise<void> {
  const state = session.get();
  if (state.kind === 'active') session.set({ ...state, kind: 'expired' });
  return new Promise((resolve, reject) => {
    const end = session.subscribe((next) => {
      if (next.kind === 'expired') return;
      end();
      if (next.kind === 'active') resolve();
      else reject(new DOMException('signed out', 'AbortError'));
    });
    signal?.addEventListener('abort', () => {
      end();
      reject(signal.reason);
    });
  });
}

export function csrfToken(): string | null {
  const state = session.get();
  if (state.kind === 'invited') return state.active?.csrfToken ?? null;
  return 'csrfToken' in state ? state.csrfToken : null;
}

/** @throws TypeError before sign-in, when no page is shown */
export function currentCaller(): CallerDescription {
  const state = session.get();
  if (!('me' in state)) throw new TypeError('nobody is signed in');
  return state.me;
}

/** Return true if the caller may change metadata and access of documents. A user must be an administrator. */
export function mayEditMetadata(): boolean {
  const { kind, user } = currentCaller();
  if (kind === 'key') return mayUse('buckets:manage');
  return kind === 'operator' || (user !== undefined && user.role !== 'member');
}

export function mayUse(scope: Scope): boolean {
  const { scopes } = currentCaller();
  return scopes.includes(scope) || scopes.includes('platform_admin');
}
