import type { TestApi } from './api.ts';

const REQUEST = { custom_id: 'one', method: 'POST', url: '/v1/embeddings', body: { input: 'x' } };

/** Upload the input of a batch of one request, or a file of another purpose, and return the id of the file. */
export async function storeFile(test: TestApi, key: string, purpose = 'batch'): Promise<string> {
  const form = new FormData();
  form.append('purpose', purpose);
  form.append('file', new Blob([JSON.stringify(REQUEST)]), 'requests.jsonl');
  const { body } = await test.call('POST', '/v1/files', { key, body: form });
  return body.id;
}

/** Return the request for a batch of an uploaded file. */
export function batchOf(fileId: string) {
  return { input_file_id: fileId, endpoint: '/v1/embeddings', completion_window: '24h' };
}
