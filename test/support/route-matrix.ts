import { randomBytes } from 'node:crypto';
import type { Route } from '../../server/route.ts';
import type { Answer, TestApi } from './api.ts';
import { messengerConfig } from './channels.ts';
import { lineBody, lineEvent, slackBody } from './platforms.ts';

/** Ids that requests name: of the caller's organization, of another one, or of nothing. */
export interface MatrixIds {
  readonly bucket: string;
  readonly collection: string;
  readonly document: string;
  readonly job: string;
  readonly bulkJob: string;
  readonly file: string;
  readonly batch: string;
  readonly fileBatch: string;
  readonly config: string;
  readonly workflow: string;
  readonly run: string;
  readonly assistant: string;
  readonly source: string;
  readonly key: string;
  readonly user: string;
}

export const MISSING: MatrixIds = {
  ...{ bucket: 'bkt_missing', collection: 'col_missing', document: 'doc_missing' },
  ...{ job: 'job_missing', bulkJob: 'job_missing', config: 'chn_missing' },
  ...{ file: 'file_missing', batch: 'batch_missing', fileBatch: 'vsfb_missing' },
  ...{ workflow: 'wfl_missing', run: 'run_missing', source: 'src_missing' },
  assistant: 'asst_missing',
  ...{ key: 'key_missing', user: 'usr_missing' },
};

/** Text in every document of the matrix; searches look for it. */
export const TOPIC = 'harbour';

interface MatrixRequest {
  readonly query?: (ids: MatrixIds) => Record<string, string>;
  readonly json?: (ids: MatrixIds) => Record<string, unknown>;
  /** Set if a caller who may see the document of the request, or of the bucket, finds its id or name in the answer. */
  readonly shows?: true;
  /** Ids inside of a nested field of the body. */
  readonly nested?: readonly (keyof MatrixIds)[];
  /** Set if the handler itself requires a role or a scope of those who manage documents. */
  readonly managers?: true;
  /** Set if the handler requires the session of a user, so that it refuses every key before it looks for the resource. */
  readonly sessions?: true;
}

/** A workflow that needs no arguments and changes nothing. */
export const DEFINITION = { blocks: [{ id: 'say', type: 'template', with: { text: TOPIC } }] };

const fresh = () => randomBytes(6).toString('hex');
const input = () => ({ input: 'x' });
const texts = () => ({ texts: ['x'] });

/**
 * Request of each operation. Requests with the ids of the caller's organization may add something and never remove or
 * hide anything. A route that is not here fails the build.
 */
