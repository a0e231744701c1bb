/**
 * Return the reason why a URL may not be requested, or null. Only http and https are allowed, and no user name or
 * password, because these would end up in logs and lists. The address of the host is judged when it is connected to.
 */
export function outboundUrlFault(url: URL): string | null {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'must begin with http:// or https://';
  if (url.username !== '' || url.password !== '') return 'must not have a user name or a password';
  if (url.hostname === '') return 'must name a host';
  return null;
}
