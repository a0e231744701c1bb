import { nhn } from './nhn.ts';
import type { Sender } from './sender.ts';
import { sens } from './sens.ts';
import { solapi } from './solapi.ts';

/** Vendors of Alimtalk by the provider of their configurations. */
export const SENDERS: ReadonlyMap<string, Sender> = new Map<string, Sender>(
  [sens, solapi, nhn].map((sender) => [sender.provider, sender]),
);
