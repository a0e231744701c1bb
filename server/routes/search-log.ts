import { Readable } from 'node:stream';
import { z } from 'zod';
import { judge, listJudgedQueries, type SearchLogContext, setLevel } from '../../src/insight/log/edit-log.ts';
import { exportSearches, listSearches, readLevel, summarizeSearches } from '../../src/insight/log/read-log.ts';
import {
  Feedback,
  Judgement,
  JudgementRequest,
  LevelChange,
  LogEntry,
  LogFilter,
  LogSummary,
  SearchLogLevel,
  SummaryQuery,
} from '../../src/insight/log/schema.ts';
import type { SearchLog } from '../../src/insight/log/search-log.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { attachment } from '../content-disposition.ts';
import { editQueries, reportQueries } from '../limited-queries.ts';
import { PageQuery, pageSchema, readPage } from '../pages.ts';
import { defineRoute, type Route } from '../route.ts';

const params = z.object({ search: z.string().min(1).max(100).describe('search_id of the response') });
const NDJSON = 'application/x-ndjson';

export interface SearchLogRoutes extends SearchLogContext {
  readonly log: Pick<SearchLog, 'flush' | 'readLevel' | 'giveFeedback'>;
}

/** Create the routes of the search log, which shows what an organization's people have searched for. */
export function searchLogRoutes(context: SearchLogRoutes): Route[] {
  return [...readingRoutes(context), ...levelRoutes(context), ...editingRoutes(context)];
}

/** Common parts of routes that show queries. Only those who manage an organization's users may read them. */
const reading = { method: 'GET', access: 'users:manage' } as const;

function readingRoutes({ sql, settings, log }: SearchLogRoutes): Route[] {
  return [
    defineRoute({
      ...reading,
      path: '/v1/search/log',
      operationId: 'listSearchLog',
      summary: 'Logged searches of the organization, newest first, if it keeps queries',
      query: PageQuery.extend(LogFilter.shape),
      responses: { 200: { description: 'A page', schema: pageSchema(LogEntry) } },
      refusals: [404],
      async handle({ caller, query, signal }) {
        await log.flush();
        const queries = reportQueries(sql, signal);
        return { body: await readPage(query, (page) => listSearches(queries, settings, caller, query, page)) };
      },
    }),
    defineRoute({
      ...reading,
      path: '/v1/search/log/summary',
      operationId: 'summarizeSearchLog',
      summary: 'Searches by day, and the most frequent, unanswered and slow queries',
      query: SummaryQuery,
      responses: { 200: { description: 'The summary', schema: LogSummary } },
      refusals: [404],
      async handle({ caller, query, signal }) {
        await log.flush();
        return { body: await summarizeSearches(reportQueries(sql, signal), settings, caller, query) };
      },
    }),
    defineRoute({
      ...reading,
      path: '/v1/search/log/export',
      operationId: 'exportSearchLog',
      summary: 'The search log as NDJSON or CSV, newest search first',
      query: LogFilter.extend({ format: z.enum(['ndjson', 'csv']).default('ndjson') }),
      responses: {
        200: {
          description: 'One search on each line, as NDJSON or CSV',
          mediaType: '*/*',
          headers: ['Content-Disposition'],
        },
      },
      refusals: [404],
      async handle({ caller, query, signal }) {
        await log.flush();
        const lines = exportSearches(reportQueries(sql, signal), settings, caller, query);
        return {
          body: Readable.from(await begun(lines), { objectMode: false }),
          type: query.format === 'csv' ? 'text/csv; charset=utf-8' : NDJSON,
          headers: {
            'Content-Disposition': attachment(`search-log.${query.format}`),
            'Cache-Control': 'private, no-store',
          },
        };
      },
    }),
    defineRoute({
      ...reading,
      path: '/v1/search/judgements',
      operationId: 'exportJudgedQueries',
      summary: 'Judged queries of a bucket, in the format of `service index tune --queries`',
      query: z.object({ bucket: z.string().min(1).describe('id or name') }),
      responses: { 200: { description: 'One query on each line', mediaType: NDJSON } },
      refusals: [404],
      async handle({ caller, query, signal }) {
        const judged = await listJudgedQueries(reportQueries(sql, signal), caller, query.bucket);
        return { body: Buffer.from(judged.map((line) => `${JSON.stringify(line)}\n`).join('')), type: NDJSON };
      },
    }),
  ];
}

function levelRoutes({ sql, settings, log }: SearchLogRoutes): Route[] {
  return [
    defineRoute({
      ...reading,
      path: '/v1/search/log/level',
      operationId: 'getSearchLogLevel',
      summary: 'Level of the search log: the information that the organization keeps about its searches',
      responses: { 200: { description: 'The level', schema: SearchLogLevel } },
      handle: async ({ caller, signal }) => ({
        body: await readLevel(reportQueries(sql, signal), settings, caller.orgId),
      }),
    }),
    defineRoute({
      method: 'PUT',
      path: '/v1/search/log/level',
      operationId: 'setSearchLogLevel',
      summary: 'Choose what the organization keeps about its searches: nothing, numbers, or queries',
      access: 'users:manage',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      body: LevelChange,
      responses: { 200: { description: 'The level', schema: SearchLogLevel } },
      refusals: [409],
      async handle({ caller, body }) {
        const level = await setLevel({ sql: editQueries(sql), settings }, caller, body.level);
        await log.readLevel(caller.orgId);
        return { body: level };
      },
    }),
  ];
}

function editingRoutes({ sql, settings, log }: SearchLogRoutes): Route[] {
  const common = { method: 'POST', bodyLimitBytes: SMALL_BODY_BYTES_MAX } as const;
  return [
    defineRoute({
      ...common,
      path: '/v1/search/log/:search/feedback',
      operationId: 'giveSearchFeedback',
      summary: 'Say whether the results of a search were helpful; later feedback replaces earlier',
      access: 'search',
      params,
      body: Feedback,
      responses: { 204: { description: 'Recorded' } },
      refusals: [404],
      async handle({ caller, params, body: { helpful, chunk_id: chunkId = null } }) {
        await log.giveFeedback(caller.orgId, params.search, { helpful, chunkId });
        return { status: 204 };
      },
    }),
    defineRoute({
      ...common,
      path: '/v1/search/log/:search/judgement',
      operationId: 'judgeSearch',
      summary: 'Judge how well a document answers the query of a search; judged pairs are kept until they are removed',
      access: 'users:manage',
      params,
      body: JudgementRequest,
      responses: { 200: { description: 'The judged pair', schema: Judgement } },
      refusals: [404, 409],
      async handle({ caller, params, body }) {
        await log.flush();
        return { body: await judge({ sql: editQueries(sql), settings }, caller, params.search, body) };
      },
    }),
  ];
}

/** Wait for the first part, so that an earlier refusal becomes the reply. */
async function begun(parts: AsyncGenerator<string, void>): Promise<AsyncIterable<string>> {
  const first = await parts.next();
  return (async function* () {
    if (first.done) return;
    yield first.value;
    yield* parts;
  })();
}
