/** Decode percent-encoding. Return text with a percent sign that begins none, or other bytes than UTF-8, unchanged. */
export function decodePercent(text: string): string {
  return percentDecoded(text) ?? text;
}

/** Decode percent-encoding. Return null for malformed text. */
export function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Userinfo of a URL with a character that ends it, unless it is percent-encoded. */
const OPEN_USERINFO = /^[a-z]+:\/\/[^@/?#]*[/?#].*@/;

/** Check of the user and password in a URL, and its message, for `refine` of zod. It accepts the path of a socket. */
export const CREDENTIALS_ENCODED = [
  (url: string) =>
    url.startsWith('/') || (percentDecoded(url) !== null && (URL.canParse(url) || !OPEN_USERINFO.test(url))),
  'write special characters of a user name or password in percent-encoding: "%" as "%25", "#" as "%23", "/" as "%2F"',
] as const;
