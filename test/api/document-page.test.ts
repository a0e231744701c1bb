import { afterAll, beforeAll, expect, it } from 'vitest';
import { createToken } from '../../src/access/tokens.ts';
import { createUser } from '../../src/access/users.ts';
import { documentUrl } from '../../src/documents/document-link.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { connect, TOOL_SERVER } from '../support/oauth.ts';

let test: TestApi;
let key: string;
let id: string;

const PARAGRAPH = Array.from({ length: 60 }, (_, n) => `word${n}`).join(' ');
const SECTIONS = Array.from(
  { length: 120 },
  (_, n) => `# Section ${n}\n\n\\<b>Passage ${n}\\</b> & more. ${PARAGRAPH}.`,
);
const TEXT = SECTIONS.join('\n\n');

beforeAll(async () => {
  test = await openTestApi({
    settings: { search: { result_links: 'signed' }, tool_server: { urls: [TOOL_SERVER] } },
  });
  key = await test.key({ scopes: ['search'], authLevel: 5 });
  const documents = [{ id: 'long', fileName: 'long <i>.md', text: TEXT }];
  const { idOf } = await ingestAll(test.appliance, test.operator, 'default', documents);
  id = [...idOf.keys()][0] as string;
});
afterAll(() => test.close());

async function firstResult(query: string) {
  const reply = await test.call('POST', '/v2/buckets/default/search', { key, json: { query, top_k: 1 } });
  return reply.body.results[0];
}

it('a search result links to a page that shows its chunk, with heading and escaped text', async () => {
  const result = await firstResult('Passage 42');
  const { url } = result.citation;
  expect(url.startsWith(`${test.api.url}/documents/${id}?link=`)).toBe(true);
  expect(url.endsWith(`#chunk-${result.chunk_index}`)).toBe(true);
  const page = await fetch(url);
  const html = await page.text();
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  expect(page.headers.get('cache-control')).toBe('no-store');
  expect(html).toContain(`id="chunk-${result.chunk_index}" class="cited"`);
  expect(html).toContain('Section 42');
  expect(html).toContain('&lt;b&gt;Passage 42&lt;/b&gt; &amp; more.');
  expect(html).not.toContain('<b>');
  expect(html).toContain('<title>long &lt;i&gt;.md</title>');
});

it('the page leads to earlier and later chunks', async () => {
  const { url } = (await firstResult('Passage 50')).citation;
  const html = await (await fetch(url)).text();
  const [earlier, later] = [...html.matchAll(/<a href="([^"]+)"/g)].map(([, href = '']) =>
    href.replaceAll('&amp;', '&'),
  );
  for (const [path, wanted] of [
    [earlier, 'Passage 9'],
    [later, 'Passage 99'],
  ] as const) {
    expect(await (await fetch(new URL(path ?? '', url))).text()).toContain(wanted);
  }
});

it('a link is refused once it is changed, used for another document, or expired', async () => {
  const { url } = (await firstResult('Passage 3')).citation;
  const [, token = ''] = /link=([^&]+)/.exec(url) ?? [];
  const page = (document: string, link: string) => fetch(`${test.api.url}/documents/${document}?link=${link}`);
  const changed = `${token[0] === 'A' ? 'B' : 'A'}${token.slice(1)}`;
  for (const [document, link] of [
    [id, changed],
    ['doc_other', token],
    [id, ''],
    [id, `${token}x`],
    [id, 'x'.repeat(5000)],
  ] as const) {
    const refused = await page(document, link);
    expect([link.slice(0, 8), refused.status]).toEqual([link.slice(0, 8), 403]);
    expect(await refused.text()).not.toContain('Passage');
  }
  const { keyRing } = test.appliance;
  const made = { caller: test.operator, origin: test.api.url, documentId: id, chunkIndex: 0 };
  const expired = await fetch(documentUrl(keyRing, { ...made, nowMs: Date.now() - 62 * 60_000 }));
  expect(expired.status).toBe(410);
  expect(await expired.text()).toContain('has expired');
});

