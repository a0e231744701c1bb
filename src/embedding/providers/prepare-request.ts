import type { Secret } from '../../platform/secret.ts';
import type { UpstreamRequest } from '../../platform/upstream/upstream-message.ts';
import type { Credential } from './credentials/credential.ts';
import type { Protocol, UpstreamCall } from './protocols/protocol.ts';

/** Destination of requests, and the credential for it. */
export interface RequestTarget {
  readonly credential: Credential;
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path of the base URL, without a trailing slash. */
  readonly basePath: string;
}

/** Request with its full path and credential. The credential is redacted from the vendor's messages. */
interface PreparedRequest {
  readonly request: UpstreamRequest;
  readonly apiKey: Secret | null;
}

/**
 * Build the request of a call to an endpoint, with its key, token or signature.
 * @throws UpstreamFault, and the signal's reason, as for `Credential.key`
 */
export async function prepareRequest(
  protocol: Protocol,
  { credential, origin, basePath }: RequestTarget,
  signal: AbortSignal,
  call: Omit<UpstreamCall, 'apiKey'>,
): Promise<PreparedRequest> {
  const apiKey = await credential.key(signal);
  const made = protocol.request({ ...call, apiKey });
  const request = { ...made, path: basePath + made.path };
  if (!credential.sign) return { request, apiKey };
  return { request: await credential.sign(request, new URL(origin + request.path), signal), apiKey };
}
