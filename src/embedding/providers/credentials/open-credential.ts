import type { EndpointSettings } from '../../../platform/vendor-settings.ts';
import { openAwsCredential } from './aws-credential.ts';
import type { Credential } from './credential.ts';
import { openGoogleCredential } from './google-credential.ts';

/** Open the credential of an endpoint. Nothing is sent or read before the first call. */
export function openCredential({ apiKey, cloud }: Pick<EndpointSettings, 'apiKey' | 'cloud'>): Credential {
  if (cloud?.kind === 'aws') return openAwsCredential(cloud);
  if (cloud?.kind === 'google') return openGoogleCredential(cloud.serviceAccount);
  return { key: () => apiKey, close: async () => {} };
}
