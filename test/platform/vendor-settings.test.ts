import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { embeddingConfigOf, embeddingSettings } from '../../src/platform/provider-settings.ts';
import type { ProviderSettings } from '../../src/platform/vendor-settings.ts';

const Settings = z.object(embeddingSettings);
const SERVICE_ACCOUNT = JSON.stringify({
  ...{ client_email: 'e@p-1.iam.gserviceaccount.com', private_key: '-----BEGIN PRIVATE KEY-----\ncanary\n' },
});
const AWS_KEYS = { access_key_id: 'AKIA0', secret_access_key: 'canary' };
const BEDROCK = { protocol: 'bedrock', region: 'us-east-1', ...AWS_KEYS };
const VERTEX = { protocol: 'vertex', project: 'p-1', location: 'us-central1', service_account: SERVICE_ACCOUNT };

function settingsOf(provider: object): ProviderSettings {
  return embeddingConfigOf(Settings.parse({ providers: { v: provider } })).providers['v'] as ProviderSettings;
}

function faultsOf(provider: object): string[] {
  const { error } = Settings.safeParse({ providers: { v: provider } });
  return (error?.issues ?? []).map(({ path, message }) => `${path.slice(2).join('.')}: ${message}`);
}

describe('the address of a vendor', () => {
  it.each([
    [{ protocol: 'openai', base_url: 'https://x.example/v1/' }, 'https://x.example/v1'],
    [{ protocol: 'azure', base_url: 'https://r.openai.azure.com/' }, 'https://r.openai.azure.com/openai/v1'],
    [{ protocol: 'azure', base_url: 'https://r.openai.azure.com/openai/v1' }, 'https://r.openai.azure.com/openai/v1'],
    [
      { protocol: 'azure', base_url: 'https://r.openai.azure.com/openai/deployments/d', api_version: '2024-10-21' },
      'https://r.openai.azure.com/openai',
    ],
    [BEDROCK, 'https://bedrock-runtime.us-east-1.amazonaws.com'],
    [{ ...BEDROCK, region: 'cn-north-1' }, 'https://bedrock-runtime.cn-north-1.amazonaws.com.cn'],
    [{ ...BEDROCK, base_url: 'https://vpce.example/' }, 'https://vpce.example'],
    [VERTEX, 'https://us-central1-aiplatform.googleapis.com/v1/projects/p-1/locations/us-central1'],
    [{ ...VERTEX, location: 'global' }, 'https://aiplatform.googleapis.com/v1/projects/p-1/locations/global'],
    [{ ...VERTEX, location: 'eu' }, 'https://aiplatform.eu.rep.googleapis.com/v1/projects/p-1/locations/eu'],
    [{ ...VERTEX, base_url: 'https://psc.example' }, 'https://psc.example/v1/projects/p-1/locations/us-central1'],
  ])('the address follows from %j', (provider, baseUrl) => {
    expect(settingsOf(provider).endpoints).toMatchObject([{ name: 'key-1', baseUrl }]);
  });
});

describe('the credentials of a vendor', () => {
  it.each([
    [BEDROCK, { kind: 'aws', region: 'us-east-1', keys: { sessionToken: null } }],
    [
      { protocol: 'bedrock', region: 'us-east-1', credentials: 'aws' },
      { kind: 'aws', keys: null },
    ],
    [{ protocol: 'bedrock', region: 'us-east-1', api_key: 'k' }, null],
    [VERTEX, { kind: 'google', serviceAccount: { tokenUrl: 'https://oauth2.googleapis.com/token' } }],
    [{ protocol: 'openai', base_url: 'https://x.example', api_key: 'k' }, null],
  ])('credentials are read from %j', (provider, cloud) => {
    const [endpoint] = settingsOf(provider).endpoints;
    if (cloud === null) expect(endpoint?.cloud).toBeNull();
    else expect(endpoint?.cloud).toMatchObject(cloud);
  });

  it('no form of the settings shows a secret', () => {
    for (const provider of [BEDROCK, { ...BEDROCK, session_token: 'canary' }, VERTEX]) {
      const settings = settingsOf(provider);
      expect(JSON.stringify(settings) + inspect(settings, { depth: 9 })).not.toContain('canary');
    }
    expect(faultsOf({ ...VERTEX, service_account: '{"private_key":"canary"}' }).join()).not.toContain('canary');
  });

  it('each endpoint has credentials and a region of its own', () => {
    const { protocol: _, ...one } = BEDROCK;
    const endpoints = [one, { region: 'eu-west-1', api_key: 'k', name: 'eu' }];
    expect(settingsOf({ protocol: 'bedrock', endpoints }).endpoints).toMatchObject([
      { name: 'key-1', baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com', cloud: { region: 'us-east-1' } },
      { name: 'eu', baseUrl: 'https://bedrock-runtime.eu-west-1.amazonaws.com', cloud: null },
    ]);
  });
});

const ONE_WAY = 'api_key: bedrock needs exactly one of api_key, access_key_id and "credentials: aws"';

it.each([
  [{ protocol: 'azure' }, [': needs either base_url or endpoints']],
  [
    { protocol: 'mistral', base_url: 'https://x', region: 'us-east-1' },
    ['region: is only for protocol bedrock; remove it'],
  ],
  [{ protocol: 'nim', base_url: 'https://x', project: 'p-1' }, ['project: is only for protocol vertex; remove it']],
  [
    { protocol: 'openai', base_url: 'https://x', api_version: '2024-10-21' },
    ['api_version: is only for protocol azure; remove it'],
  ],
  [
    { protocol: 'azure', base_url: 'https://x', api_version: 'v1' },
    ['api_version: must be a date, such as 2024-10-21'],
  ],
  [{ protocol: 'bedrock', api_key: 'k' }, ['region: is needed by protocol bedrock']],
  [{ ...BEDROCK, region: 'here' }, ['region: is not a region of AWS, such as us-east-1']],
  [{ protocol: 'bedrock', region: 'us-east-1' }, [ONE_WAY]],
  [{ ...BEDROCK, api_key: 'k' }, [ONE_WAY]],
  [{ ...BEDROCK, credentials: 'aws' }, [ONE_WAY]],
  [
    { protocol: 'bedrock', region: 'us-east-1', access_key_id: 'AKIA0' },
    ['secret_access_key: access_key_id and secret_access_key belong together; set both or none'],
  ],
  [
    { protocol: 'vertex' },
    [
      ...['project: is needed by protocol vertex', 'location: is needed by protocol vertex'],
      'service_account: is needed by protocol vertex',
    ],
  ],
  [{ ...VERTEX, api_key: 'k' }, ['api_key: is not for protocol vertex; use service_account']],
  [
    { ...VERTEX, service_account: 'key.json' },
    ['service_account: is not the JSON key of a service account (client_email, private_key)'],
  ],
  [
    { ...VERTEX, location: 'evil.example/' },
    ['location: is not a location of Vertex AI, such as us-central1 or global'],
  ],
  [
    { protocol: 'openai', api_key: 'k', endpoints: [{ base_url: 'https://x' }] },
    ['api_key: cannot be combined with endpoints; set api_key in each endpoint'],
  ],
  [{ protocol: 'openai', endpoints: [{ api_key: 'k' }] }, ['endpoints.0.base_url: is needed']],
  [{ protocol: 'bedrock', endpoints: [{ api_key: 'k' }] }, ['endpoints.0.region: is needed by protocol bedrock']],
])('settings that do not fit are refused with what to do: %j', (provider, faults) => {
  expect(faultsOf(provider)).toEqual(faults);
});
