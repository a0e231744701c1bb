import type { PlatformAddresses } from '../../platform/channel-settings.ts';
import type { Messenger } from '../messengers/messenger.ts';
import type { AnswerConfig } from '../schema.ts';
import { callPlatform } from './call-platform.ts';

/** Result of checking a credential with a platform. `unknown`: no usable response. */
export interface CredentialCheck {
  readonly status: 'accepted' | 'refused' | 'unknown';
  readonly reason: string | null;
}

/** Ask the platform whether it accepts the credential for replies. Return null if replies need none. */
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
