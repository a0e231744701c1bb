import { openGoogleCredential } from '../../../platform/upstream/google-credential.ts';
import type { EndpointSettings } from '../../../platform/vendor-settings.ts';
import { openAwsCredential } from './aws-credential.ts';
import type { Credential } from './credential.ts';

/** OAuth scope for all of Google Cloud. */
const GOOGLE_CLOUD = 'https://www.googleapis.com/auth/cloud-platform';

/** Open the credential of an endpoint. Don't send or read anything before the first call. */
export function openCredential({ apiKey, cloud }: Pick<EndpointSettings, 'apiKey' | 'cloud'>): Credential {
  if (cloud?.kind === 'aws') return openAwsCredential(cloud);
  if (cloud?.kind === 'google') return openGoogleCredential(cloud.serviceAccount, GOOGLE_CLOUD);
  return { key: () => apiKey, close: async () => {} };
}
