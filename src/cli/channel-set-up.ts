import { MESSENGERS } from '../channels/messengers/messengers.ts';
import type { CreatedChannel } from '../channels/schema.ts';

/** Explain what to do at the platform of a new channel. @param baseUrl address of the service; null if unknown */
export function setUpLines({ id, provider, webhook_path: path }: CreatedChannel, baseUrl: string | null): string[] {
  const what = baseUrl === null ? 'path of your public address' : 'address';
  const steps = MESSENGERS.get(provider)?.steps ?? [];
  return [
    `register this ${what} at the platform: ${baseUrl?.replace(/\/+$/, '') ?? ''}${path}`,
    ...steps.map((step, index) => `  ${index + 1}. ${step}`),
    `then try it: service channels test ${id} 'a question'`,
  ];
}
