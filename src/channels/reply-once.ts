import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import {
  claimDelivery,
  type DeliveryKey,
  deleteClaim,
  expireReply,
  renewClaim,
  selectReply,
  storeReply,
} from './reply-store.ts';
import type { AnswerReply, DeliveryOutcome } from './schema.ts';
import { whileRenewed } from './while-renewed.ts';

/** Retention of replies. A delivery is accepted for at most 600 s: 300 s by a clock that is 300 s ahead. */
const KEEP_MS = 10 * 60_000;
/** Lease of a claim, after which another process takes over. */
const CLAIM_MS = 6_000;
const RENEWED_EVERY_MS = 2_000;
const POLL_MS = 50;

export interface MadeReply {
  readonly reply: AnswerReply;
  /** True to send this reply to repeated deliveries. Otherwise they are answered again. */
  readonly isKept: boolean;
  readonly outcome: DeliveryOutcome;
  /** Documents that the reply quotes. */
  readonly documentIds: readonly string[];
}

/** Functions that create a reply, and that check whether an earlier one may still be repeated. */
export interface ReplyMaker {
  make(): Promise<MadeReply>;
  /** Return true if the recipient may still read all documents that the reply quotes. */
  mayRepeat(documentIds: readonly string[]): Promise<boolean>;
}

/** Guard that answers each delivery once, even if it is repeated or sent to several processes. */
export interface ReplyOnce {
  /**
   * Return the reply to a delivery. For repeated deliveries call `make` once, and again if the reply may no longer be
   * repeated.
   *
   * @returns null if another process didn't answer within `waitMs`
   */
  reply(
    key: DeliveryKey,
    waitMs: number,
    maker: ReplyMaker,
  ): Promise<{ readonly reply: AnswerReply; readonly isReplayed: boolean } | null>;
}

export function openReplyOnce(settings: { readonly sql: Sql; readonly logger: Logger }): ReplyOnce {
  const { sql, logger } = settings;
  const times = { claimMs: CLAIM_MS, keepMs: KEEP_MS };
  /** Replies in progress in this process. Each ends by the deadline of its delivery. */
  const pending = new Map<string, Promise<AnswerReply | null>>();

  async function makeClaimed(key: DeliveryKey, first: string, { make }: ReplyMaker): Promise<AnswerReply> {
    let claim = first;
    const renew = async () => {
      claim = (await renewClaim(sql, key, claim, CLAIM_MS)) ?? claim;
    };
    try {
      const { reply, isKept, outcome, documentIds } = await whileRenewed(RENEWED_EVERY_MS, renew, make);
      const made = { reply: JSON.stringify(reply), outcome, documentIds };
      await (isKept ? storeReply(sql, key, claim, made) : deleteClaim(sql, key, claim));
      return reply;
    } catch (error) {
      await deleteClaim(sql, key, claim).catch((fault) =>
        logger.warn({ err: fault }, 'the claim of a delivery could not be released'),
      );
      throw error;
    }
  }

  /** Poll until the claiming process answers or its claim expires. */
  async function claimOrWait(key: DeliveryKey, waitMs: number, maker: ReplyMaker, onClaim: () => void) {
    const endMs = performance.now() + waitMs;
    for (;;) {
      const claim = await claimDelivery(sql, key, times);
      if (claim !== null) {
        onClaim();
        return makeClaimed(key, claim, maker);
      }
      const known = await selectReply(sql, key);
      if (known !== null && (await maker.mayRepeat(known.documentIds))) return JSON.parse(known.reply) as AnswerReply;
      if (known !== null) await expireReply(sql, key);
      if (performance.now() >= endMs) return null;
      await delay(POLL_MS);
    }
  }

  return {
    async reply(key, waitMs, maker) {
      const name = `${key.configId}/${key.digest.toString('base64url')}`;
      const started = pending.get(name);
      if (started !== undefined) {
        const reply = await started;
        return reply && { reply, isReplayed: true };
      }
      let isReplayed = true;
      const making = claimOrWait(key, waitMs, maker, () => {
        isReplayed = false;
      }).finally(() => pending.delete(name));
      pending.set(name, making);
      const reply = await making;
      return reply && { reply, isReplayed };
    },
  };
}
