import { expect, it } from 'vitest';
import { SearchReply } from '../../src/client/schema.ts';
import { renderResults } from '../../src/mcp/tools/render-results.ts';

const result = {
  ...{ id: 'c', document_id: 'd', chunk_index: 0, text: 'The pump has a warranty.', score: 1, metadata: {} },
  citation: { file_name: 'pump.md', source_path: null, locator: {}, url: null },
};
const render = (fields: Record<string, unknown>) => renderResults(SearchReply.parse({ results: [result], ...fields }));

it('the text of a search names replaced words, and tells if nothing seems to answer the query', () => {
  const text = render({ relevance: 'none', corrected: [{ from: 'waranty', to: 'warranty' }], warnings: ['late'] });
  expect(text).toContain('Note: nothing has the word "waranty"; "warranty" was searched instead');
  expect(text).toContain('Note: no passage here seems to answer the query');
  expect(text).toContain('Note: late');
});

it('the text of a relevant answer has the relevance of each result, and no notes', () => {
  const text = render({ results: [{ ...result, relevance: 'high' }], relevance: 'high' });
  expect(text).toBe('[1] pump.md | score 1.00 | relevance high\nThe pump has a warranty.');
  expect(render({ results: [], relevance: 'none' })).toBe('Nothing was found.');
});