it('a link does not show what its maker may not see any more', async () => {
  const { url } = (await firstResult('Passage 5')).citation;
  const { sql } = test.appliance;
  await sql`UPDATE documents SET privacy_level = 6 WHERE id = ${id}`;
  const hidden = await fetch(url);
  await sql`UPDATE documents SET privacy_level = 1 WHERE id = ${id}`;
  expect(hidden.status).toBe(404);
  expect((await fetch(url)).status).toBe(200);
});

it('gives the text of a document in ranges that join to the whole', async () => {
  let text = '';
  for (let offset: number | null = 0; offset !== null; ) {
    const path = `/v1/buckets/default/documents/${id}/text?offset=${offset}&limit=997`;
    const { status, body } = await test.call('GET', path, { key });
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, file_name: 'long <i>.md', offset });
    text += body.text;
    offset = body.next_offset;
  }
  const words = (value: string) => value.split(/\s+/).filter((word) => word !== '' && word !== '#');
  expect(words(text)).toEqual(words(TEXT.replaceAll('\\', '')));
  const result = await firstResult('Passage 42');
  const { start, end } = result.citation.locator;
  const range = `offset=${start}&limit=${end - start}`;
  const exact = await test.call('GET', `/v1/buckets/default/documents/${id}/text?${range}`, { key });
  expect(exact.body.text).toBe(result.text);
});

it('answers for text that is not there yet, beyond the end, and of unknown documents', async () => {
  const path = (document: string, query = '') => `/v1/buckets/default/documents/${document}/text${query}`;
  const beyond = await test.call('GET', path(id, '?offset=10000000'), { key });
  expect(beyond.body).toMatchObject({ text: '', next_offset: null });
  expect((await test.call('GET', path('doc_missing'), { key })).status).toBe(404);
  expect((await test.call('GET', path(id, '?limit=0'), { key })).status).toBe(400);
  const { sql } = test.appliance;
  const [document] = await sql`SELECT active_generation FROM documents WHERE id = ${id}`;
  await sql`UPDATE documents SET active_generation = NULL WHERE id = ${id}`;
  const early = await test.call('GET', path(id), { key });
  await sql`UPDATE documents SET active_generation = ${document?.['active_generation']} WHERE id = ${id}`;
  expect([early.status, early.body.detail]).toEqual([409, expect.stringContaining('no text yet')]);
});

it('links begin with the configured address, with that of a trusted proxy, or with the own one', async () => {
  const search = async (settings: Record<string, unknown>, headers: Record<string, string>) => {
    const signed = { search: { result_links: 'signed' } };
    const other = await openTestApi({ worker: false, beside: test, settings: { ...signed, ...settings } });
    try {
      const json = { query: 'Passage 7', top_k: 1 };
      const { body } = await other.call('POST', '/v2/buckets/default/search', { key, json, headers });
      return body.results[0].citation.url.replace(other.api.url, '<own>').split('/documents/')[0];
    } finally {
      await other.close();
    }
  };
  const forwarded = { 'X-Forwarded-Host': 'docs.example.com', 'X-Forwarded-Proto': 'https' };
  expect(await search({ base_url: 'https://a.example.com/svc/' }, forwarded)).toBe('https://a.example.com/svc');
  expect(await search({ trust_proxy: ['127.0.0.1'] }, forwarded)).toBe('https://docs.example.com');
  expect(
    await search({ trust_proxy: ['127.0.0.1'] }, { 'X-Forwarded-Host': 'a"><b', 'X-Forwarded-Proto': 'https' }),
  ).toBe('<own>');
  expect(await search({ trust_proxy: ['10.0.0.0/8'] }, forwarded)).toBe('<own>');
  expect(await search({}, forwarded)).toBe('<own>');
});

