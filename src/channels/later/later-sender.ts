import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { PlatformAddresses } from '../../platform/channel-settings.ts';
import type { Service } from '../../platform/lifecycle.ts';
import { repeatingTask } from '../../platform/repeating-task.ts';
import { seal, unseal } from '../../platform/seal.ts';
import { Secret } from '../../platform/secret.ts';
import { unlessAborted } from '../../platform/unless-aborted.ts';
import { type AnswerContext, answerQuestion, type Question } from '../answer-question.ts';
import { selectConfigWithPlan } from '../config-store.ts';
import { type ConfigContext, readConfig } from '../configs.ts';
import { type LinkContext, linkReply } from '../link-reply.ts';
import type { Verdict } from '../messengers/messenger.ts';
import { MESSENGERS } from '../messengers/messengers.ts';
import type { AnswerTime } from '../retrieve-passages.ts';
import type { AnswerReply } from '../schema.ts';
import { whileRenewed } from '../while-renewed.ts';
import { CALL_MS, callPlatform } from './call-platform.ts';
import {
  beginSending,
  type ClaimedRow,
  claimDue,
  extendClaim,
  finishLater,
  giveUpLate,
  insertLater,
  type LaterKey,
  releaseLater,
  waitAgain,
} from './later-store.ts';

/** Lease of a claim, after which another process takes over. */
const CLAIM_MS = 6_000;
const RENEWED_EVERY_MS = 2_000;
const POLL_MS = 2_000;
/** Maximum concurrent replies in this process. Others wait for a process with capacity. */
const RUNNING_MAX = 64;
/** Time for creating the answer: at most a share of the platform's time limit. The rest is for sending it. */
const ANSWER = { share: 0.75, msMax: 30_000 };
const BACKOFF_MS = { first: 500, most: 8_000 };

export interface LaterContext extends AnswerContext, ConfigContext, Omit<LinkContext, 'search'> {
  readonly platforms: PlatformAddresses;
}

/** Question with a later reply. */
export interface LaterQuestion {
  readonly provider: string;
  readonly question: Question;
  readonly replyTo: Secret;
  /** Time during which the platform accepts the reply. */
  readonly limitMs: number;
  /** Answer in progress; null if not started. */
  readonly answering: Promise<AnswerReply> | null;
}

const Sealed = z.object({ provider: z.string(), utterance: z.string(), replyTo: z.string() });

interface Claimed {
  readonly key: LaterKey;
  readonly claim: string;
}

interface Work extends Claimed {
  readonly asked: z.output<typeof Sealed>;
  /** Time by `performance.now()` after which the platform no longer accepts the reply. */
  readonly endMs: number;
}

/**
 * Sender of replies by calls to their platforms. A question is stored before its delivery is acknowledged, so another
 * process answers it if this one dies. A reply is marked before its call. A call that may have arrived is not repeated.
 */
export class LaterSender {
  readonly #context: LaterContext;
  readonly #running = new Set<Promise<void>>();
  /** Aborted on shutdown. */
  #stop = new AbortController();

  constructor(context: LaterContext) {
    this.#context = context;
  }

  /** Store a question, and answer it in the background. Ignore a repeated delivery. */
  async accept({ provider, question, replyTo, limitMs, answering }: LaterQuestion): Promise<void> {
    const { sql, keyRing } = this.#context;
    const { channel, digest, utterance } = question;
    const key = { orgId: channel.orgId, configId: channel.id, digest };
    const asked = { provider, utterance, replyTo: replyTo.reveal() };
    const sealed = seal(keyRing.encryption, JSON.stringify(asked), contextOf(key));
    const claim = this.#hasPlace() ? randomUUID() : null;
    const times = { limitMs, claimMs: claim === null ? 0 : CLAIM_MS };
    const endMs = performance.now() + limitMs;
    const isNew = await insertLater(sql, key, { sealed, claim }, times);
    if (isNew && claim !== null) this.#start({ key, claim, asked, endMs }, answering);
  }

