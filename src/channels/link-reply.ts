import type { Plan } from '../access/caller.ts';
import { linkToPlace } from '../search/results/link-results.ts';
import type { SearchContext } from '../search/search.ts';
import type { LinkedReply } from './messengers/messenger.ts';
import { type AnsweredChannel, channelCaller } from './retrieve-passages.ts';
import type { AnswerReply } from './schema.ts';

export interface LinkContext {
  readonly search: Pick<SearchContext, 'links'>;
  /** Base URL of this service without a trailing slash; null if unknown. */
  readonly origin: string | null;
}

/** Add the URL of its page to each passage of a reply, as in search results. */
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
