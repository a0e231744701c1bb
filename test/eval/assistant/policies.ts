import type { Client } from '@modelcontextprotocol/client';

/** Answer of a tool, in the forms that a client may show to its model. */
export interface ToolAnswer {
  readonly content: unknown;
  readonly structured: Record<string, unknown>;
}

/** Call of a tool. It returns the structured answer. */
type CallTool = (name: string, args: Record<string, unknown>) => Promise<Record<string, unknown>>;

/** Way to look for the answer to a question with at most three calls, as an assistant would. */
export interface Policy {
  readonly name: string;
  readonly look: (call: CallTool, question: string) => Promise<void>;
}

const TOP_K = 8;
const SEARCH_TOKENS = 2_800;
const READ_TOKENS = 1_600;
const SECOND_SEARCH_TOKENS = 1_900;
/** Words that say which kind of answer is asked for, or nothing. */
const OTHER_WORDS = new Set(
  (
    'a after again all an and are as at be by can do does for from have how i if in is it its long many may me more my ' +
    'no not of on only or own should that the them there this to under was what when where which who why with you'
  ).split(' '),
);

export const POLICIES: readonly Policy[] = [
  {
    name: 'search, then read around the two best results',
    async look(call, question) {
      const results = await search(call, { query: question, max_tokens: SEARCH_TOKENS });
      for (const { id } of results.slice(0, 2)) await call('service_read_document', { id, max_tokens: READ_TOKENS });
    },
  },
  {
    name: 'search, search again by the words alone, then read around the best result',
    async look(call, question) {
      const [best] = await search(call, { query: question, max_tokens: SEARCH_TOKENS });
      await search(call, { query: wordsOf(question), max_tokens: SECOND_SEARCH_TOKENS, exclude_seen: true });
      if (best) await call('service_read_document', { id: best.id, max_tokens: READ_TOKENS });
    },
  },
  {
    name: 'search, find the words in the best document, then read around the first passage of both',
    async look(call, question) {
      const results = await search(call, { query: question, max_tokens: SEARCH_TOKENS });
      const [best] = results;
      if (!best) return;
      const words = { id: best.id, find: wordsOf(question), max_tokens: SECOND_SEARCH_TOKENS };
      const { passages } = await call('service_find_in_document', words);
      // The same passage has the same id in both answers.
      const found = new Set((passages as { id: string }[]).map(({ id }) => id));
      const { id } = results.find((result) => found.has(result.id)) ?? best;
      await call('service_read_document', { id, max_tokens: READ_TOKENS });
    },
  },
];

/** Look for the answer to a question. Return the answers of all calls. */
export async function lookForAnswer(client: Client, { look }: Policy, question: string): Promise<ToolAnswer[]> {
  const answers: ToolAnswer[] = [];
  await look(async (name, args) => {
    const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
    if (isError) throw new Error(`${name}: ${JSON.stringify(content)}`);
    const structured = structuredContent as Record<string, unknown>;
    answers.push({ content, structured });
    return structured;
  }, question);
  return answers;
}

async function search(call: CallTool, args: Record<string, unknown>): Promise<{ id: string }[]> {
  const { results } = await call('service_search', { top_k: TOP_K, ...args });
  return results as { id: string }[];
}

/** Return the words of a question that its answer may have. */
function wordsOf(question: string): string {
  const words = question.toLowerCase().split(/[^\p{L}\p{N}._-]+/u);
  return words.filter((word) => word !== '' && !OTHER_WORDS.has(word)).join(' ');
}
