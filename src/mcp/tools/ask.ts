import { z } from 'zod';
import type { AnswerReply, SearchResult } from '../../client/schema.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { MARKS_RULE, markUntrusted } from '../../platform/mark-untrusted.ts';
import { defineTool, READ_ONLY, type Tool, type ToolContext } from '../tool.ts';
import { BucketName } from './choose-bucket.ts';
import { renderResult } from './render-results.ts';

const Output = z.looseObject({ answer: z.string(), sources: z.array(z.looseObject({ id: z.string() })) });

/** Create the tool `service_ask`. */
export function askTools({ defaultBucket }: { readonly defaultBucket: string }): Tool[] {
  return [
    defineTool({
      name: 'service_ask',
      title: 'Ask a bucket',
      description:
        'Answer a question from the documents of a bucket, with the passages that the answer cites. ' +
        `Search is faster if you want to read passages yourself. ${MARKS_RULE}`,
      input: z.object({
        question: z.string().min(1).max(8000),
        bucket: BucketName.optional().describe(`name or id; default: "${defaultBucket}"`),
        assistant: z.string().min(1).max(200).optional().describe('name of an assistant, instead of bucket'),
        style: z.enum(['short', 'normal', 'detailed']).optional(),
      }),
      output: Output,
      annotations: READ_ONLY,
      route: 'POST /v1/answers',
      needsAnswers: true,
      async call({ question, bucket, assistant, style }, context) {
        if (bucket !== undefined && assistant !== undefined) {
          throw invalidRequest('bucket and assistant: give only one of them', 'assistant');
        }
        const scope = assistant === undefined ? { buckets: [bucket ?? defaultBucket] } : { assistant };
        const reply = await context.api.ask({ query: question, style, ...scope }, context.signal);
        return render(reply, context);
      },
    }),
  ];
}

function render(reply: AnswerReply, { results }: ToolContext) {
  const { answer, status, passages, sentences, warnings } = reply;
  const cited = new Set(sentences.flatMap(({ citations }) => citations));
  const sources = passages
    .filter(({ number }) => cited.has(number))
    .map((passage) => ({ passage, id: results.remember(passage.bucket_id, toResult(passage)) }));
  const shown = sources.map(({ passage, id }) => `[${passage.number}] is ${renderResult(id, toResult(passage), null)}`);
  const isWhole = status === 'answered' || status === 'nothing_found';
  const notes = [...(isWhole ? [] : [`the answer is not whole: ${status}`]), ...warnings];
  return {
    structured: {
      status,
      answer,
      sources: sources.map(({ id, passage }) => ({ id, ...passage })),
      warnings,
    },
    text: [markUntrusted([answer, ...shown].join('\n\n')), ...notes.map((note) => `Note: ${note}`)].join('\n\n'),
    links: sources.flatMap(({ passage }) => {
      const { url, file_name: name } = passage.citation;
      return url === null ? [] : [{ uri: url, name }];
    }),
  };
}

/** Convert a passage to the form of a search result, which later calls can refer to. */
function toResult({ chunk_id: id, relevance_score: score, ...passage }: AnswerReply['passages'][number]): SearchResult {
  return { ...passage, id, score: score ?? 0, relevance_score: score ?? null, metadata: {} };
}
