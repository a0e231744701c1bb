import { kakao } from './kakao.ts';
import type { Messenger } from './messenger.ts';
import { teams } from './teams.ts';
import { telegram } from './telegram.ts';

/** Messengers by the provider of their configurations, besides that of the contract. */
export const MESSENGERS: ReadonlyMap<string, Messenger> = new Map<string, Messenger>(
  [kakao, telegram, teams].map((messenger) => [messenger.provider, messenger]),
);
