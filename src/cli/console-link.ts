import type { Appliance } from '../appliance/appliance.ts';

/** One-time link by which the operator signs in to the web console. */
export interface ConsoleLink {
  readonly token: string;
  /** Time in ISO 8601. */
  readonly expires_at: string;
}

/** Create a one-time link for the operator of the first organization. */
export async function makeConsoleLink({ access }: Pick<Appliance, 'access'>): Promise<ConsoleLink> {
  const { token, expiresAt } = await access.sessions.createLink(await access.operator(access.installationId));
  return { token: token.reveal(), expires_at: expiresAt.toISOString() };
}

/** Return the web console's address on a server. */
export function consoleUrl(serverUrl: string): string {
  return `${serverUrl.replace(/\/+$/, '')}/console`;
}

/** Append the token to the address as a fragment (`#`), which browsers don't send to servers. */
export function signInUrl(url: string, { token }: ConsoleLink): string {
  return `${url}#link=${token}`;
}

/** Render the address of the console for the terminal. */
export function describeConsole(url: string, link: ConsoleLink | null): string {
  if (link === null) return `console: ${url} (run "service console link" for a sign-in link)`;
  return `console: ${signInUrl(url, link)} (works once, expires at ${link.expires_at})`;
}
