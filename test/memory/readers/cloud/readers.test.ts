import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openConfluenceReader } from '../../../../src/memory/readers/cloud/confluence-reader.ts';
import { openGoogleDriveReader } from '../../../../src/memory/readers/cloud/google-drive-reader.ts';
import { openNotionReader } from '../../../../src/memory/readers/cloud/notion-reader.ts';
import { openSharePointReader } from '../../../../src/memory/readers/cloud/sharepoint-reader.ts';
import type { ListedEntry, ReadEntry } from '../../../../src/memory/readers/source-reader.ts';
import { Secret } from '../../../../src/platform/secret.ts';
import { type FakeReply, startFakeApi } from './fake-api.ts';
import { BYTES_MAX, listAll, textOf, textsOf } from './read-source.ts';

const NEVER = new AbortController().signal;
const refused = (message: string): FakeReply => ({ status: 401, json: { message } });

describe('Confluence', () => {
  const page = (id: string, title: string) => ({
    ...{ id, title, version: { number: 3, createdAt: '2024-05-06T07:08:09.000Z' } },
    _links: { webui: `/spaces/ENG/pages/${id}` },
  });
  const answer = ({ path: at, query, headers }: Parameters<Parameters<typeof startFakeApi>[0]>[0]): FakeReply => {
    const token = Buffer.from('ann@example.com:dulse').toString('base64');
    if (headers.authorization !== `Basic ${token}`) return refused('the token is wrong');
    if (at === '/wiki/api/v2/spaces') return { json: { results: [{ id: '7', key: 'ENG' }] } };
    if (at === '/wiki/api/v2/spaces/7/pages') {
      if (query.get('cursor') === 'x') return { json: { results: [page('2', 'Tides & <winds>')] } };
      return { json: { results: [page('1', 'Anchors')], _links: { next: `${at}?cursor=x` } } };
    }
    if (at === '/wiki/api/v2/pages/1') return { json: { body: { export_view: { value: '<p>Drop the anchor.</p>' } } } };
    if (at === '/wiki/api/v2/pages/2') return { status: 404, json: { message: 'gone' } };
    return { status: 500 };
  };
  const open = (url: string, token = 'dulse', spaces?: string[]) =>
    openConfluenceReader({ url, email: 'ann@example.com', token: new Secret(token) }, { spaces });

  it('shows the pages of its spaces with their addresses and times', async () => {
    const { url } = await startFakeApi(answer);
    const reader = open(url);
    const entries = await listAll(reader);
    expect(entries.map(({ key, version }) => [key, version])).toEqual([
      ['ENG/1', '3'],
      ['ENG/2', '3'],
    ]);
    const read = await reader.read(entries, NEVER);
    expect(read).toHaveLength(1);
    expect(read[0]).toMatchObject({
      ...{ fileName: 'Anchors.html', sourcePath: `${url}/wiki/spaces/ENG/pages/1` },
      eventTimeMs: Date.parse('2024-05-06T07:08:09Z'),
    });
    expect(await textOf(read[0] as ReadEntry)).toContain('<h1>Anchors</h1><p>Drop the anchor.</p>');
  });

  it('tells what is wrong with the token and with the space', async () => {
    const { url } = await startFakeApi(answer);
    await expect(listAll(open(url, 'other'))).rejects.toThrow(
      /answers 401 \(the token is wrong\); check the credentials/,
    );
    await expect(listAll(open(url, 'dulse', ['OPS']))).rejects.toThrow('shows no space OPS');
  });

  it('waits as long as it is asked to, and ends in a circle', async () => {
    let calls = 0;
    const api = await startFakeApi((call) => {
      calls++;
      return calls === 1 ? { status: 429, headers: { 'retry-after': '0' } } : answer(call);
    });
    expect(await listAll(open(api.url))).toHaveLength(2);
    api.answer = ({ path: at }) =>
      at.endsWith('/pages')
        ? { json: { results: [], _links: { next: `${at}?cursor=same` } } }
        : { json: { results: [{ id: '7', key: 'ENG' }] } };
    await expect(listAll(open(api.url))).rejects.toThrow('in a circle');
  });
});

