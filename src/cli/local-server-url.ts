import type { Config } from '../platform/config.ts';

/** Return the address of the server of these settings on its own machine. */
export function localServerUrl({ host, port }: Pick<Config, 'host' | 'port'>): string {
  const wildcards: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const address = wildcards[host] ?? host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}
