import type { ChannelsConfig } from '../../platform/channel-settings.ts';
import type { MESSENGER, MessengerConfig } from '../schema.ts';
import { openMessengerSender } from './messenger.ts';
import type { SenderConfig, SenderConnection } from './sender.ts';
import { SENDERS } from './senders.ts';
import { openVendor, type VendorConnections } from './vendor-call.ts';

/** Configuration of a provider of notifications with its credentials, checked by the schema of the provider. */
export type SendingConfig =
  | { readonly provider: typeof MESSENGER; readonly config: MessengerConfig }
  | { readonly provider: string; readonly config: SenderConfig };

/** Connections to the providers of notifications. The first use of a provider opens its connections. */
export interface Senders {
  /** Return the connection of a configuration; null if its notifications only go to the local outbox. */
  connect(channel: SendingConfig): SenderConnection | null;
  close(): Promise<void>;
}

export function openSenders({ messenger, vendors }: Pick<ChannelsConfig, 'messenger' | 'vendors'>): Senders {
  const messengerSender = messenger && openMessengerSender(messenger);
  const opened = new Map<string, VendorConnections>();
  const vendorOf = (provider: string): VendorConnections => {
    const known = opened.get(provider);
    if (known !== undefined) return known;
    const connections = openVendor(vendors[provider as keyof typeof vendors]);
    opened.set(provider, connections);
    return connections;
  };
  return {
    connect({ provider, config }) {
      const sender = SENDERS.get(provider);
      if (sender === undefined) return messengerSender?.connect(config as MessengerConfig) ?? null;
      return sender.connect(config as SenderConfig, vendorOf(provider).call);
    },
    async close() {
      await messengerSender?.close();
      for (const connections of opened.values()) await connections.close();
    },
  };
}
