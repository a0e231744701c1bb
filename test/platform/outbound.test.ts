import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openAddressGuard } from '../../src/platform/outbound/address-guard.ts';
import { AddressRefused, openGuardedAgent } from '../../src/platform/outbound/guarded-agent.ts';
import { outboundUrlFault } from '../../src/platform/outbound/outbound-url.ts';
import { startWebsite } from '../support/website.ts';

/** Guard without own networks, on a host with one private and one public address. */
const guard = openAddressGuard([], () => ['10.1.2.3', '203.0.114.9', '2606:2800:220:1::9', 'fe80::1%eth0']);

describe('an address that is not public is refused:', () => {
  it.each([
    ['loopback', '127.0.0.1'],
    ['the end of loopback', '127.255.255.254'],
    ['unspecified', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['private, 10/8', '10.0.0.1'],
    ['private, 172.16/12', '172.16.0.1'],
    ['the end of 172.16/12', '172.31.255.255'],
    ['private, 192.168/16', '192.168.1.1'],
    ['link-local, the metadata service of clouds', '169.254.169.254'],
    ['link-local, credentials of containers', '169.254.170.2'],
    ['shared by a carrier (RFC 6598)', '100.64.0.1'],
    ['metadata of a cloud in shared space', '100.100.100.200'],
    ['protocol assignments', '192.0.0.192'],
    ['documentation', '192.0.2.1'],
    ['documentation, second network', '198.51.100.7'],
    ['documentation, third network', '203.0.113.7'],
    ['benchmarks', '198.18.0.1'],
    ['the end of benchmarks', '198.19.255.255'],
    ['relay of 6to4', '192.88.99.1'],
    ['multicast', '224.0.0.1'],
    ['the end of multicast', '239.255.255.250'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['loopback of IPv6', '::1'],
    ['loopback of IPv6 in full', '0:0:0:0:0:0:0:1'],
    ['unspecified of IPv6', '::'],
    ['link-local of IPv6', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%lo'],
    ['the end of link-local', 'febf::1'],
    ['site-local', 'fec0::1'],
    ['unique local', 'fc00::1'],
    ['metadata of a cloud in IPv6', 'fd00:ec2::254'],
    ['multicast of IPv6', 'ff02::1'],
    ['IPv4-mapped loopback', '::ffff:127.0.0.1'],
    ['IPv4-mapped in hexadecimal', '::ffff:7f00:1'],
    ['IPv4-mapped private', '::ffff:10.0.0.1'],
    ['IPv4-mapped metadata', '::ffff:a9fe:a9fe'],
    ['IPv4-compatible', '::127.0.0.1'],
    ['IPv4-translated', '::ffff:0:127.0.0.1'],
    ['NAT64 of loopback', '64:ff9b::7f00:1'],
    ['NAT64 of metadata', '64:ff9b::169.254.169.254'],
    ['NAT64 of a local prefix', '64:ff9b:1::10.0.0.1'],
    ['6to4 of a private address', '2002:0a00:0001::1'],
    ['Teredo', '2001:0:7f00:1::1'],
    ['benchmarks of IPv6', '2001:2::1'],
    ['ORCHID', '2001:20::1'],
    ['documentation of IPv6', '2001:db8::1'],
    ['documentation, newer network', '3fff::1'],
    ['discard', '100::1'],
    ['segment routing', '5f00::1'],
    ['an unassigned part of IPv6', '4000::1'],
    ['a private address of this host', '10.1.2.3'],
    ['a public address of this host', '203.0.114.9'],
    ['a public IPv6 address of this host, written otherwise', '2606:2800:0220:0001:0:0:0:9'],
    ['an IPv4-mapped address of this host', '::ffff:203.0.114.9'],
    ['no address', 'localhost'],
    ['an empty text', ''],
  ])('%s (%s)', (_what, address) => {
    expect(guard.refusalOf(address)).toMatch(/ (?:list|is not an IP address)/);
  });
});

it.each(['93.184.216.34', '8.8.8.8', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8'])(
  'a public address is allowed: %s',
  (address) => expect(guard.refusalOf(address)).toBe(null),
);

describe('networks of the operator', () => {
  const listed = openAddressGuard(['10.0.0.0/8', 'fd00::/8', '192.168.1.7', '127.0.0.0/8', '10.1.2.4'], () => [
    '10.1.2.3',
    '10.1.2.4',
  ]);

  it.each(['10.9.9.9', '::ffff:10.9.9.9', 'fd12::1', '192.168.1.7', '10.1.2.4'])('%s is allowed', (address) => {
    expect(listed.refusalOf(address)).toBe(null);
  });

  it.each(['10.1.2.3', '127.0.0.1', '192.168.1.8', '172.16.0.1', 'fc12::1', '::1'])(
    '%s is not allowed, because it is outside, or of this host and not listed by itself',
    (address) => expect(listed.refusalOf(address)).toEqual(expect.any(String)),
  );
});

it.each([
  'file:///etc/passwd',
  'gopher://127.0.0.1:6379/_FLUSHALL',
  'ftp://127.0.0.1/',
  'dict://127.0.0.1:11211/stats',
  'ldap://127.0.0.1/',
  'data:text/html,x',
  'javascript:alert(1)',
  'ws://example.com/',
  'http://user:secret@example.com/',
  'https://user@example.com/',
  'http://example.com@127.0.0.1/',
  'http://:secret@127.0.0.1/',
])('a URL with another scheme or with credentials is refused: %s', (text) => {
  expect(outboundUrlFault(new URL(text))).toMatch(/^must /);
});

describe('no request reaches this host by', () => {
  let reached: () => number;

  /** Request a URL whose port is that of a server on all interfaces of this host. @returns the error */
  async function request(text: string, lookup?: LookupFunction): Promise<unknown> {
    const site = await startWebsite({}, '0.0.0.0');
    const { port } = new URL(site.url);
    reached = () => site.requests.length;
    const url = URL.parse(text.replace('PORT', port));
    if (url === null || outboundUrlFault(url) !== null) return new AddressRefused('refused before');
    const agent = openGuardedAgent({
      ...{ guard: openAddressGuard([]), connectionsMax: 1, connectMs: 5_000 },
      ...(lookup === undefined ? {} : { lookup }),
    });
    onTestFinished(() => agent.destroy());
    return agent.request({ origin: url.origin, path: url.pathname, method: 'GET' }).catch((error: unknown) => error);
  }

  it.each([
    'http://127.0.0.1:PORT/',
    'http://127.0.0.2:PORT/',
    'http://127.1:PORT/',
    'http://127.0.1:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f000001:PORT/',
    'http://0x7f.0.0.1:PORT/',
    'http://0177.0.0.1:PORT/',
    'http://017700000001:PORT/',
    'http://0:PORT/',
    'http://0.0.0.0:PORT/',
    'http://127.0.0.1.:PORT/',
    'http://①②⑦.⓪.⓪.①:PORT/',
    'http://127。0。0。1:PORT/',
    'http://%31%32%37.0.0.1:PORT/',
    'http://localhost:PORT/',
    'http://LOCALHOST:PORT/',
    'http://localhost.:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://[::ffff:7f00:1]:PORT/',
    'http://[0:0:0:0:0:ffff:127.0.0.1]:PORT/',
    'http://[64:ff9b::127.0.0.1]:PORT/',
    'http://example.com:80@127.0.0.1:PORT/',
    'http://127.0.0.1:PORT\\@example.com/',
    'http:\\\\127.0.0.1:PORT/',
    'http:127.0.0.1:PORT/',
    'HTTP://127.0.0.1:PORT/',
    'http://127.0.0.1:PORT#@example.com/',
    'http://\t127.0.0.1:PORT/',
  ])('%s', async (text) => {
    // Some resolvers don't know the name `localhost` with a dot.
    const code = expect.stringMatching(/^(?:address_refused|ENOTFOUND|EAI_AGAIN)$/);
    expect(await request(text)).toMatchObject({ code });
    expect(reached()).toBe(0);
  });

  const answering =
    (...answers: LookupAddress[][]): LookupFunction =>
    (_hostname, options, callback) => {
      const found = (answers.length > 1 ? answers.shift() : answers[0]) as LookupAddress[];
      if (options.all === true) return callback(null, found);
      callback(null, found[0]?.address ?? '', found[0]?.family);
    };
  const loopback: LookupAddress = { address: '127.0.0.1', family: 4 };
  const elsewhere: LookupAddress = { address: '93.184.216.34', family: 4 };

  it.each<[string, LookupAddress[][]]>([
    ['a name with the address of loopback', [[loopback]]],
    ['a name with a public address and that of loopback', [[elsewhere, loopback]]],
    ['a name with an IPv4-mapped address', [[{ address: '::ffff:127.0.0.1', family: 6 }]]],
    ['a name with the unspecified address', [[{ address: '0.0.0.0', family: 4 }]]],
    ['a name with a link-local address and a zone', [[{ address: 'fe80::1%lo', family: 6 }]]],
    ['a name with an answer that is no address', [[{ address: 'localhost', family: 4 }]]],
    ['a name without addresses', [[]]],
  ])('%s', async (_what, answers) => {
    expect(await request('http://rebound.example:PORT/', answering(...answers))).toBeInstanceOf(Error);
    expect(reached()).toBe(0);
  });

  it('a name that had a public address when it was looked up before (DNS rebinding)', async () => {
    const lookup = answering([elsewhere], [loopback]);
    await new Promise((resolve) => void lookup('rebound.example', { all: true }, resolve));
    const error = await request('http://rebound.example:PORT/', lookup);
    expect(error).toMatchObject({ code: 'address_refused', message: expect.stringContaining('127.0.0.1') });
    expect(reached()).toBe(0);
  });
});

it('a listed address is reached by a name and by itself, and a refusal says what to list', async () => {
  const site = await startWebsite({ '/': 'A page.' });
  const { port } = new URL(site.url);
  const agent = openGuardedAgent({ guard: openAddressGuard(['127.0.0.1']), connectionsMax: 1, connectMs: 5_000 });
  onTestFinished(() => agent.destroy());
  const get = (origin: string) => agent.request({ origin, path: '/', method: 'GET' });
  const reply = await get(site.url);
  expect(await reply.body.text()).toBe('A page.');
  await expect(get(`http://127.0.0.2:${port}`)).rejects.toThrow(
    '127.0.0.2 is an address of this host; to allow it, list exactly this address under networks',
  );
  await expect(get('http://10.255.255.1:9')).rejects.toThrow('to allow it, list its network under networks');
});
