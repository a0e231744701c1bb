import { z } from 'zod';
import { excerptOf } from '../../channels/excerpt.ts';
import { matchingTerms } from '../../language/analyser.ts';
import { SearchRequest } from '../../search/schema.ts';
import { searchBucket } from '../../search/search.ts';
import { forOrganization } from '../operation.ts';

/** Length of the part of a passage that is shown by default. */
const SNIPPET_CHARS_MAX = 280;

/** Search a bucket. `snippets` has, for each result, the sentences that share most words with the query. */
export const bucket = forOrganization(
  SearchRequest.extend({ bucket: z.string() }),
  async ({ bucket: name, ...request }, { appliance, operator, signal }) => {
    const response = await searchBucket(appliance.search, operator, name, request, signal);
    const terms = matchingTerms(request.query);
    const snippets = response.results.map(({ text }) =>
      text.length <= SNIPPET_CHARS_MAX ? text : excerptOf(text, terms, SNIPPET_CHARS_MAX),
    );
    return { response, snippets };
  },
  ['search'],
);