  /** Create the service that takes over the replies of dead processes. */
  service(): Service {
    const { sql, logger } = this.#context;
    const polling = repeatingTask('sending of later replies', POLL_MS, logger, async () => {
      for (const channel of await giveUpLate(sql)) this.#count(channel, 'failed', 'late or interrupted');
      await this.#takeDue();
    });
    return {
      name: 'later replies',
      start: async (signal) => {
        this.#stop = new AbortController();
        await polling.start(signal);
      },
      stop: async () => {
        this.#stop.abort(new Error('the process stops'));
        await polling.stop();
        await Promise.all(this.#running);
      },
    };
  }

  async #takeDue(): Promise<void> {
    const { sql } = this.#context;
    if (!this.#hasPlace()) return;
    const claim = randomUUID();
    const rows = await claimDue(sql, { claim, claimMs: CLAIM_MS, rowsMax: RUNNING_MAX - this.#running.size });
    for (const row of rows) {
      const asked = this.#read(row);
      if (asked === null) await this.#finish({ key: row, claim }, { kind: 'refused', reason: 'unreadable' });
      else this.#start({ key: row, claim, asked, endMs: performance.now() + row.leftMs }, null);
    }
  }

  /** Decrypt a question. Return null if it was stored under another secret key. */
  #read(row: ClaimedRow): Work['asked'] | null {
    try {
      return Sealed.parse(JSON.parse(unseal(this.#context.keyRing.encryption, row.sealed, contextOf(row))));
    } catch (error) {
      this.#context.logger.warn({ err: error, channel: row.configId }, 'a stored question cannot be read');
      return null;
    }
  }

  #hasPlace(): boolean {
    return this.#running.size < RUNNING_MAX && !this.#stop.signal.aborted;
  }

  #start(work: Work, answering: Promise<AnswerReply> | null): void {
    const running = this.#run(work, answering).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Answer and send a reply. After an error, another process or a later turn tries again. */
  async #run(work: Work, answering: Promise<AnswerReply> | null): Promise<void> {
    const { sql, logger } = this.#context;
    const { key, claim } = work;
    try {
      const renew = () => extendClaim(sql, key, claim, CLAIM_MS);
      const answer = () => unlessAborted(answering ?? this.#answer(work), this.#stop.signal);
      const reply = await whileRenewed(RENEWED_EVERY_MS, renew, answer);
      await this.#send(work, reply);
    } catch (error) {
      await this.#giveBack(work, error).catch((fault) =>
        logger.warn({ err: fault, channel: key.configId }, 'the claim of a later reply could not be released'),
      );
    }
  }

  async #giveBack(work: Work, error: unknown): Promise<void> {
    const { sql, logger } = this.#context;
    const { key, claim } = work;
    if (error instanceof ChannelGone) return this.#finish(work, { kind: 'refused', reason: 'channel_unavailable' });
    if (this.#stop.signal.aborted) return releaseLater(sql, key, claim, null);
    logger.warn({ err: error, channel: key.configId }, 'a later reply failed and will be tried again');
    await releaseLater(sql, key, claim, 'internal');
  }

  async #answer(work: Work): Promise<AnswerReply> {
    const { channel, plan } = await this.#open(work);
    const question = { channel, plan, bot: channel.id, digest: work.key.digest, utterance: work.asked.utterance };
    return answerQuestion(this.#context, question, answerTime(performance.now(), work.endMs - performance.now()));
  }

  /** Call the platform until it accepts the reply, refuses it, or no longer accepts it. */
  async #send(work: Work, reply: AnswerReply): Promise<void> {
    const { sql, platforms } = this.#context;
    const { key, claim, asked, endMs } = work;
    const { later, config, channel, plan } = await this.#open(work);
    const linked = linkReply(this.#context, { channel, plan }, reply);
    const replyTo = new Secret(asked.replyTo);
    const url = later.urlOf(replyTo, platforms);
    const call = later.toCall(linked, replyTo, config);
    const rules = { origins: later.origins(platforms), judge: later.judge };
    for (let backoffMs = BACKOFF_MS.first; ; backoffMs = Math.min(2 * backoffMs, BACKOFF_MS.most)) {
      if (!(await beginSending(sql, key, claim, 2 * CALL_MS))) return;
      const verdict = await callPlatform(url, call, rules);
      if (verdict.kind !== 'again') return this.#finish(work, verdict);
      const { reason, afterMs: askedMs } = verdict;
      const afterMs = askedMs ?? backoffMs;
      if (performance.now() + afterMs >= endMs) return this.#finish(work, { kind: 'refused', reason });
      await waitAgain(sql, key, claim, { claimMs: afterMs + CLAIM_MS, reason });
      // On shutdown, leave the reply to another process, after the wait that the platform asked for.
      const hasWaited = await delay(afterMs, true, { signal: this.#stop.signal }).catch(() => false);
      if (!hasWaited) return;
    }
  }

  async #finish({ key, claim }: Claimed, verdict: Exclude<Verdict, { kind: 'again' }>): Promise<void> {
    const isTaken = verdict.kind === 'taken';
    const reason = isTaken ? null : verdict.reason;
    const end = { status: isTaken ? 'sent' : 'failed', reason, uncertain: verdict.kind === 'uncertain' } as const;
    const isEnded = await finishLater(this.#context.sql, key, claim, end);
    if (isEnded) this.#count(key.configId, end.status, reason);
  }

  #count(channel: string, status: 'sent' | 'failed', reason: string | null): void {
    const { metrics, logger } = this.#context;
    metrics.repliedLater(channel, status);
    if (status === 'failed') logger.warn({ channel, reason }, 'a later reply was not taken by its platform');
  }

  /** Read the configuration of a reply. @throws ChannelGone if it no longer answers questions */
  async #open({ key, asked }: Work) {
    const { sql, keyRing } = this.#context;
    const messenger = MESSENGERS.get(asked.provider);
    const row = await selectConfigWithPlan(sql, key.configId, asked.provider);
    const config = row === null ? undefined : messenger?.config.safeParse(readConfig(keyRing, row)).data;
    const later = messenger?.later;
    if (row === null || config === undefined || later == null) throw new ChannelGone();
    const { id, orgId, name, plan } = row;
    return { later, config, plan, channel: { id, orgId, name, config } };
  }
}

class ChannelGone extends Error {}

/** Return the time limits for answering a question whose platform accepts replies for `limitMs`. */
export function answerTime(startMs: number, limitMs: number): AnswerTime {
  return { startMs, deadlineMs: Math.min(limitMs * ANSWER.share, ANSWER.msMax) };
}

/** Return the encryption context of a question, which binds it to its row. */
export function contextOf({ orgId, configId, digest }: LaterKey): string {
  return `channel_later_replies/${orgId}/${configId}/${digest.toString('hex')}`;
}
