import type { Plan } from '../access/caller.ts';
import { linkToPlace } from '../search/results/link-results.ts';
import type { SearchContext } from '../search/search.ts';
import type { LinkedReply } from './messengers/messenger.ts';
import { type AnsweredChannel, channelCaller } from './retrieve-passages.ts';
import type { AnswerReply } from './schema.ts';

export interface LinkContext {
  readonly search: Pick<SearchContext, 'links'>;
  /** Address of this service, without a slash at its end; null if it is not known. */
  readonly origin: string | null;
}

/** Add to each passage of a reply the address of its page, as in search results. */
export function linkReply(
  { search, origin }: LinkContext,
  { channel, plan }: { readonly channel: AnsweredChannel; readonly plan: Plan },
  { passages = [], ...reply }: AnswerReply,
): LinkedReply {
  const reader = { caller: channelCaller(channel, plan), origin };
  return {
    ...reply,
    passages: passages.map((passage) => ({ ...passage, url: linkToPlace(search.links, reader, passage) })),
  };
}