it('a link ends with the key that it was made for, and with its organization', async () => {
  const own = await test.key({ scopes: ['search'], authLevel: 5 });
  const search = { key: own, json: { query: 'Passage 7', top_k: 1 } };
  const { url } = (await test.call('POST', '/v2/buckets/default/search', search)).body.results[0].citation;
  const status = async () => (await fetch(url)).status;
  const { sql } = test.appliance;
  expect(await status()).toBe(200);
  await sql`UPDATE organizations SET suspended_at = now() WHERE name = 'default'`;
  expect(await status()).toBe(403);
  await sql`UPDATE organizations SET suspended_at = NULL WHERE name = 'default'`;
  expect(await status()).toBe(200);
  const [, id] = own.split('_');
  await sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${id as string}`;
  expect(await status()).toBe(403);
});

/** Credential that searches, and the id of its key or user. */
interface Maker {
  readonly credential: string;
  readonly id: string;
}

const makeKey = async (): Promise<Maker> => {
  const credential = await test.key({ scopes: ['search'], authLevel: 5 });
  return { credential, id: credential.split('_')[1] as string };
};
const makeClient = async (): Promise<Maker> => {
  const { credential, id } = await makeKey();
  return { credential: (await connect(test, credential)).access, id };
};
const makeUser = (role: 'admin' | 'member') => async (): Promise<Maker> => {
  const { sql, keyRing } = test.appliance;
  const email = `${crypto.randomUUID()}@example.com`;
  const user = await createUser(sql, test.operator, { email, role, authLevel: 5, department: 'sales' });
  const { token } = await createToken(sql, keyRing, test.operator, { user, ttlMs: 60_000 });
  return { credential: token.reveal(), id: user.id };
};
const changeKey = (columns: Record<string, unknown>) => (id: string) =>
  test.appliance.sql`UPDATE api_keys SET ${test.appliance.sql(columns)} WHERE id = ${id}`;
const changeUser = (columns: Record<string, unknown>) => (id: string) =>
  test.appliance.sql`UPDATE users SET ${test.appliance.sql(columns)} WHERE id = ${id}`;
const past = new Date(0);
const endGrant = (id: string) =>
  test.appliance.sql`UPDATE oauth_grants SET expires_at = now() WHERE actor = ${`key:${id}`}`;

it.each([
  ['a key whose level falls', makeKey, changeKey({ auth_level: 2 }), null, 404],
  ['a key that may not use the bucket any more', makeKey, changeKey({ limits: { buckets: ['bkt_x'] } }), null, 404],
  ['a key that may not read any more', makeKey, changeKey({ scopes: ['embed'] }), null, 404],
  ['a key that expires', makeKey, changeKey({ expires_at: past }), null, 403],
  ['a client of a key whose level falls', makeClient, changeKey({ auth_level: 2 }), null, 404],
  ['a client of a key that is revoked', makeClient, changeKey({ revoked_at: past }), null, 403],
  ['a client whose access ends', makeClient, endGrant, null, 403],
  ['a person whose level falls', makeUser('member'), changeUser({ auth_level: 2 }), null, 404],
  ['a person who leaves the department', makeUser('member'), changeUser({ department: 'law' }), 'sales', 404],
  ['an administrator who becomes a member', makeUser('admin'), changeUser({ role: 'member' }), 'law', 404],
  ['a person who is suspended', makeUser('member'), changeUser({ suspended_at: past }), null, 403],
])('a link of %s has no more rights than its maker has now', async (_, make, change, scope, status) => {
  const maker = await make();
  const { sql } = test.appliance;
  await sql`UPDATE documents SET privacy_level = 3, scope = ${scope} WHERE id = ${id}`;
  const search = { key: maker.credential, json: { query: 'Passage 8', top_k: 1 } };
  const { url } = (await test.call('POST', '/v2/buckets/default/search', search)).body.results[0].citation;
  expect((await fetch(url)).status).toBe(200);
  await change(maker.id);
  expect((await fetch(url)).status).toBe(status);
  await sql`UPDATE documents SET privacy_level = 1, scope = NULL WHERE id = ${id}`;
});
