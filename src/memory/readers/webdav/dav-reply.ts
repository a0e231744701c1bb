import type { Dispatcher } from 'undici';

/** Response whose body the caller must read or destroy. */
export interface DavReply extends Pick<Dispatcher.ResponseData, 'headers' | 'body'> {
  readonly status: number;
  /** Path of the response after redirects. */
  readonly path: string;
}