export const REQUESTS: Readonly<Record<string, MatrixRequest>> = {
  createEmbeddings: { json: input },
  embedBatch: { json: texts },
  rerank: { json: () => ({ query: 'x', documents: ['x'] }) },
  rerankV2: { json: () => ({ query: 'x', documents: ['x'] }) },
  retiredEmbed: {},
  embedImages: { json: () => ({ images: ['x'] }) },
  submitBulkJob: { json: texts },
  getBulkJob: {},
  cancelBulkJob: {},
  getBulkResult: {},
  createFile: { json: () => ({ purpose: 'batch' }) },
  listFiles: {},
  getFile: {},
  deleteFile: {},
  getFileContent: {},
  createBatch: {
    json: ({ file }) => ({ input_file_id: file, endpoint: '/v1/embeddings', completion_window: '24h' }),
  },
  listBatches: {},
  getBatch: {},
  cancelBatch: {},
  listModels: {},
  listVendors: {},
  addVendor: { json: () => ({ name: 'none', protocol: 'tei', base_url: 'http://127.0.0.1:1', model: 'none' }) },
  addVendorModel: { json: () => ({ model: 'none' }) },
  removeVendor: {},
  listLocalModels: {},
  planModelInstallation: { json: () => ({ source: 'none' }) },
  installLocalModel: { json: () => ({ source: 'none' }) },
  cancelModelInstallation: {},
  removeLocalModel: {},
  getModel: {},
  getRouting: {},
  setRouting: { json: () => ({ primary: 'service-embed-1-small' }) },
  getUsageSummary: {},
  listUsage: {},
  listUsageByKey: {},
  listUsageByBucket: {},
  getMe: {},
  createSession: { json: () => ({ credential: 'svc_wrong' }) },
  getSession: {},
  listSignInMethods: {},
  beginOidcSignIn: {},
  finishOidcSignIn: {},
  getInvitation: {},
  acceptInvitation: { json: () => ({ accept: true }) },
  viewInvitation: { json: () => ({ invitation: 'wrong' }) },
  signInByInvitation: { json: () => ({ invitation: 'wrong', password: 'long enough password' }) },
  signInByReset: { json: () => ({ reset: 'wrong', password: 'long enough password' }) },
  askToSignInByPasskey: {},
  signInByPasskey: { json: () => ({ response: { id: 'wrong', type: 'public-key' } }) },
  getAccount: {},
  changePassword: { json: () => ({ current_password: 'wrong', new_password: 'long enough password' }) },
  switchOrganization: { json: () => ({ organization: 'default' }) },
  joinOrganization: { json: () => ({ invitation: 'wrong' }) },
  askForPasskey: {},
  addPasskey: { json: () => ({ name: 'phone', response: { id: 'wrong', type: 'public-key' } }) },
  deletePasskey: {},
  getOAuthServerMetadata: {},
  getOAuthResourceMetadata: {},
  authorizeClient: {},
  issueOAuthTokens: { json: () => ({ grant_type: 'refresh_token' }) },
  revokeOAuthToken: { json: () => ({ token: 'wrong' }) },
  registerOAuthClient: { json: () => ({ redirect_uris: ['https://client.example.com/'] }) },
  viewConsent: { json: () => ({ query: 'client_id=wrong' }) },
  decideConsent: { json: () => ({ query: 'client_id=wrong', approve: false }) },
  listGrants: {},
  revokeGrant: {},
  endSession: {},
  endAllSessions: {},
  createKey: { json: ({ user }) => ({ name: 'key', scopes: ['embed'], auth_level: 1, user_id: user }) },
  listKeys: {},
  getKey: {},
  editKey: { json: () => ({}) },
  rotateKey: { json: () => ({}) },
  revokeKey: {},
  createUser: { json: () => ({ email: `${fresh()}@example.com` }) },
  listUsers: {},
  getUser: {},
  editUser: { json: () => ({}) },
  inviteUser: {},
  resetPassword: {},
  revokeUserTokens: {},
  revokeToken: { sessions: true },
  createOrganization: { json: () => ({ name: `organization-${fresh()}`, plan: 'free' }) },
  listOrganizations: {},
  getOrganization: {},
  editOrganization: { json: () => ({}) },
  loadDemo: {},
  removeDemo: { sessions: true },
  createBucket: { json: () => ({ name: `bucket-${fresh()}` }) },
  listBuckets: {},
  getBucket: {},
  editBucket: { json: () => ({}) },
  getBucketSynonyms: {},
  setBucketSynonyms: { json: () => ({ groups: [] }) },
  deleteBucket: { query: () => ({ confirm: 'not its name' }), sessions: true },
  reembedBucket: { json: () => ({ dry_run: true }) },
  listCollections: {},
  createCollection: { json: () => ({ name: `collection-${fresh()}` }) },
  uploadDocument: {
    json: ({ collection }) => ({ filename: 'new.txt', text: `new ${fresh()}`, collection_id: collection }),
  },
  listDocuments: { shows: true },
  getBucketContents: {},
  getDocument: { shows: true },
  getDocumentText: { shows: true },
  deleteDocument: {},
  showDocument: {},
  findDocument: { shows: true },
  findDocuments: { query: () => ({ name: '.', limit: '50' }), shows: true },
  getDocumentChunks: { shows: true },
  getDocumentHistory: { sessions: true },
  getHome: {},
  listJobs: { query: ({ bucket }) => ({ bucket_id: bucket, limit: '200' }), shows: true },
  getJob: { shows: true },
  listJobFiles: { shows: true },
  downloadJobFile: { shows: true },
  cancelJob: {},
  reprocessJob: {},
  deleteJob: {},
  reapStaleJobs: { query: () => ({ timeout_minutes: '1440' }) },
  searchBucket: { json: ({ collection }) => ({ query: TOPIC, top_k: 100, collection }), shows: true },
  searchBuckets: {
    json: ({ bucket }) => ({ query: TOPIC, top_k: 100, buckets: [bucket] }),
    ...{ shows: true, nested: ['bucket'] },
  },
  retrieveKnowledge: {
    json: ({ bucket }) => ({ knowledge_id: bucket, query: TOPIC, retrieval_setting: { top_k: 100 } }),
    shows: true,
  },
  answerQuestion: {
    json: ({ bucket }) => ({ query: TOPIC, top_k: 50, buckets: [bucket] }),
    nested: ['bucket'],
    shows: true,
  },
  ...{ getAnswer: {}, listAnswerRatings: {}, listAssistants: {}, getAssistant: {}, deleteAssistant: {} },
  rateAnswer: { json: () => ({ rating: 'up' }) },
  createChatCompletion: {
    json: ({ bucket }) => ({ model: `bucket/${bucket}`, messages: [{ role: 'user', content: TOPIC }] }),
    nested: ['bucket'],
  },
  createAssistant: { json: ({ bucket }) => ({ name: fresh(), buckets: [bucket] }), nested: ['bucket'] },
  createVectorStore: { json: ({ file }) => ({ file_ids: [file] }), nested: ['file'] },
  ...{ listVectorStores: {}, getVectorStore: {}, deleteVectorStore: {} },
  editVectorStore: { json: () => ({}) },
  createVectorStoreFile: { json: ({ file }) => ({ file_id: file }) },
  listVectorStoreFiles: { shows: true },
  getVectorStoreFile: { shows: true },
  editVectorStoreFile: { json: () => ({ attributes: { note: 'x' } }) },
  deleteVectorStoreFile: {},
  getVectorStoreFileContent: { shows: true },
  createVectorStoreFileBatch: { json: ({ file }) => ({ file_ids: [file] }), nested: ['file'] },
  getVectorStoreFileBatch: {},
  cancelVectorStoreFileBatch: {},
  listVectorStoreFileBatchFiles: {},
  searchVectorStore: { json: () => ({ query: TOPIC, max_num_results: 50 }), shows: true },
  getReservedKeys: {},
  editDocumentMetadata: { json: () => ({ metadata: { note: 'x' }, reindex: false }), managers: true },
  editDocumentsMetadata: {
    json: () => ({ where: { topic: TOPIC }, metadata: { note: 'x' }, dry_run: true, limit: 2000 }),
    ...{ managers: true, shows: true },
  },
  createChannelConfig: {
    json: ({ bucket }) => ({
      ...{ name: 'x', provider: 'messenger' },
      config: messengerConfig({ collection: bucket, bot_id: `bot-${fresh()}` }),
    }),
    nested: ['bucket'],
  },
  listChannelConfigs: {},
  deleteChannelConfig: {},
  testChannel: { json: () => ({ query: TOPIC }) },
  receiveDeliveryOfChannel: { json: () => ({ bot_id: 'bot-1', user_id: 'u', utterance: TOPIC }) },
  answerKakaoSkill: { json: () => ({ userRequest: { utterance: TOPIC, user: { id: 'u' } } }) },
  answerTelegramUpdate: { json: () => ({ update_id: 1, message: { message_id: 1, chat: { id: 1 }, text: TOPIC } }) },
  answerSlackEvent: { json: () => slackBody(TOPIC, 1) },
  answerLineWebhook: { json: () => lineBody(lineEvent(TOPIC, 1)) },
  answerTeamsMessage: { json: () => ({ type: 'message', id: '1', text: TOPIC }) },
  receiveDelivery: { json: () => ({ bot_id: 'bot-1', user_id: 'u', utterance: TOPIC }) },
  cancelNotification: {},
  sendNotification: {
    json: ({ config }) => ({ channel_config_id: config, phone: '+821012345678', template_code: 'T' }),
  },
  createWorkflow: { json: () => ({ name: `workflow-${fresh()}`, definition: DEFINITION }) },
  listWorkflows: {},
  listWorkflowBlockTypes: {},
  getWorkflow: {},
  addWorkflowVersion: { json: () => ({ definition: DEFINITION }) },
  deleteWorkflow: {},
  publishWorkflow: { json: () => ({}) },
  dryRunWorkflow: { json: () => ({ inputs: {} }) },
  runWorkflow: { json: () => ({ inputs: {}, mode: 'simulate' }) },
  listWorkflowRuns: {},
  getWorkflowRun: {},
  approveWorkflowRun: { json: () => ({ approvals: { send: true } }) },
  createMemorySource: { json: ({ bucket }) => ({ name: `source-${fresh()}`, connection: 'none', bucket }) },
  listMemorySources: {},
  listMemoryConnections: {},
  getMemorySource: {},
  syncMemorySource: {},
  deleteMemorySource: {},
  searchMemory: { json: ({ bucket }) => ({ query: TOPIC, bucket, top_k: 100 }), shows: true },
  listProjections: {},
  listCalibrations: {},
  requestCalibration: { json: () => ({ model: 'local/lexical-1' }) },
  streamEvents: {},
  getOverview: {},
  getBucketMap: { shows: true },
  getProjectionMatrix: {},
  listDeliveries: { query: ({ config }) => ({ config }) },
  listUnansweredQuestions: { query: ({ config }) => ({ config }) },
  countUnansweredQuestions: {},
  listNotifications: { query: ({ config }) => ({ config }) },
  showConsole: {},
  showConsolePage: {},
  getConsoleAsset: {},
  showReference: {},
  showHelp: {},
  showHelpPage: {},
  getInstallation: {},
  getInstallationLogo: {},
  getReferenceAsset: {},
  getHealth: {},
  getReadiness: {},
  getMetrics: {},
  getOpenApi: {},
  getToolsOpenApi: {},
};

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
    key: 'key',
    user: 'user',
    user_id: 'user',
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
  ...['listWorkflows.cursor', 'listWorkflowRuns.cursor'],
  ...['streamEvents.last_event_id', 'listKeys.cursor', 'listUsers.cursor', 'listOrganizations.cursor'],
  ...['createChannelConfig.config', 'createMemorySource.user_id', 'listMemorySources.user_id', 'searchMemory.buckets'],
  ...['deletePasskey.passkey', 'getOAuthResourceMetadata.path'],
  // Grants of the caller alone, by ids that only its own list has.
  ...['revokeGrant.grant', 'issueOAuthTokens.client_id', 'revokeOAuthToken.client_id'],
  ...['searchBuckets.buckets', 'findDocuments.ids', 'editDocumentsMetadata.document_ids'],
  ...['rerank.documents', 'rerankV2.documents', 'answerKakaoSkill.secret', 'addVendor.access_key_id'],
  // An answer is read by the caller who asked; test/answers has it.
  ...[
    'answerQuestion.buckets',
    'answerQuestion.assistant',
    'createAssistant.buckets',
    'getAnswer.answer',
    'rateAnswer.answer',
  ],
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
    if (['org', 'token', 'passkey', 'page', 'file', 'vendor'].includes(name)) return `${name}_missing`;
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
