import type { ChannelsConfig, VendorName } from '../../platform/channel-settings.ts';
import type { MessengerConfig } from '../schema.ts';
import { openMessengerSender } from './messenger.ts';
import type { Sender, SenderConfig, SenderConnection } from './sender.ts';
import { openVendor, type VendorConnections } from './vendor-call.ts';

/** Way in which a configuration sends: through the contract's provider or an Alimtalk vendor. */
export type SendingConfig =
  | { readonly kind: 'contract'; readonly config: MessengerConfig }
  | { readonly kind: 'vendor'; readonly sender: Sender; readonly config: SenderConfig };

/** Connections to notification providers, opened on first use of each vendor. */
export interface Senders {
  /** Return the connection of a configuration; null if its notifications stay in the local outbox. */
  connect(channel: SendingConfig): SenderConnection | null;
  close(): Promise<void>;
}

export function openSenders({ messenger, vendors }: Pick<ChannelsConfig, 'messenger' | 'vendors'>): Senders {
  const contract = messenger && openMessengerSender(messenger);
  const opened = new Map<VendorName, VendorConnections>();
  const vendorOf = (name: VendorName): VendorConnections => {
    const connections = opened.get(name) ?? openVendor(vendors[name]);
    opened.set(name, connections);
    return connections;
  };
  return {
    connect(channel) {
      if (channel.kind === 'contract') return contract?.connect(channel.config) ?? null;
      return channel.sender.connect(channel.config, vendorOf(channel.sender.provider).call);
    },
    async close() {
      await contract?.close();
      for (const connections of opened.values()) await connections.close();
    },
  };
}
