import { expect } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import type { TestApi } from '../support/api.ts';
import { createConfig } from '../support/channels.ts';
import { storeFile } from '../support/stored-file.ts';
import { until } from '../support/until.ts';

const DOCUMENTS = 12;
const DEFINITION = {
  blocks: [{ id: 'find', type: 'search', with: { bucket: 'library', query: 'pump', mode: 'keyword' } }],
};
/** Words of which each document has some, so that rankings differ. */
const WORDS = ['pump', 'valve', 'gasket', 'motor', 'bearing', 'filter', 'coolant'];

export const QUERIES = ['pump', 'gasket of the motor', 'which bearing needs coolant?', 'drive', 'secret valve'];

/** Organization with one of everything, and what it answers. */
export interface FilledOrganization {
  /** Key with every scope, and a key that may see little. */
  readonly keys: readonly [all: string, few: string];
  readonly bucketIds: readonly string[];
}

/** Fill an organization with one of everything. An ingest worker must be running. */
export async function fillOrganization(api: TestApi, org: string): Promise<FilledOrganization> {
  const key = await api.key({ org, scopes: [...SCOPES], authLevel: 10 });
  const few = await api.key({ org, scopes: ['search'], authLevel: 1 });
  const send = async (method: string, path: string, json: object) => {
    const { status, body } = await api.call(method, path, { key, json });
    expect([path, status, status < 300 ? null : body]).toEqual([path, expect.any(Number), null]);
    return body;
  };
  const post = (path: string, json: object) => send('POST', path, json);
  await post('/v1/users', { email: 'ana@example.com' });
  await post('/v1/groups', { name: 'board', members: ['ana@example.com'] });
  const library = (await post('/v1/buckets', { name: 'library' })).id;
  const shelf = (await post('/v1/buckets/library/collections', { name: 'shelf' })).id;
  for (let nth = 0; nth < DOCUMENTS; nth++) {
    const text = WORDS.filter((_, at) => (nth + 1) % (at + 1) === 0).map(
      (word) => `The ${word} number ${nth} is here.`,
    );
    await post('/v1/buckets/library/documents', {
      ...{ filename: `part-${nth}.txt`, text: text.join('\n'), collection_id: nth % 3 === 0 ? shelf : undefined },
      metadata: { topic: nth % 2 === 0 ? 'even' : 'odd' },
      ...(nth % 4 === 0 ? { privacy_level: 5 } : {}),
      ...(nth === 6 ? { access: { groups: ['board'] } } : {}),
    });
  }
  await send('PUT', '/v1/buckets/library/synonyms', { groups: [['motor', 'drive']] });
  const store = (await post('/v1/vector_stores', { name: 'store' })).id;
  await post(`/v1/vector_stores/${store}/files`, { file_id: await storeFile(api, key, 'assistants') });
  await post('/v1/embed/jobs', { texts: ['one', 'two'] });
  await createConfig(api, key);
  const workflow = (await post('/v1/workflows', { name: 'answers', definition: DEFINITION })).id;
  await post(`/v1/workflows/${workflow}/publish`, {});
  await post(`/v1/workflows/${workflow}/run`, { inputs: {}, mode: 'simulate' });
  await post(`/v1/workflows/${workflow}/triggers`, { webhook: true });
  await post('/v1/webhooks', { name: 'ours', url: 'https://example.com/hooks', events: ['document.ready'] });
  await post('/v1/assistants', { name: 'helper', buckets: ['library'] });
  await until(
    async () => {
      const rows = await api.appliance.sql`
        SELECT 1 FROM documents d JOIN organizations o ON o.id = d.org_id
        WHERE o.name = ${org} AND (d.status <> 'ready' OR d.keyword_only)`;
      return rows.length === 0;
    },
    { withinMs: 60_000, what: 'ingest' },
  );
  return { keys: [key, few], bucketIds: [library, store] };
}

/** Return what an installation answers about an organization: searches with their orders and scores, and lists. */
export async function answersOf(api: TestApi, { keys, bucketIds }: FilledOrganization): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const key of keys) {
    for (const bucket of bucketIds) {
      for (const query of QUERIES) {
        const { status, body } = await api.call('POST', `/v2/buckets/${bucket}/search`, {
          key,
          json: { query, top_k: 10 },
        });
        expect(status).toBe(200);
        answers.push(
          body.results.map((result: Record<string, unknown>) => [
            result['document_id'],
            result['chunk_id'],
            result['score'],
          ]),
        );
      }
    }
  }
  const [all] = keys;
  for (const path of LISTS) {
    const { status, body } = await api.call('GET', path, { key: all });
    expect([path, status]).toEqual([path, 200]);
    answers.push([path, body]);
  }
  return answers;
}

const LISTS = [
  '/v1/buckets',
  '/v1/buckets/library',
  '/v1/buckets/library/documents',
  '/v1/buckets/library/synonyms',
  '/v1/vector_stores',
  '/v1/files',
  '/v1/groups/board',
  '/v1/users',
  '/v1/workflows/answers',
  '/v1/webhooks',
  '/v1/assistants',
  '/v1/channels/configs',
];
