import OpenAI, { toFile } from 'openai';
import type { Scope } from '../../src/access/caller.ts';
import type { TestApi } from './api.ts';
import { until } from './until.ts';

/** Scopes of a key for everything that OpenAI's library does with vector stores. */
export const STORE_SCOPES: Scope[] = ['embed', 'search', 'documents:write', 'buckets:manage'];

/** Open OpenAI's library with a new key of an organization. */
export async function openStoreClient(
  test: TestApi,
  { org = 'default', scopes = STORE_SCOPES }: { org?: string; scopes?: Scope[] } = {},
): Promise<OpenAI> {
  const apiKey = await test.key({ scopes, org });
  return new OpenAI({ apiKey, baseURL: `${test.api.url}/v1`, maxRetries: 0 });
}

export const textFile = (text: string, name = 'notes.txt') => toFile(Buffer.from(text), name);

/** Upload a file for vector stores, and return its id. */
export async function uploadText(client: OpenAI, text: string): Promise<string> {
  return (await client.files.create({ file: await textFile(text), purpose: 'assistants' })).id;
}

/** Create a vector store with a file for each text, and wait until they are searchable. */
export async function storeWith(client: OpenAI, texts: readonly string[], more: OpenAI.VectorStoreCreateParams = {}) {
  const file_ids = await Promise.all(texts.map((text) => uploadText(client, text)));
  const { id } = await client.vectorStores.create({ ...more, file_ids });
  await until(async () => (await client.vectorStores.retrieve(id)).status === 'completed', {
    what: 'the end of the files',
  });
  return { id, file_ids };
}

/** Read all pages of a list. */
export async function idsOf(list: AsyncIterable<{ readonly id: string }>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of list) ids.push(id);
  return ids;
}
