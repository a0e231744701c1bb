/** Name of the cookie that holds the id of a session. */
export const SESSION_COOKIE = 'session';

/**
 * Return the value of a cookie; null if it wasn't sent or is duplicated, since another site under the same domain may
 * have set the second one.
 */
export function readCookie(header: string | undefined, name: string): string | null {
  const values = (header ?? '').split(';').flatMap((part) => {
    const at = part.indexOf('=');
    return at !== -1 && part.slice(0, at).trim() === name ? [part.slice(at + 1).trim()] : [];
  });
  return values.length === 1 ? (values[0] as string) : null;
}

/**
 * Render a cookie that scripts cannot read.
 * @param options.sameSite `Strict`: sent only with requests from pages of this site; `Lax`: also when another site
 *   navigates the browser here
 * @param options.maxAgeSeconds 0 removes it
 */
export function renderCookie(
  name: string,
  value: string,
  options: { path: string; maxAgeSeconds: number; isSecure: boolean; sameSite?: 'Strict' | 'Lax' },
): string {
  const { path, maxAgeSeconds, isSecure, sameSite = 'Strict' } = options;
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${value}; Path=${path}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=${sameSite}${secure}`;
}
