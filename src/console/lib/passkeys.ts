import {
  browserSupportsWebAuthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser';
import { call, callOnce } from './api.ts';
import type { SessionReply } from './session.ts';

/** Return true if this browser can use passkeys at this address, which needs a host name. */
export function canUsePasskeys(): boolean {
  return browserSupportsWebAuthn() && /[a-z]/i.test(location.hostname);
}

/** Sign in with a passkey of this device. Return null if the user cancels. @throws ApiError */
export async function signInByPasskey(): Promise<SessionReply | null> {
  const path = '/v1/sessions/passkey';
  const optionsJSON = await callOnce<PublicKeyCredentialRequestOptionsJSON>(`${path}/options`, { method: 'POST' });
  const response = await unlessGivenUp(startAuthentication({ optionsJSON }));
  return response && callOnce<SessionReply>(path, { method: 'POST', json: { response } });
}

/** Add a passkey of this device to the account. Return false if the user cancels. @throws ApiError */
export async function addPasskey(name: string): Promise<boolean> {
  const path = '/v1/me/account/passkeys';
  const optionsJSON = await call<PublicKeyCredentialCreationOptionsJSON>(`${path}/options`, { method: 'POST' });
  const response = await unlessGivenUp(startRegistration({ optionsJSON }));
  if (response !== null) await call(path, { method: 'POST', json: { name, response } });
  return response !== null;
}

/** Return null for a cancelled dialog. Browsers report it, or a timeout, as `NotAllowedError`. */
async function unlessGivenUp<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Error && error.name === 'NotAllowedError') return null;
    throw error;
  }
}
