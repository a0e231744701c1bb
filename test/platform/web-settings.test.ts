import { expect, it } from 'vitest';
import { z } from 'zod';
import { refuseOpenSecrets, webFields, webSettingsOf } from '../../src/platform/web-source-settings.ts';

const Web = z.strictObject(webFields).superRefine(refuseOpenSecrets);
const site = { sites: ['https://docs.example.com/manual/'] };

it('a connection of a website has defaults, and shows none of its secrets', () => {
  const settings = webSettingsOf(
    Web.parse({ ...site, headers: { Authorization: 'Bearer windlass' }, cookie: 'a=1; b=2' }),
  );
  expect(settings).toMatchObject({ networks: [], requestsPerSecond: 2, userAgent: 'service-crawler/1.0' });
  expect(settings.headers['Cookie']?.reveal()).toBe('a=1; b=2');
  expect(JSON.stringify(settings)).not.toMatch(/windlass|a=1/);
});

it.each<[object, string]>([
  [{ sites: [] }, 'sites'],
  [{ sites: ['docs.example.com'] }, 'sites.0: must be a URL such as'],
  [{ sites: ['ftp://docs.example.com/'] }, 'sites.0: must begin with http'],
  [{ sites: ['https://me:secret@docs.example.com/'] }, 'sites.0: must not have a user name'],
  [{ sites: ['https://docs.example.com/?a=1'] }, 'sites.0: must not have a query'],
  [{ sites: ['*', 'https://docs.example.com/'] }, 'sites: must be "*" alone'],
  [{ sites: ['*'], cookie: 'a=1' }, 'cookie: must be absent'],
  [{ sites: ['*'], headers: { 'X-Key': '1' } }, 'headers: must name no headers'],
  [{ ...site, networks: ['10.0.0.0/40'] }, 'networks.0: must be an address or a network'],
  [{ ...site, networks: ['intranet'] }, 'networks.0'],
  [{ ...site, headers: { Host: 'other.example' } }, 'headers.Host'],
  [{ ...site, headers: { 'Content-Length': '0' } }, 'headers.Content-Length'],
  [{ ...site, headers: { 'X-Key': 'a\r\nX-Other: b' } }, 'headers.X-Key: must be printable ASCII'],
  [{ ...site, user_agent: 'crawler' }, 'user_agent: must be a name and a version'],
  [{ ...site, requests_per_second: 0 }, 'requests_per_second'],
])('%j is refused (%s)', (settings, fault) => {
  const issues = Web.safeParse(settings).error?.issues ?? [];
  expect(issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n')).toContain(fault);
});
