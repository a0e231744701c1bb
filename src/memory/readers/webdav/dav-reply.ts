import type { Dispatcher } from 'undici';

/** Answer whose body the caller reads or destroys. */
export interface DavReply extends Pick<Dispatcher.ResponseData, 'headers' | 'body'> {
  readonly status: number;
  /** Path of the answer, after redirects. */
  readonly path: string;
}
