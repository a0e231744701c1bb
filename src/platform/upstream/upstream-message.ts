export interface UpstreamRequest {
  readonly method: 'POST' | 'GET';
  /** Path, appended to the base URL of the endpoint. */
  readonly path: string;
  /** Headers with names in lower case, without content type and length; they include the credential. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface UpstreamReply {
  /** Headers with names in lower case. */
  readonly headers: UpstreamHeaders;
  readonly body: Uint8Array;
}
