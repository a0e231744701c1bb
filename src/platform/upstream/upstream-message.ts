export interface UpstreamRequest {
  readonly method: 'POST' | 'GET';
  /** Appended to the endpoint's base URL. */
  readonly path: string;
  /** Lower case, without content type and length; includes the credential. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface UpstreamReply {
  /** Names in lower case. */
  readonly headers: UpstreamHeaders;
  readonly body: Uint8Array;
}
