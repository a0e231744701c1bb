import type { Secret } from '../../../platform/secret.ts';
import type { UpstreamRequest } from '../../../platform/upstream/upstream-message.ts';

/** Credential of an endpoint: a key, a token that expires, or a key that signs requests. */
export interface Credential {
  /**
   * Return the key or token for the protocol's header.
   *
   * @throws UpstreamFault `refused` or `transient` if there is no token; the signal's reason once it is aborted
   */
  key(signal: AbortSignal): Secret | null | Promise<Secret | null>;
  /**
   * Add signature headers.
   * @param url full address of the request
   * @throws UpstreamFault `refused` if there is no key; the signal's reason once it is aborted
   */
  sign?(request: UpstreamRequest, url: URL, signal: AbortSignal): Promise<UpstreamRequest>;
  /** Drop a token that the vendor refused. */
  forget?(): void;
  close(): Promise<void>;
}
