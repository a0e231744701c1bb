import { z } from 'zod';
import type { Secret } from './secret.ts';
import { absolutePath, tokenSetting } from './source-secrets.ts';

/** Repository addresses that git accepts: https://, ssh://, user@host:path, and http:// on this host. */
const GIT_URL = /^(?:https:\/\/|ssh:\/\/|http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])[:/]|[\w.-]+@[\w.-]+:(?!\/\/))\S+$/;
/** Credentials in an address. Lists and errors would show them. */
const GIT_CREDENTIALS = /^(?:https?:\/\/[^/]*@|ssh:\/\/[^/]*:[^/]*@)/;

/** Settings specific to connections to a Git repository. */
export const gitPlace = {
  url: z
    .string()
    .regex(GIT_URL, 'must be an https:// or ssh:// address, or user@host:path; http:// only on this host')
    .refine((url) => !GIT_CREDENTIALS.test(url), 'must not have a password; use token or key_file')
    .describe('address of the repository'),
  user: z
    .string()
    .regex(/^[^\s:]+$/, 'must be a name without blanks and colons')
    .default('git')
    .describe('user name that goes with the token'),
  token: tokenSetting.optional().describe('token or password for https'),
  key_file: absolutePath.optional().describe('file of the private key for ssh'),
  known_hosts: absolutePath.optional().describe('file with the keys of known hosts for ssh; default: that of the user'),
};

/** Repository, and the credentials for it. */
export interface GitConnection {
  readonly url: string;
  readonly user: string;
  readonly token: Secret | null;
  readonly keyFile: string | null;
  readonly knownHosts: string | null;
}

export function gitConnectionOf({
  url,
  user,
  token,
  key_file: keyFile,
  known_hosts: hosts,
}: z.output<z.ZodObject<typeof gitPlace>>): GitConnection {
  return { url, user, token: token ?? null, keyFile: keyFile ?? null, knownHosts: hosts ?? null };
}
