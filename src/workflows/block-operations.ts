import { requireScope } from '../access/caller.ts';
import { AnswerFailure } from '../answers/answer-errors.ts';
import { type AnswerContext, answerQuestion, wholeAnswer } from '../answers/answer-question.ts';
import type { SendContext } from '../channels/attempt-notification.ts';
import { sendNotification } from '../channels/send-notification.ts';
import type { Embedder } from '../embedding/embedder.ts';
import { contentOfJson, type UploadContext, uploadDocument } from '../ingest/upload.ts';
import { searchMemory } from '../memory/search-memory.ts';
import { type EditContext, editDocument } from '../metadata/edit-document.ts';
import { linkResults } from '../search/results/link-results.ts';
import { type SearchContext, searchBucket } from '../search/search.ts';
import { type RateLimiter, takeRequest } from '../usage/rates.ts';
import { axisOf } from '../usage/schema.ts';
import type { BlockOperations } from './block-types.ts';

export interface OperationsContext {
  readonly search: SearchContext;
  readonly answers: AnswerContext;
  readonly embedder: Embedder;
  readonly uploads: UploadContext;
  readonly metadata: EditContext;
  readonly sending: SendContext;
  readonly rates: RateLimiter;
}

/**
 * Connect the operations of blocks to the service, with the rights and request rates of the corresponding endpoints.
 */
export function blockOperations(context: OperationsContext): BlockOperations {
  const { search, answers, embedder, uploads, metadata, sending, rates } = context;
  return {
    async search({ caller, origin, signal }, { bucket, ...request }) {
      requireScope(caller, 'search');
      await takeRequest(rates, caller, 'search');
      return linkResults(await searchBucket(search, caller, bucket, request, signal), search.links, { caller, origin });
    },
    async searchMemory({ caller, origin, signal }, request) {
      requireScope(caller, 'search');
      await takeRequest(rates, caller, 'search');
      return linkResults(await searchMemory(search, caller, request, signal), search.links, { caller, origin });
    },
    async answer({ caller, origin, signal }, request) {
      requireScope(caller, 'search');
      await takeRequest(rates, caller, 'answers');
      try {
        return await wholeAnswer(answerQuestion(answers, caller, { ...request, history: [], origin }, signal));
      } catch (error) {
        throw error instanceof AnswerFailure ? error.cause : error;
      }
    },
    async embed({ caller, signal }, { texts, model, dimensions }) {
      requireScope(caller, 'embed');
      const list = typeof texts === 'string' ? [texts] : texts;
      await takeRequest(rates, caller, axisOf(list));
      const { orgId, plan, actor } = caller;
      const embedded = await embedder.embed({
        texts: list,
        model,
        dimensions,
        orgId,
        signal,
        charge: { account: { orgId, plan, actor }, axis: axisOf(list) },
      });
      const { vectors, dimensions: width } = embedded;
      const embeddings = list.map((_, row) => Array.from(vectors.subarray(row * width, (row + 1) * width)));
      return { model: embedded.model, embeddings };
    },
    async upload({ caller, workflowId }, { bucket, ...request }) {
      requireScope(caller, 'documents:write');
      if (request.public_accessible !== undefined) requireScope(caller, 'buckets:manage');
      await takeRequest(rates, caller, 'upload');
      const reply = await uploadDocument({ ...uploads, workflowId }, caller, bucket, contentOfJson(request), request);
      return { id: reply.id, job_id: reply.job_id };
    },
    async updateMetadata({ caller, workflowId }, { bucket, document_id: documentId, ...edit }) {
      return editDocument({ ...metadata, workflowId }, caller, bucket, documentId, edit);
    },
    async sendNotification({ caller }, request) {
      requireScope(caller, 'channels:send');
      return sendNotification(sending, caller, request, null);
    },
  };
}
