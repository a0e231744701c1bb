import { Readable } from 'node:stream';
import { z } from 'zod';
import { excerptOf } from '../../channels/excerpt.ts';
import { listJudgedQueries, setLevel } from '../../insight/log/edit-log.ts';
import { exportSearches, listSearches, readLevel } from '../../insight/log/read-log.ts';
import { LogFilter, SLOW_MS } from '../../insight/log/schema.ts';
import { matchingTerms } from '../../language/analyser.ts';
import { parseDuration } from '../../platform/duration.ts';
import { LOG_LEVELS } from '../../platform/search-settings.ts';
import { SearchRequest } from '../../search/schema.ts';
import { searchBucket } from '../../search/search.ts';
import { listPage } from '../list-page.ts';
import { forOrganization, WithBody } from '../operation.ts';

/** Default maximum length of a displayed passage. */
const SNIPPET_CHARS_MAX = 280;
const LOG_ROWS_MAX = 1_000;

/** Search a bucket. `snippets` contains, for each result, the sentences that share the most words with the query. */
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

const LogRequest = z.object({
  bucket: z.string().optional(),
  unanswered: z.boolean().optional(),
  slow: z.boolean().optional(),
  since: z.string().optional(),
  contains: LogFilter.shape.contains,
});

/** Build the log filter of a request. @throws AppError `duration_invalid` (400) */
function filterOf({ bucket, unanswered, slow, since, contains }: z.output<typeof LogRequest>): LogFilter {
  const sinceMs = since === undefined ? undefined : Date.now() - parseDuration(since, 'since');
  return {
    bucket,
    unanswered,
    contains,
    min_ms: slow ? SLOW_MS : undefined,
    since: sinceMs === undefined ? undefined : new Date(sinceMs).toISOString(),
  };
}

/** List searches of the log, newest first. */
export const log = forOrganization(
  LogRequest.extend({ limit: z.int().min(1).max(LOG_ROWS_MAX) }),
  async ({ limit, ...request }, { appliance: { sql, config, insight }, operator }) => {
    await insight.log.flush();
    return listPage(await listSearches(sql, config.search.log, operator, filterOf(request), { limit }), limit);
  },
  ['insight'],
);

/** Export the log. The body is NDJSON or CSV. */
export const exportLog = forOrganization(
  LogRequest.extend({ format: z.enum(['ndjson', 'csv']) }),
  async ({ format, ...request }, { appliance: { sql, config, insight }, operator }) => {
    await insight.log.flush();
    const lines = exportSearches(sql, config.search.log, operator, { ...filterOf(request), format });
    return new WithBody({}, Readable.from(lines, { objectMode: false }));
  },
  ['insight'],
);

/** Export the judged queries of a bucket. The body is NDJSON. */
export const judged = forOrganization(
  z.object({ bucket: z.string() }),
  async ({ bucket: name }, { appliance: { sql }, operator }) => {
    const queries = await listJudgedQueries(sql, operator, name);
    const lines = queries.map((query) => `${JSON.stringify(query)}\n`);
    return new WithBody({ queries: queries.length }, Readable.from(lines, { objectMode: false }));
  },
);

/** Read what the organization logs of its searches, or set it if a level is given. */
export const logLevel = forOrganization(
  z.object({ level: z.enum([...LOG_LEVELS, 'default']).optional() }),
  async ({ level }, { appliance: { sql, config, insight }, operator }) => {
    const settings = config.search.log;
    if (level === undefined) return readLevel(sql, settings, operator.orgId);
    const set = await setLevel({ sql, settings }, operator, level === 'default' ? null : level);
    await insight.log.readLevel(operator.orgId);
    return set;
  },
  ['insight'],
);
