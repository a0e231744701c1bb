import { z } from 'zod';
import { isLoopbackHost } from './networks.ts';
import type { Secret } from './secret.ts';
import { type ServiceAccount, ServiceAccountKey } from './service-account.ts';
import { tokenSetting } from './source-secrets.ts';

const https = z
  .url({ protocol: /^https?$/ })
  .refine((url) => url.startsWith('https:') || isLoopbackHost(new URL(url).hostname), 'must begin with https://')
  .refine((url) => new URL(url).username === '', 'must not have credentials');
const id = z.string().regex(/^[\w.@:/,-]{1,300}$/, 'must be an id or a name without blanks');

export const confluencePlace = {
  url: https
    .transform((url) => new URL(url).origin)
    .describe('address of the site, such as https://acme.atlassian.net'),
  email: z.string().min(3).max(320).describe('email address of the account'),
  token: tokenSetting.describe('API token of the account'),
};

export const notionPlace = {
  token: tokenSetting.describe('token of an internal integration; share the pages with this integration'),
  url: https.default('https://api.notion.com').describe('address of the API'),
};

export const googleDrivePlace = {
  service_account: ServiceAccountKey.describe('JSON key of a service account; share the files with this account'),
  url: https.default('https://www.googleapis.com').describe('address of the API'),
};

export const sharePointPlace = {
  tenant: id.describe('id or domain of the tenant'),
  client_id: id.describe('id of the application'),
  client_secret: tokenSetting.describe('secret of the application'),
  site: id.optional().describe('site, such as acme.sharepoint.com:/sites/team'),
  user: id.optional().describe('user name of a person, to read their OneDrive instead of a site'),
  login_url: https.default('https://login.microsoftonline.com').describe('address of Microsoft Entra ID'),
  graph_url: https.default('https://graph.microsoft.com').describe('address of Microsoft Graph'),
};

/** Site of Confluence Cloud. `url` is an origin. */
export interface ConfluenceConnection {
  readonly url: string;
  readonly email: string;
  readonly token: Secret;
}

export interface NotionConnection {
  readonly url: string;
  readonly token: Secret;
}

export interface GoogleDriveConnection {
  readonly url: string;
  readonly account: ServiceAccount;
}

/** Microsoft Entra ID application, and the site or user whose files it reads. */
export interface SharePointConnection {
  readonly loginUrl: string;
  readonly graphUrl: string;
  readonly tenant: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** Null to read the files of `user`. */
  readonly site: string | null;
  readonly user: string;
}

export function sharePointConnectionOf(source: z.output<z.ZodObject<typeof sharePointPlace>>): SharePointConnection {
  return {
    loginUrl: source.login_url,
    graphUrl: source.graph_url,
    tenant: source.tenant,
    clientId: source.client_id,
    clientSecret: source.client_secret,
    site: source.site ?? null,
    user: source.user ?? '',
  };
}
