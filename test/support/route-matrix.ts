import type { Route } from '../../server/route.ts';
import { groupIdOf } from '../../src/access/scim/resources.ts';
import type { Answer, TestApi } from './api.ts';
import { type MatrixIds, REQUESTS } from './route-requests.ts';

/** Names of path parameters, query parameters and fields of bodies that hold an id of an organization. */
const ID_FIELDS: Readonly<Record<string, keyof MatrixIds>> = {
  ...{
    bucket: 'bucket',
    bucket_id: 'bucket',
    knowledge_id: 'bucket',
    collection: 'collection',
    collection_id: 'collection',
  },
  ...{ document: 'document', job: 'job', config: 'config', channel_config_id: 'config' },
  ...{ file_id: 'file', input_file_id: 'file', batch_id: 'batch', file_batch: 'fileBatch' },
  ...{
    workflow: 'workflow',
    run: 'run',
    assistant: 'assistant',
    source: 'source',
    webhook: 'webhook',
    delivery: 'delivery',
    trigger: 'trigger',
    key: 'key',
    user: 'user',
    user_id: 'user',
    group: 'group',
    scim_group: 'group',
  },
};

/**
 * Fields that look like ids: of a model, of the messenger, a position in a list, a whole configuration; users of sources,
 * several buckets and several documents at once, which other tests cover.
 */
const NO_IDS = new Set([
  ...['receiveDeliveryOfChannel.user_id', 'receiveDeliveryOfChannel.bot_id'],
  ...['getModel.id', 'receiveDelivery.user_id', 'receiveDelivery.bot_id', 'listDocuments.cursor', 'listJobs.cursor'],
  ...['listJobs.document_id'],
  // Those who run the installation name any organization, and revoke any id that a token of theirs could have.
  ...[
    'getOrganization.org',
    'editOrganization.org',
    'revokeToken.token',
    'removeVendor.vendor',
    'addVendorModel.vendor',
  ],
  ...['cancelModelInstallation.name', 'removeLocalModel.name'],
  ...['showConsolePage.page', 'getConsoleAsset.file', 'getReferenceAsset.file', 'showHelpPage.page'],
  ...['listDeliveries.cursor', 'listNotifications.cursor', 'listUnansweredQuestions.cursor'],
  'cancelNotification.notification',
  ...['listBuckets.cursor', 'listCollections.cursor', 'listChannelConfigs.cursor', 'listMemorySources.cursor'],
  'listMemorySourceFaults.cursor',
  'listWebhookDeliveries.cursor',
  'createWorkflowTrigger.webhook',
  ...['listWorkflows.cursor', 'listWorkflowRuns.cursor'],
  ...[
    'streamEvents.last_event_id',
    'listKeys.cursor',
    'listUsers.cursor',
    'listGroups.cursor',
    'listOrganizations.cursor',
  ],
  ...['createChannelConfig.config', 'createMemorySource.user_id', 'listMemorySources.user_id', 'searchMemory.buckets'],
  ...['deletePasskey.passkey', 'getOAuthResourceMetadata.path'],
  // The caller's own grants, by ids that only its own list shows.
  ...['revokeGrant.grant', 'issueOAuthTokens.client_id', 'revokeOAuthToken.client_id'],
  ...['searchBuckets.buckets', 'findDocuments.ids', 'editDocumentsMetadata.document_ids'],
  ...['rerank.documents', 'rerankV2.documents', 'answerKakaoSkill.secret', 'addVendor.access_key_id'],
  // Only the caller who asked can read an answer; test/answers covers this.
  ...[
    'answerQuestion.buckets',
    'answerQuestion.assistant',
    'createAssistant.buckets',
    'getAnswer.answer',
    'rateAnswer.answer',
  ],
  // Only its own organization can find a search in the log; test/api/search-log.test.ts covers this.
  ...['listSearchLog.cursor', 'giveSearchFeedback.search', 'giveSearchFeedback.chunk_id'],
  ...['judgeSearch.search', 'judgeSearch.document_id'],
  ...['createVectorStore.file_ids', 'createVectorStoreFileBatch.file_ids'],
]);

const LOOKS_LIKE_ID = /(?:^|_)(?:ids?|cursor)$|^(?:bucket|collection|document|job|config)s?$/;

/** Operations whose jobs are bulk jobs. */
const isBulk = (route: Route) => route.path.startsWith('/v1/embed/jobs/');

/** List the ids that a request of the route names, and those of its fields that look like ids and are not known. */
export function idsOf(route: Route): { known: (keyof MatrixIds)[]; unknown: string[] } {
  const inPath = Array.from(route.path.matchAll(/[:*](\w+)/g), ([, name]) => name as string);
  const declared = [route.query, route.body].flatMap((schema) => fieldsOf(schema));
  const known = new Set<keyof MatrixIds>(REQUESTS[route.operationId]?.nested);
  const unknown: string[] = [];
  for (const name of [...inPath, ...declared]) {
    if (NO_IDS.has(`${route.operationId}.${name}`)) continue;
    const kind = ID_FIELDS[name];
    if (kind !== undefined) known.add(kind === 'job' && isBulk(route) ? 'bulkJob' : kind);
    else if (inPath.includes(name) || LOOKS_LIKE_ID.test(name)) unknown.push(name);
  }
  return { known: [...known], unknown };
}

/** List the names of the fields of an object schema. Look through a schema around it. */
function fieldsOf(schema: unknown): string[] {
  const { shape, def } = (schema ?? {}) as { shape?: object; def?: { in?: unknown; innerType?: unknown } };
  if (shape !== undefined) return Object.keys(shape);
  const inner = def?.in ?? def?.innerType;
  return inner === undefined ? [] : fieldsOf(inner);
}

/** Return the method, path and body of the route's request for `ids`. */
export function requestOf(route: Route, ids: MatrixIds): { path: string; json: Record<string, unknown> | undefined } {
  const { query, json } = REQUESTS[route.operationId] ?? {};
  const path = route.path.replace(/[:*](\w+)/g, (_, name: string) => {
    if (name === 'id') return 'local/lexical-1';
    if (['org', 'token', 'passkey', 'page', 'file', 'vendor', 'search'].includes(name)) return `${name}_missing`;
    if (name === 'scim_group') return groupIdOf(ids.group);
    return ids[name === 'job' && isBulk(route) ? 'bulkJob' : (ID_FIELDS[name] as keyof MatrixIds)];
  });
  const search = query === undefined ? '' : `?${new URLSearchParams(query(ids))}`;
  return { path: path + search, json: json?.(ids) };
}

/** Send the route's request for `ids`, as a client that is not on this machine. */
export function send(test: TestApi, route: Route, key: string | undefined, ids: MatrixIds): Promise<Answer> {
  const { path, json } = requestOf(route, ids);
  const headers = { 'X-Forwarded-For': '192.0.2.1' };
  return test.call(route.method, path, {
    headers,
    isStream: route.streams === true,
    ...(key === undefined ? {} : { key }),
    ...(json === undefined ? {} : { json }),
  });
}
