import { z } from 'zod';
import type { VendorName } from '../../platform/channel-settings.ts';

/** Text message that the vendor sends if KakaoTalk does not deliver the notification. */
export interface TextMessage {
  readonly type: 'SMS' | 'LMS';
  /** Registered number of the sender, digits only. */
  readonly from: string;
  readonly title: string | null;
  readonly text: string;
}

/** Notification that is ready to be sent. */
export interface OutgoingMessage {
  /** Id of the notification in the outbox. Vendors with a field for it store it with the message. */
  readonly id: string;
  readonly phone: string;
  readonly templateCode: string;
  readonly args: Readonly<Record<string, string>>;
  /** Template with its variables replaced; null if the sender does not know its templates. */
  readonly rendered: RenderedTemplate | null;
  /** Text message to send instead; null for none. */
  readonly instead: TextMessage | null;
  readonly requestedAt: Date;
}

export interface RenderedTemplate {
  readonly text: string;
  readonly buttons: readonly object[];
}

/** Approved template of the vendor. Its texts contain variables as `#{name}`. */
export interface Template {
  readonly text: string;
  /** Buttons in the vendor's form. */
  readonly buttons: readonly object[];
  /** Names of the variables in all its texts. */
  readonly variables: readonly string[];
  /** State in which the vendor does not send it, in the vendor's words; null if it can be used. */
  readonly unusable: string | null;
}

/** State of an accepted message. `text` says that it was delivered as a text message instead. */
export type DeliveryReport =
  | { readonly state: 'pending' }
  | { readonly state: 'delivered'; readonly as: 'notification' | 'text' }
  | { readonly state: 'failed'; readonly reason: string };

/** Search for a message without an id. `unclear`: several messages could be it. */
export type Found = { readonly messageId: string } | 'absent' | 'unclear';

/**
 * Connection to a vendor with the credentials of one configuration. Every function throws `NotAccepted`. A sender
 * without the optional functions is asked once and never again.
 */
export interface SenderConnection {
  /** Send a notification and return the vendor's id of it. */
  send(message: OutgoingMessage): Promise<string>;
  /** Find a template; null if the vendor does not know it. */
  template?(code: string): Promise<Template | null>;
  /** Ask for the state of a message by the vendor's id. */
  report?(messageId: string): Promise<DeliveryReport>;
  /** Find a message that may have been accepted. `others` are the ids of other messages to the same number. */
  find?(message: OutgoingMessage, others: ReadonlySet<string>): Promise<Found>;
}

/** Fields that the configurations of all vendors of notifications have. */
export const SenderConfig = z.object({
  resend: z
    .boolean({ error: 'must be true or false' })
    .default(false)
    .describe('send a text message if KakaoTalk does not deliver; a request can override it'),
  sms_from: z
    .string()
    .regex(/^[0-9]{8,12}$/, 'must be the digits of a sender number that is registered at the vendor')
    .optional()
    .describe('registered number from which text messages are sent'),
});
export type SenderConfig = z.output<typeof SenderConfig>;

/** Answer of a vendor, whatever its status. */
export interface VendorReply {
  readonly status: number;
  /** Parsed body; undefined if it is not JSON. */
  readonly json: unknown;
  readonly retryAfterMs: number | null;
}

export interface VendorRequest {
  readonly method: 'GET' | 'POST';
  /** Path and query at the vendor. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** Function that calls a vendor. It throws `NotAccepted` if there is no answer. */
export type VendorCall = (request: VendorRequest) => Promise<VendorReply>;

/** Vendor of notifications. Every vendor passes `test/channels/senders.test.ts`. */
export interface Sender<Config extends SenderConfig = SenderConfig> {
  /** Value of `provider` in a configuration. */
  readonly provider: VendorName;
  /** Name of the vendor for messages. */
  readonly label: string;
  /** Fields of a configuration. */
  readonly config: z.ZodType<Config, object>;
  connect(config: Config, call: VendorCall): SenderConnection;
}
