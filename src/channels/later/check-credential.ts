import type { PlatformAddresses } from '../../platform/channel-settings.ts';
import type { Messenger } from '../messengers/messenger.ts';
import type { AnswerConfig } from '../schema.ts';
import { callPlatform } from './call-platform.ts';

/** Result of asking a platform about a credential. `unknown`: it gave no usable answer. */
export interface CredentialCheck {
  readonly status: 'accepted' | 'refused' | 'unknown';
  readonly reason: string | null;
}

/** Ask the platform if it takes the credential with which replies are sent. Null if replies need none. */
export async function checkCredential(
  platforms: PlatformAddresses,
  { later }: Messenger,
  config: AnswerConfig,
): Promise<CredentialCheck | null> {
  const probe = later?.probe(config, platforms) ?? null;
  if (later === null || probe === null) return null;
  const rules = { origins: later.origins(platforms), judge: later.judge };
  const verdict = await callPlatform(probe.url, probe.call, rules);
  if (verdict.kind === 'taken') return { status: 'accepted', reason: null };
  return { status: verdict.kind === 'refused' ? 'refused' : 'unknown', reason: verdict.reason };
}
