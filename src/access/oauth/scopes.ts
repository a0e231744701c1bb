import type { Scope } from '../caller.ts';

/** Rights that a person can give to a client of the tool server. */
export const OAUTH_SCOPES = ['search', 'documents:write', 'workflows:run'] as const satisfies readonly Scope[];
export type OAuthScope = (typeof OAUTH_SCOPES)[number];

/** Right that every client needs. It is also the default. */
export const BASIC_SCOPE: OAuthScope = 'search';

/** Scope that requests refresh tokens. All clients get them anyway. */
export const OFFLINE_ACCESS = 'offline_access';

/**
 * Parse the parameter `scope`: space-separated names. Return the rights in a fixed order. Ignore unknown names, as RFC
 * 6749 (section 3.3) allows.
 */
export function parseScopes(text: string | undefined): OAuthScope[] {
  const names = new Set(text?.split(' '));
  const known = OAUTH_SCOPES.filter((scope) => names.has(scope));
  return known.length === 0 ? [BASIC_SCOPE] : known;
}
