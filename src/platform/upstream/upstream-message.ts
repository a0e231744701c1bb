export interface UpstreamRequest {
  readonly method: 'POST' | 'GET';
  /** Path to append to the endpoint's base URL. */
  readonly path: string;
  /** Headers with lower-case names, without content type and length. They include the credential. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface UpstreamReply {
  /** Headers with lower-case names. */
  readonly headers: UpstreamHeaders;
  readonly body: Uint8Array;
}
