import { z } from 'zod';
import type { VendorName } from '../../platform/channel-settings.ts';

/** Fallback text message that the vendor sends if KakaoTalk doesn't deliver the notification. */
export interface TextMessage {
  readonly type: 'SMS' | 'LMS';
  /** Sender's registered number, digits only. */
  readonly from: string;
  readonly title: string | null;
  readonly text: string;
}

/** Notification ready to send. */
export interface OutgoingMessage {
  /** Id of the notification in the outbox. Vendors with a field for it store it with the message. */
  readonly id: string;
  readonly phone: string;
  readonly templateCode: string;
  readonly args: Readonly<Record<string, string>>;
  /** Template with its variables replaced; null if the sender doesn't know its templates. */
  readonly rendered: RenderedTemplate | null;
  /** Fallback text message; null for none. */
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
  /** Buttons in the vendor's format. */
  readonly buttons: readonly object[];
  /** Names of the variables in all texts. */
  readonly variables: readonly string[];
  /** Vendor's name of a state that prevents sending; null if the template is usable. */
  readonly unusable: string | null;
}

/** State of an accepted message. `text`: it was delivered as a text message instead. */
export type DeliveryReport =
  | { readonly state: 'pending' }
  | { readonly state: 'delivered'; readonly as: 'notification' | 'text' }
  | { readonly state: 'failed'; readonly reason: string };

/** Result of looking up a message without an id. `unclear`: several messages could be it. */
export type Found = { readonly messageId: string } | 'absent' | 'unclear';

/**
 * Connection to a vendor with the credentials of one configuration. Every function throws `NotAccepted`. Without the
 * optional functions, the vendor can't be asked about a message after sending it.
 */
export interface SenderConnection {
  /** Send a notification, and return its id at the vendor. */
  send(message: OutgoingMessage): Promise<string>;
  /** Return a template, or null if the vendor doesn't know it. */
  template?(code: string): Promise<Template | null>;
  /** Return the state of a message by its id at the vendor. */
  report?(messageId: string): Promise<DeliveryReport>;
  /** Look up a message that may have been accepted. `others` are the ids of other messages to the same number. */
  find?(message: OutgoingMessage, others: ReadonlySet<string>): Promise<Found>;
}

/** Configuration fields common to all notification vendors. */
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

/** Response of a vendor, with any status. */
export interface VendorReply {
  readonly status: number;
  /** Parsed body; undefined if it is not JSON. */
  readonly json: unknown;
  readonly retryAfterMs: number | null;
}

export interface VendorRequest {
  readonly method: 'GET' | 'POST';
  /** Path and query of the request. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** Function that calls a vendor. It throws `NotAccepted` if there is no response. */
export type VendorCall = (request: VendorRequest) => Promise<VendorReply>;

/** Notification vendor. Every vendor passes `test/channels/senders.test.ts`. */
export interface Sender<Config extends SenderConfig = SenderConfig> {
  /** Value of `provider` in a configuration. */
  readonly provider: VendorName;
  /** Vendor name for messages. */
  readonly label: string;
  /** Schema of the fields of a configuration. */
  readonly config: z.ZodType<Config, object>;
  connect(config: Config, call: VendorCall): SenderConnection;
}
