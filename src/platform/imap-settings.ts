import { z } from 'zod';
import { isLoopbackHost } from './networks.ts';
import { Secret } from './secret.ts';
import { caSetting, passwordSetting } from './source-secrets.ts';

/** Ways to encrypt the connection: TLS from the first byte, TLS after STARTTLS (RFC 9051), or none. */
const SECURITY = ['tls', 'starttls', 'none'] as const;

const OAuth = z.strictObject({
  token_url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine((url) => {
      const { protocol, hostname } = new URL(url);
      return protocol === 'https:' || isLoopbackHost(hostname);
    }, 'must begin with https://, unless it is on this host')
    .describe('address to request access tokens from'),
  client_id: z.string().min(1).max(512).describe('id of the client at the authorization server'),
  client_secret: passwordSetting.optional().describe('secret of the client'),
  refresh_token: passwordSetting
    .optional()
    .describe(
      'token for requesting access tokens (default: the client requests them for itself, by client credentials)',
    ),
  scope: z.string().min(1).max(1024).optional().describe('scope to ask for, if the authorization server needs it'),
});

/** Settings specific to connections to a mailbox. */
export const imapPlace = {
  host: z
    .string()
    .regex(/^[A-Za-z0-9.:_-]{1,253}$/, 'must be a host name or an address')
    .describe('host of the server'),
  port: z.int().min(1).max(65535).optional().describe('port of the server (default: 993 with tls, else 143)'),
  security: z
    .enum(SECURITY)
    .default('tls')
    .describe('tls, starttls or none; none is allowed only for a server on this host'),
  user: z.string().min(1).max(320).describe('name to log in with'),
  password: passwordSetting.optional().describe('password, or an app password'),
  oauth: OAuth.optional().describe('access tokens instead of a password (XOAUTH2, OAUTHBEARER)'),
  ca: caSetting,
};

type ImapFile = z.output<z.ZodObject<typeof imapPlace>>;

/** Way to log in: with a password, or with access tokens of an authorization server (RFC 6749). */
export type ImapLogin =
  | { readonly password: Secret }
  | {
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret: Secret | null;
      readonly refreshToken: Secret | null;
      readonly scope: string | null;
    };

export interface ImapSettings {
  readonly host: string;
  readonly port: number;
  readonly security: (typeof SECURITY)[number];
  readonly user: string;
  readonly login: ImapLogin;
  /** CA certificates to trust instead of the public ones, as PEM text or absolute path; null for the public ones. */
  readonly ca: string | null;
}

/** Report an unencrypted connection to another host, and a connection without exactly one login method. */
export function checkImap(file: ImapFile, context: z.core.$RefinementCtx): void {
  const fault = (path: string, message: string) => context.addIssue({ code: 'custom', message, path: [path] });
  if (file.security === 'none' && !isLoopbackHost(file.host)) {
    fault('security', 'none is allowed for a server on this host only; use tls or starttls');
  }
  if ((file.password === undefined) === (file.oauth === undefined)) {
    fault('password', 'exactly one of password and oauth must be set');
  }
  if (file.oauth && !file.oauth.client_secret && !file.oauth.refresh_token) {
    fault('oauth', 'must have refresh_token, client_secret or both');
  }
}

export function imapSettingsOf(file: ImapFile): ImapSettings {
  const { host, security, user, password, oauth, ca = null } = file;
  const port = file.port ?? (security === 'tls' ? 993 : 143);
  const login: ImapLogin =
    oauth === undefined
      ? { password: password ?? new Secret('') }
      : {
          tokenUrl: oauth.token_url,
          clientId: oauth.client_id,
          clientSecret: oauth.client_secret ?? null,
          refreshToken: oauth.refresh_token ?? null,
          scope: oauth.scope ?? null,
        };
  return { host, port, security, user, login, ca };
}
