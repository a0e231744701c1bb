/**
 * Return the reason why a URL may not be requested, or null. Allow only http and https, without a user name or
 * password, which would end up in logs and lists. The host's address is checked on connection.
 */
export function outboundUrlFault(url: URL): string | null {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'must begin with http:// or https://';
  if (url.username !== '' || url.password !== '') return 'must not have a user name or a password';
  if (url.hostname === '') return 'must name a host';
  return null;
}