describe('Notion', () => {
  const page = (id: string, title: string, more = {}) => ({
    ...{
      object: 'page',
      id,
      url: `https://www.notion.so/${id}`,
      last_edited_time: '2024-05-06T07:08:00.000Z',
      ...more,
    },
    properties: { Name: { type: 'title', title: [{ plain_text: title }] } },
  });

  it('shows the pages that are shared with it, as Markdown', async () => {
    const api = await startFakeApi(({ path: at, body, headers }) => {
      if (headers.authorization !== 'Bearer dulse' || headers['notion-version'] === undefined)
        return refused('API token is invalid.');
      if (at === '/v1/pages/a/markdown')
        return { json: { object: 'page_markdown', id: 'a', markdown: 'Drop the anchor.' } };
      const { start_cursor: cursor } = JSON.parse(body);
      if (cursor === 'next') return { json: { results: [page('b', 'Old', { in_trash: true })], next_cursor: null } };
      return { json: { results: [page('a', 'Anchors')], next_cursor: 'next' } };
    });
    const reader = openNotionReader({ url: api.url, token: new Secret('dulse') });
    const entries = await listAll(reader);
    expect(entries).toMatchObject([{ key: 'a', version: '2024-05-06T07:08:00.000Z' }]);
    const [read] = await reader.read(entries, NEVER);
    expect(read).toMatchObject({ fileName: 'Anchors.md', sourcePath: 'https://www.notion.so/a' });
    expect(await textOf(read as ReadEntry)).toBe('# Anchors\n\nDrop the anchor.');
    const wrong = openNotionReader({ url: api.url, token: new Secret('other') });
    await expect(listAll(wrong)).rejects.toThrow('API token is invalid.');
  });
});

