import { expect, it } from 'vitest';
import { azureAt, callFor } from './cloud-under-test.ts';
import { startProvider, startUpstream } from './provider-under-test.ts';

it.each([
  ['the v1 API takes the deployment in the body', {}, { model: 'my-small' }],
  ['the dated API takes the deployment in the path', { api_version: '2024-10-21' }, {}],
  ['an address that names an API is completed', { path: 'openai/deployments/x' }, { model: 'my-small' }],
])('Azure: %s', async (_, { path = '', ...more }: { path?: string; api_version?: string }, sent) => {
  const upstream = await startUpstream({ apiKeys: ['azure-key'] });
  const models = { 'vendor-x/text-embedding-3-small': 'my-small' };
  const settings = azureAt(upstream, { ...more, models, base_url: `${upstream.url}/azure/${path}` });
  const { provider } = startProvider(settings);
  await provider.embed(callFor('azure', 'text-embedding-3-small', ['one']));
  expect(upstream.calls).toMatchObject([{ protocol: 'azure', model: 'my-small', apiKey: 'azure-key' }]);
  expect(upstream.calls[0]?.body).toEqual({ input: ['one'], encoding_format: 'base64', ...sent });
  expect(upstream.calls[0]?.headers).not.toHaveProperty('authorization');
  expect(upstream.violations).toEqual([]);
});
