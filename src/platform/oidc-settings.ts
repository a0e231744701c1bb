import { z } from 'zod';
import { Secret } from './secret.ts';

/** Settings of the OpenID provider whose tokens the service accepts. */
export const oidcSettings = {
  oidc: z
    .strictObject({
      issuer: z.url().describe('address of the provider'),
      audience: z.string().min(1).describe('audience that a token must have'),
      algorithm: z
        .enum(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'])
        .default('RS256')
        .describe('algorithm of the signature'),
      token_type: z.enum(['at+jwt', 'JWT']).optional().describe('value that the header typ must have (default: any)'),
      authorized_parties: z
        .array(z.string().min(1))
        .min(1)
        .optional()
        .describe('clients (azp) whose tokens are accepted (default: all)'),
      client_id: z.string().min(1).optional().describe('id of the OAuth client with which the console signs people in'),
      client_secret: z
        .string()
        .min(1)
        .transform((value) => new Secret(value))
        .optional()
        .describe('secret of that client'),
      scopes: z
        .array(z.string().regex(/^[!#-[\]-~]+$/))
        .default(['openid', 'email'])
        .describe('scopes that the console requests'),
      email_domains: z
        .record(z.string().toLowerCase(), z.string().min(1))
        .default({})
        .describe('organization by domain of email addresses; users there may sign in with a confirmed address'),
      provision: z
        .boolean()
        .default(false)
        .describe('add people of these domains as members of their organization when they first sign in'),
      groups_claim: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe(
          'claim with the groups of a person, as a list of texts; each matches the name or the claim value of a group',
        ),
    })
    .optional()
    .describe('tokens of an OpenID provider, which users may send instead of API keys'),
};

const OidcFile = z.object(oidcSettings);

/** @returns the provider; null if none is configured */
export function oidcConfigOf({ oidc }: z.output<typeof OidcFile>) {
  if (oidc === undefined) return null;
  const { issuer, audience, algorithm, scopes } = oidc;
  return {
    issuer,
    audience,
    algorithm,
    tokenType: oidc.token_type ?? null,
    authorizedParties: oidc.authorized_parties ?? null,
    clientId: oidc.client_id ?? null,
    clientSecret: oidc.client_secret ?? null,
    scopes: [...new Set(['openid', ...scopes])],
    emailDomains: oidc.email_domains,
    provision: oidc.provision,
    groupsClaim: oidc.groups_claim ?? null,
  };
}
