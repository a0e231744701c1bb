import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { PlatformAddresses } from '../../platform/channel-settings.ts';
import type { Secret } from '../../platform/secret.ts';
import type { HttpReply } from '../../platform/upstream/transport.ts';
import type { ReplyLanguage } from '../phrases.ts';
import type { AnswerConfig, ChannelReply, ReplyPassage } from '../schema.ts';

/** Raw delivery at the path of a configuration. */
export interface RawDelivery {
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** Secret in the path; null if it has none. */
  readonly pathSecret: string | null;
}

type Json = Readonly<Record<string, unknown>>;

export interface AskedQuestion {
  readonly text: string;
  /** Id that repeated deliveries share; null if the platform never repeats one. */
  readonly deliveryId: string | null;
  /** Target of a later reply, as text for `LaterReplies`; null if the reply is the response. */
  readonly replyTo: Secret | null;
}

/** Reply whose passages have page URLs; null if the service's URL is unknown. */
export interface LinkedReply extends ChannelReply {
  readonly passages: readonly LinkedPassage[];
  /** Text of a chat model with citations of the passages; undefined if the reply consists of the passages. */
  readonly answer?: string | undefined;
}
export type LinkedPassage = ReplyPassage & { readonly url: string | null };

/** Call to a platform. */
export interface PlatformCall {
  readonly authorization: Secret | null;
  /** JSON body of a POST; null for a GET. */
  readonly body: object | null;
}

/**
 * Verdict on the response to a call. `taken`: the platform has the reply. `again`: it certainly doesn't, and a later
 * call may succeed. `refused`: it certainly doesn't. `uncertain`: it may have the reply.
 */
export type Verdict =
  | { readonly kind: 'taken' }
  | { readonly kind: 'refused' | 'uncertain'; readonly reason: string }
  | { readonly kind: 'again'; readonly reason: string; readonly afterMs: number | null };

/** Replies by a call to the platform, after the response to the delivery. */
export interface LaterReplies<Config> {
  /** Time after the delivery during which the platform accepts a reply. */
  readonly limitMs: number;
  /** Return which replies are sent by a call: all, those too late for a response, or none. */
  when(config: Config): 'always' | 'late' | 'never';
  /** Build the response to a delivery whose reply follows later. */
  acknowledge(config: Config, language: ReplyLanguage): object;
  /** Return the allowed origins of calls. `*.` matches any subdomain. */
  origins(addresses: PlatformAddresses): readonly string[];
  /** Return the URL of a call, which may contain a credential. @param replyTo target from the question */
  urlOf(replyTo: Secret, addresses: PlatformAddresses): Secret;
  toCall(reply: LinkedReply, replyTo: Secret, config: Config): PlatformCall;
  judge(answer: HttpReply): Verdict;
  /** Build a call that only checks the credential; null if replies need none. */
  probe(config: Config, addresses: PlatformAddresses): { readonly url: Secret; readonly call: PlatformCall } | null;
}

/**
 * Messenger whose platform has its own format of deliveries and replies. The reply is the response to the delivery or a
 * later call. Every messenger passes `test/channels/messengers.test.ts`.
 */
export interface Messenger<Config extends AnswerConfig = AnswerConfig> {
  /** Value of `provider` in a configuration. */
  readonly provider: string;
  /** Schema of the fields of a configuration. */
  readonly config: z.ZodType<Config, object>;
  /** True to store configurations without `collection` unchanged, like those of other providers. */
  readonly isFreeFormAllowed: boolean;
  /** Return the path to register with the platform. */
  pathOf(configId: string, config: Config): string;
  /**
   * Return true if the delivery is from the platform. Credentials are compared in constant time.
   *
   * @param nowMs milliseconds since 1970
   */
  isGenuine(delivery: RawDelivery, config: Config, nowMs: number): boolean;
  /** Extract the questions of a delivery. If there are several, each has a `replyTo`. */
  readQuestions(json: Json): readonly AskedQuestion[];
  /** Convert a reply to a response. @param json the delivery */
  toResponse(reply: LinkedReply, json: Json, config: Config): object;
  /** Build the response to a delivery without a question. */
  toNothing(json: Json): object;
  /** Later replies; null if every reply is a response. */
  readonly later: LaterReplies<Config> | null;
  /** Setup steps at the platform, including the registration of the URL. */
  readonly steps: readonly string[];
  /** Build a test delivery like the platform's, with the response as its reply. */
  makeDelivery(utterance: string, config: Config): MadeDelivery;
  /** Extract the text of a response. @throws an error for a response of another shape */
  readText(response: unknown): string;
}

export interface MadeDelivery {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Compare two secrets in constant time. */
export function isSameSecret(presented: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(presented), digest(expected));
}

/** Return a header that occurs once; '' if it is absent. */
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
