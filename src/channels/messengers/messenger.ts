import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { AnswerConfig, ChannelReply } from '../schema.ts';

/** Delivery as it arrived at the path of a configuration. */
export interface RawDelivery {
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** Secret in the path; null if the path has none. */
  readonly pathSecret: string | null;
}

export interface AskedQuestion {
  readonly text: string;
  /** Id that repetitions of the delivery share; null if the platform repeats nothing. */
  readonly deliveryId: string | null;
}

/**
 * Messenger whose platform has a form of its own for deliveries and replies. Its replies are the responses to the
 * deliveries. Every messenger passes `test/channels/messengers.test.ts`.
 */
export interface Messenger<Config extends AnswerConfig = AnswerConfig> {
  /** Value of `provider` in a configuration. */
  readonly provider: string;
  /** Fields of a configuration. */
  readonly config: z.ZodType<Config, object>;
  /** Return the path to register at the platform. */
  pathOf(configId: string, config: Config): string;
  /** Return true if the delivery comes from the platform. The time does not depend on where a credential is wrong. */
  isGenuine(delivery: RawDelivery, config: Config): boolean;
  /** Read the question of a delivery; null if it asks nothing. */
  readQuestion(json: Readonly<Record<string, unknown>>): AskedQuestion | null;
  /** Bring a reply into the form of the platform. @param json the delivery */
  toResponse(reply: ChannelReply, json: Readonly<Record<string, unknown>>): object;
  /** Response to a delivery that asks nothing. */
  readonly nothing: object;
  /** Make a delivery as the platform does, to try a configuration. */
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

/** Join the texts of a reply, for platforms with a single text. */
export function textOf({ template }: ChannelReply): string {
  return template.outputs.map(({ simpleText }) => simpleText.text).join('\n\n');
}