describe('Google Drive', () => {
  const DOCUMENT = 'application/vnd.google-apps.document';
  const file = (id: string, name: string, more = {}) => ({
    ...{ id, name, mimeType: 'text/plain', modifiedTime: '2024-05-06T07:08:09Z', md5Checksum: `md5-${id}`, size: '5' },
    ...more,
  });
  const FILES = [
    file('top', 'Team', { mimeType: 'application/vnd.google-apps.folder', md5Checksum: undefined }),
    file('sub', 'Sub/folder', { mimeType: 'application/vnd.google-apps.folder', parents: ['top'] }),
    file('a', 'a.txt', { parents: ['sub'] }),
    file('b', 'a.txt', { parents: ['sub'] }),
    file('c', 'Plan', { mimeType: DOCUMENT, md5Checksum: undefined, size: undefined, version: '9', parents: ['top'] }),
    file('d', 'elsewhere.txt', { parents: ['unseen'] }),
    file('e', 'Survey', { mimeType: 'application/vnd.google-apps.form', parents: ['top'] }),
    file('big', 'big.txt', { parents: ['top'], size: String(BYTES_MAX + 1) }),
  ];

  async function start(files: () => object[] = () => FILES) {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const api = await startFakeApi(({ path: at, query, headers }) => {
      if (at === '/token') return { json: { access_token: 'dulse', expires_in: 3600 } };
      if (headers.authorization !== 'Bearer dulse') return refused('Invalid Credentials');
      if (at === '/drive/v3/files') {
        const isFirst = query.get('pageToken') === null;
        return {
          json: { files: isFirst ? files().slice(0, 3) : files().slice(3), ...(isFirst ? { nextPageToken: 'x' } : {}) },
        };
      }
      if (at === '/drive/v3/files/c/export') return { body: `exported as ${query.get('mimeType')}` };
      return { body: `text of ${at.split('/').at(-1)}` };
    });
    const account = {
      ...{ email: 'reader@example.com', keyId: null, tokenUrl: `${api.url}/token` },
      privateKey: new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()),
    };
    return { url: api.url, account };
  }

  it('shows files by their paths, exports documents, and leaves out what has no content', async () => {
    const reader = openGoogleDriveReader(await start(), {}, BYTES_MAX);
    const entries = await listAll(reader);
    expect(entries.map(({ key }) => key).toSorted()).toEqual([
      'Team/Plan.md',
      'Team/Sub_folder/a (b).txt',
      'Team/Sub_folder/a.txt',
      'Team/big.txt',
      'elsewhere.txt',
    ]);
    expect(await textsOf(reader, entries)).toEqual({
      'Team/Plan.md': 'exported as text/markdown',
      'Team/Sub_folder/a.txt': 'text of a',
      'Team/Sub_folder/a (b).txt': 'text of b',
      'Team/big.txt': expect.stringContaining('more than the maximum'),
      'elsewhere.txt': 'text of d',
    });
  });

  it('lets the rights of files come along, and tells by the version that they changed', async () => {
    const permissions = (id: string) => ({
      permissions: [
        { type: 'user', emailAddress: `${id}@example.com` },
        { type: 'user', emailAddress: 'gone@example.com', deleted: true },
        { type: 'group', emailAddress: 'legal@example.com' },
      ],
    });
    let shared = [
      file('x', 'x.txt', permissions('x')),
      file('y', 'y.txt', { permissions: [{ type: 'anyone' }] }),
      file('z', 'z.txt'),
    ];
    const reader = openGoogleDriveReader(await start(() => shared), { rights: true }, BYTES_MAX);
    const readersOf = async (entries: readonly ListedEntry[]) => {
      const read = await reader.read(entries, NEVER);
      return read.map((entry) => ('readers' in entry ? entry.readers : null));
    };
    const entries = await listAll(reader);
    expect(await readersOf(entries)).toEqual([
      { emails: ['x@example.com'], groups: ['legal@example.com'] },
      'everyone',
      { emails: [], groups: [] },
    ]);
    shared = [file('x', 'x.txt', permissions('other')), ...shared.slice(1)];
    const changed = await listAll(reader);
    expect(changed.map(({ version }, nth) => version === entries[nth]?.version)).toEqual([false, true, true]);
  });

  it('refuses an incomplete listing, which would remove documents', async () => {
    const api = await startFakeApi(({ path: at }) =>
      at === '/token'
        ? { json: { access_token: 'dulse', expires_in: 3600 } }
        : { json: { files: FILES.slice(2, 3), incompleteSearch: true } },
    );
    const { account } = await start();
    const reader = openGoogleDriveReader(
      { url: api.url, account: { ...account, tokenUrl: `${api.url}/token` } },
      {},
      BYTES_MAX,
    );
    await expect(listAll(reader)).rejects.toThrow('lists its files incompletely');
  });

  it('reads one folder, and what its patterns match', async () => {
    const reader = openGoogleDriveReader(await start(), { folder: 'top', include: ['Sub_folder/*'] }, BYTES_MAX);
    expect((await listAll(reader)).map(({ key }) => key)).toEqual(['Sub_folder/a.txt', 'Sub_folder/a (b).txt']);
  });
});

