import type { Scope } from '../caller.ts';

/** Rights that a person can give to a client of the tool server. */
export const OAUTH_SCOPES = ['search', 'documents:write', 'workflows:run'] as const satisfies readonly Scope[];
export type OAuthScope = (typeof OAUTH_SCOPES)[number];

/** Right that every client needs, and gets if it asks for none. */
export const BASIC_SCOPE: OAuthScope = 'search';

/** Scope by which clients ask for refresh tokens. All clients get them. */
export const OFFLINE_ACCESS = 'offline_access';

/**
 * Parse the parameter `scope`: names with spaces in between. Return the rights in a fixed order; unknown names are left
 * out, as RFC 6749 (section 3.3) allows.
 */
export function parseScopes(text: string | undefined): OAuthScope[] {
  const names = new Set(text?.split(' '));
  const known = OAUTH_SCOPES.filter((scope) => names.has(scope));
  return known.length === 0 ? [BASIC_SCOPE] : known;
}
