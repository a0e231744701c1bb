import { nhn } from './nhn.ts';
import type { Sender } from './sender.ts';
import { sens } from './sens.ts';
import { solapi } from './solapi.ts';

/** Alimtalk vendors by configuration provider. */
export const SENDERS: ReadonlyMap<string, Sender> = new Map<string, Sender>(
  [sens, solapi, nhn].map((sender) => [sender.provider, sender]),
);