describe('SharePoint', () => {
  const item = (id: string, name: string, parent: string, more = {}) => ({
    ...{
      id,
      name,
      size: 5,
      cTag: `c-${id}`,
      webUrl: `https://acme.sharepoint.com/${name}`,
      file: { mimeType: 'text/plain' },
    },
    ...{
      lastModifiedDateTime: '2024-05-06T07:08:09Z',
      parentReference: { path: `/drives/d1/root:${parent}` },
      ...more,
    },
  });

  async function start(shared: Record<string, object[]> = {}) {
    let isThrottled = true;
    const store = await startFakeApi(({ path: at, headers }) =>
      headers.authorization === undefined ? { body: `text of ${at.slice(1)}` } : refused('no credential belongs here'),
    );
    const api = await startFakeApi(({ path: at, body, query, headers }) => {
      if (at === '/acme/oauth2/v2.0/token') {
        if (new URLSearchParams(body).get('client_secret') !== 'dulse')
          return refused('AADSTS7000215: Invalid client secret');
        return { json: { access_token: 'token', expires_in: 3600 } };
      }
      if (headers.authorization !== 'Bearer token') return refused('InvalidAuthenticationToken');
      if (at === '/v1.0/sites/acme.sharepoint.com:/sites/team') return { json: { id: 'acme,1,2' } };
      if (at === '/v1.0/sites/acme%2C1%2C2/drives') return { json: { value: [{ id: 'd1', name: 'Documents' }] } };
      if (at === '/v1.0/drives/d1/root/delta') {
        if (query.get('token') === 'x')
          return {
            json: {
              value: [{ id: 'gone', deleted: {} }, item('b', 'b.txt', '/Team%20plans'), item('c', 'c.txt', '/100%')],
            },
          };
        const value = [
          item('a', 'a.txt', ''),
          item('gone', 'gone.txt', ''),
          { id: 'f', name: 'Team plans', folder: {} },
        ];
        return { json: { value, '@odata.nextLink': `${api.url}${at}?token=x` } };
      }
      if (at === '/v1.0/$batch') {
        const { requests } = JSON.parse(body) as { requests: { id: string; url: string }[] };
        const responses = requests.map(({ id, url }, nth) => {
          const value = shared[/items\/(\w+)\/permissions$/.exec(url)?.[1] ?? ''];
          const isLast = nth === requests.length - 1;
          if (isThrottled && isLast) return { id, status: 429, headers: { 'Retry-After': '1' } };
          return { id, status: 200, body: { value } };
        });
        isThrottled = false;
        return { json: { responses } };
      }
      const id = /items\/(\w+)\/content$/.exec(at)?.[1];
      return id === undefined ? { status: 404 } : { status: 302, headers: { location: `${store.url}/${id}` } };
    });
    return {
      loginUrl: api.url,
      graphUrl: api.url,
      tenant: 'acme',
      clientId: 'app',
      site: 'acme.sharepoint.com:/sites/team',
      user: '',
    };
  }

  it('shows the files of a library, and sends no credential to the store of their contents', async () => {
    const place = { ...(await start()), clientSecret: new Secret('dulse') };
    const reader = openSharePointReader(place, { library: 'Documents', path: '' }, BYTES_MAX);
    const entries = await listAll(reader);
    expect(await textsOf(reader, entries)).toEqual({
      ...{ 'a.txt': 'text of a', 'Team plans/b.txt': 'text of b', '100%/c.txt': 'text of c' },
    });
    const folder = openSharePointReader(place, { library: 'Documents', path: 'Team plans' }, BYTES_MAX);
    expect((await listAll(folder)).map(({ key }) => key)).toEqual(['b.txt']);
    const missing = openSharePointReader(place, { library: 'Plans', path: '' }, BYTES_MAX);
    await expect(listAll(missing)).rejects.toThrow('the site has no library "Plans"; it has Documents');
  });

  it('lets the rights of files come along, and waits where it is asked to', async () => {
    const ana = { grantedToV2: { user: { id: 'u1', email: 'ana@example.com', displayName: 'Ana' } } };
    const legal = { grantedToV2: { group: { id: 'g-legal', displayName: 'Legal' } } };
    const members = { grantedToV2: { siteGroup: { id: '5', displayName: 'Team Members' } } };
    const shared: Record<string, object[]> = {
      a: [ana, legal, members],
      b: [ana, { link: { scope: 'organization' } }],
    };
    const place = { ...(await start(shared)), clientSecret: new Secret('dulse') };
    const reader = openSharePointReader(place, { library: 'Documents', path: '', rights: true }, BYTES_MAX);
    const entries = await listAll(reader);
    const read = await reader.read(entries, NEVER);
    expect(read.map((entry) => ('readers' in entry ? entry.readers : null))).toEqual([
      { emails: ['ana@example.com'], groups: ['Legal', 'Team Members', 'g-legal'] },
      'everyone',
      { emails: [], groups: [] },
    ]);
    shared['a'] = [legal];
    const changed = await listAll(reader);
    expect(changed.map(({ version }, nth) => version === entries[nth]?.version)).toEqual([false, true, true]);
  });

  it('tells what Microsoft says of a wrong secret', async () => {
    const reader = openSharePointReader(
      { ...(await start()), clientSecret: new Secret('other') },
      { path: '' },
      BYTES_MAX,
    );
    await expect(listAll(reader)).rejects.toThrow(/Entra ID answers 401 \(AADSTS7000215.*check the credentials/);
  });
});
