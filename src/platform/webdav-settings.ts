import { z } from 'zod';
import { isLoopbackHost } from './networks.ts';
import type { Secret } from './secret.ts';
import { caSetting, passwordSetting } from './source-secrets.ts';

/** Settings specific to connections to a WebDAV server. */
export const webdavPlace = {
  url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine((url) => !/[?#]|:\/\/[^/]*@/.test(url), 'must have no query, no fragment and no credentials')
    .describe('address of the folder that sources may read, with all folders below it'),
  user: z
    .string()
    .min(1)
    .max(320)
    .refine((user) => !/[:\p{Cc}]/u.test(user), 'must have no colon and no control characters')
    .optional()
    .describe('name to log in with'),
  password: passwordSetting.optional().describe('password, or an app password (default: empty)'),
  token: passwordSetting
    .refine((token) => /^[\x21-\x7e]+$/.test(token.reveal()), 'must be printable ASCII without spaces')
    .optional()
    .describe('bearer token instead of user and password'),
  insecure: z
    .boolean()
    .default(false)
    .describe('true: allow http:// to another host, where others in the network can read the traffic'),
  ca: caSetting,
};

type WebdavFile = z.output<z.ZodObject<typeof webdavPlace>>;

export interface WebdavSettings {
  /** Address of the root folder, with or without a trailing slash. */
  readonly url: string;
  readonly login: { readonly user: string; readonly password: Secret | null } | { readonly token: Secret };
  /** CA certificates to trust instead of the public ones, as PEM text or absolute path; null for the public ones. */
  readonly ca: string | null;
}

/** Report an unencrypted connection to another host, and a connection without exactly one login method. */
export function checkWebdav(file: WebdavFile, context: z.core.$RefinementCtx): void {
  const fault = (path: string, message: string) => context.addIssue({ code: 'custom', message, path: [path] });
  const { protocol, hostname } = new URL(file.url);
  if (protocol === 'http:' && !file.insecure && !isLoopbackHost(hostname)) {
    fault('url', 'must begin with https://, unless insecure is true or the server is on this host');
  }
  if ((file.user === undefined) === (file.token === undefined))
    fault('user', 'exactly one of user and token must be set');
  if (file.password !== undefined && file.user === undefined) fault('password', 'needs user');
}

export function webdavSettingsOf(file: WebdavFile): WebdavSettings {
  const { url, user = '', password, token } = file;
  const ca = file.ca ?? null;
  if (token !== undefined) return { url, login: { token }, ca };
  return { url, login: { user, password: password ?? null }, ca };
}
