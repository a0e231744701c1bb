import { kakao } from './kakao.ts';
import { line } from './line.ts';
import type { Messenger } from './messenger.ts';
import { slack } from './slack.ts';
import { teams } from './teams.ts';
import { telegram } from './telegram.ts';

/** Messengers by configuration provider, except that of the contract. */
export const MESSENGERS: ReadonlyMap<string, Messenger> = new Map<string, Messenger>(
  [kakao, telegram, teams, slack, line].map((messenger) => [messenger.provider, messenger]),
);
