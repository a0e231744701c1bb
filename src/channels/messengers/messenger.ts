import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { PlatformAddresses } from '../../platform/channel-settings.ts';
import type { Secret } from '../../platform/secret.ts';
import type { HttpReply } from '../../platform/upstream/transport.ts';
import type { ReplyLanguage } from '../phrases.ts';
import type { AnswerConfig, ChannelReply, ReplyPassage } from '../schema.ts';

/** Delivery as it arrived at the path of a configuration. */
export interface RawDelivery {
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** Secret in the path; null if the path has none. */
  readonly pathSecret: string | null;
}

type Json = Readonly<Record<string, unknown>>;

export interface AskedQuestion {
  readonly text: string;
  /** Id that repetitions of the delivery share; null if the platform repeats nothing. */
  readonly deliveryId: string | null;
  /** Place to which a later call brings the reply, as text for `LaterReplies`; null if the response is the reply. */
  readonly replyTo: Secret | null;
}

/** Reply whose passages have the addresses of their pages; null where the address of the service is not known. */
export interface LinkedReply extends ChannelReply {
  readonly passages: readonly LinkedPassage[];
  /** Text of a chat model that cites the passages; undefined if the reply is the passages. */
  readonly answer?: string | undefined;
}
export type LinkedPassage = ReplyPassage & { readonly url: string | null };

/** Call to a platform. */
export interface PlatformCall {
  readonly authorization: Secret | null;
  /** JSON to post; null for a GET. */
  readonly body: object | null;
}

/**
 * Judgement on the answer to a call. `taken`: the platform has the reply. `again`: it certainly has not, and a later
 * call may succeed. `refused`: it certainly has not. `uncertain`: it may have it.
 */
export type Verdict =
  | { readonly kind: 'taken' }
  | { readonly kind: 'refused' | 'uncertain'; readonly reason: string }
  | { readonly kind: 'again'; readonly reason: string; readonly afterMs: number | null };

/** Replies by a call to the platform, after the response to the delivery. */
export interface LaterReplies<Config> {
  /** Time from the delivery within which the platform takes a reply. */
  readonly limitMs: number;
  /** Tell which replies are sent by a call: all, those that are late for a response, or none. */
  when(config: Config): 'always' | 'late' | 'never';
  /** Response to a delivery whose reply follows. */
  acknowledge(config: Config, language: ReplyLanguage): object;
  /** Origins that calls may go to. `*.` stands for the subdomains of a domain. */
  origins(addresses: PlatformAddresses): readonly string[];
  /** Return the address of a call, which may hold a credential. @param replyTo that of the question */
  urlOf(replyTo: Secret, addresses: PlatformAddresses): Secret;
  toCall(reply: LinkedReply, replyTo: Secret, config: Config): PlatformCall;
  judge(answer: HttpReply): Verdict;
  /** Make a call that only tells if the platform takes the credential; null if replies need none. */
  probe(config: Config, addresses: PlatformAddresses): { readonly url: Secret; readonly call: PlatformCall } | null;
}

/**
 * Messenger whose platform has a form of its own for deliveries and replies. A reply is the response to the delivery or
 * a later call. Every messenger passes `test/channels/messengers.test.ts`.
 */
export interface Messenger<Config extends AnswerConfig = AnswerConfig> {
  /** Value of `provider` in a configuration. */
  readonly provider: string;
  /** Fields of a configuration. */
  readonly config: z.ZodType<Config, object>;
  /** True if configurations without `collection` are stored as they are, like those of other providers. */
  readonly isFreeFormAllowed: boolean;
  /** Return the path to register at the platform. */
  pathOf(configId: string, config: Config): string;
  /**
   * Return true if the delivery comes from the platform. The time does not depend on where a credential is wrong.
   *
   * @param nowMs milliseconds since 1970
   */
  isGenuine(delivery: RawDelivery, config: Config, nowMs: number): boolean;
  /** Read the questions of a delivery. If there are several, each has a `replyTo`. */
  readQuestions(json: Json): readonly AskedQuestion[];
  /** Bring a reply into the form of a response. @param json the delivery */
  toResponse(reply: LinkedReply, json: Json, config: Config): object;
  /** Make the response to a delivery that asks nothing. */
  toNothing(json: Json): object;
  /** Null if every reply is a response. */
  readonly later: LaterReplies<Config> | null;
  /** Steps at the platform, of which one registers the address. */
  readonly steps: readonly string[];
  /** Make a delivery as the platform does, whose reply is the response, to try a configuration. */
  makeDelivery(utterance: string, config: Config): MadeDelivery;
  /** Read the text of a response. @throws an error for a response of another form */
  readText(response: unknown): string;
}

export interface MadeDelivery {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Compare two secrets in a time that depends on neither. */
export function isSameSecret(presented: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(presented), digest(expected));
}

/** Return a header that occurs once; the empty text if there is none. */
export function headerOf({ headers }: RawDelivery, name: string): string {
  const value = headers[name];
  return typeof value === 'string' ? value : '';
}

/** Return the texts of a reply. */
export function textsOf({ template }: ChannelReply): string[] {
  return template.outputs.map(({ simpleText }) => simpleText.text);
}

/** Join the texts of a reply, for platforms with a single text. */
export function textOf(reply: ChannelReply): string {
  return textsOf(reply).join('\n\n');
}
