import { navigate } from './router.ts';

/** Path of the page on which a person gives a client access. */
export const CONSENT_PATH = '/console/authorize';

const KEY = 'pending-consent';

/**
 * Keep a client's request during sign-in, which may involve another site, and return to it afterwards. Call this once
 * the session is known.
 */
export function followConsent(isSignedIn: boolean): void {
  if (location.pathname === CONSENT_PATH) {
    if (isSignedIn) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, location.search);
    return;
  }
  const search = sessionStorage.getItem(KEY);
  if (search === null || !isSignedIn) return;
  sessionStorage.removeItem(KEY);
  navigate(CONSENT_PATH + search, { replace: true });
}
