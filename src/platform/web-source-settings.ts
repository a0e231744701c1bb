import { z } from 'zod';
import { isNetwork } from './networks.ts';
import { numberSetting } from './number-settings.ts';
import { outboundUrlFault } from './outbound/outbound-url.ts';
import { Secret } from './secret.ts';

/** Entry of `sites` that means every public site. */
export const ANY_SITE = '*';

/** Headers that the client sets itself, or that would change the framing of a message (RFC 9110, RFC 9112). */
const OWN_HEADERS =
  /^(?:host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|proxy-.*|cookie|user-agent|accept-encoding|if-.*|range)$/i;

const headerValue = z
  .string()
  .min(1)
  .max(8_192)
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'must be printable ASCII without spaces at its ends')
  .transform((value) => new Secret(value));

const Site = z
  .string()
  .max(2_048)
  .superRefine((site, context) => {
    if (site === ANY_SITE) return;
    const url = URL.parse(site);
    const fault =
      url === null
        ? 'must be a URL such as https://docs.example.com/manual/, or "*" for every public site'
        : (outboundUrlFault(url) ??
          (url.search !== '' || url.hash !== '' ? 'must not have a query or a fragment' : null));
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  });

/** Settings specific to connections of type `web`. */
export const webFields = {
  sites: z
    .array(Site)
    .min(1)
    .max(100)
    .describe(
      'prefixes of the addresses that sources may read, such as https://docs.example.com/manual/; "*" for every public site',
    ),
  networks: z
    .array(z.string().refine(isNetwork, 'must be an address or a network such as 10.0.0.0/8'))
    .max(100)
    .default([])
    .describe('addresses and networks of your own that sources may reach (default: only public addresses)'),
  headers: z
    .record(
      z
        .string()
        .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, 'must be the name of a header')
        .refine((name) => !OWN_HEADERS.test(name), 'is a header that the service sets itself'),
      headerValue.describe('value of the header'),
    )
    .default({})
    .describe('headers by name, such as Authorization; sent only to the hosts of sites'),
  cookie: headerValue.optional().describe('value of the header Cookie, sent only to the hosts of sites'),
  requests_per_second: numberSetting(
    { min: 0.01, max: 10_000, default: 2 },
    'maximum number of requests per second of one source to one host',
  ),
  user_agent: z
    .string()
    .max(200)
    .regex(
      /^[A-Za-z_-]+\/[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/,
      'must be a name and a version, such as acme-crawler/1.0',
    )
    .default('service-crawler/1.0')
    .describe('name that the service sends to websites; it follows the rules of robots.txt for this name'),
};

/** Refuse settings that would send secrets to arbitrary sites. */
export function refuseOpenSecrets(
  file: z.output<z.ZodObject<typeof webFields>>,
  context: z.RefinementCtx<unknown>,
): void {
  if (!file.sites.includes(ANY_SITE)) return;
  const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
  if (file.sites.length > 1) fault('sites', `must be "${ANY_SITE}" alone, or addresses`);
  if (Object.keys(file.headers).length > 0) fault('headers', `must name no headers if sites is "${ANY_SITE}"`);
  if (file.cookie !== undefined) fault('cookie', `must be absent if sites is "${ANY_SITE}"`);
}

/** Websites that sources may read, and how to request their pages. */
export interface WebSettings {
  /** URL prefixes, or `*` alone for every public site. */
  readonly sites: readonly string[];
  /** Addresses and networks in CIDR form that may be reached in addition to public addresses. */
  readonly networks: readonly string[];
  /** Headers for the origins of `sites`, by name. */
  readonly headers: Readonly<Record<string, Secret>>;
  /** Rate limit per host. */
  readonly requestsPerSecond: number;
  readonly userAgent: string;
}

export function webSettingsOf(file: z.output<z.ZodObject<typeof webFields>>): WebSettings {
  const { sites, networks, headers, cookie, requests_per_second: requestsPerSecond, user_agent: userAgent } = file;
  const all = cookie === undefined ? headers : { ...headers, Cookie: cookie };
  return { sites, networks, headers: all, requestsPerSecond, userAgent };
}
