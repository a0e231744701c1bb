import { randomBytes } from 'node:crypto';
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
  readonly webhook: string;
  readonly delivery: string;
  readonly trigger: string;
  readonly key: string;
  readonly user: string;
  readonly group: string;
}

export const MISSING: MatrixIds = {
  ...{ bucket: 'bkt_missing', collection: 'col_missing', document: 'doc_missing' },
  ...{ job: 'job_missing', bulkJob: 'job_missing', config: 'chn_missing' },
  ...{ file: 'file_missing', batch: 'batch_missing', fileBatch: 'vsfb_missing' },
  ...{ workflow: 'wfl_missing', run: 'run_missing', source: 'src_missing' },
  ...{ assistant: 'asst_missing', webhook: 'whk_missing', delivery: 'msg_missing' },
  trigger: 'trg_missing',
  ...{ key: 'key_missing', user: 'usr_missing', group: 'group-missing' },
};

/** Text in every document of the matrix; searches look for it. */
export const TOPIC = 'harbour';

interface MatrixRequest {
  readonly query?: (ids: MatrixIds) => Record<string, string>;
  readonly json?: (ids: MatrixIds) => Record<string, unknown>;
  /** Set if the response contains the document's id or name for a caller who may see the document. */
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
 * hide anything. A missing route fails the build.
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
  createGroup: { json: () => ({ name: `group-${fresh()}` }) },
  listGroups: {},
  getGroup: {},
  editGroup: { json: () => ({ display_name: 'renamed' }) },
  deleteGroup: {},
  getScimConfig: {},
  listScimResourceTypes: {},
  listScimSchemas: {},
  createScimUser: { json: () => ({ userName: `${fresh()}@example.com` }) },
  listScimUsers: {},
  getScimUser: {},
  replaceScimUser: { json: () => ({ userName: `${fresh()}@example.com` }) },
  patchScimUser: { json: () => ({ Operations: [{ op: 'replace', path: 'externalId', value: fresh() }] }) },
  deleteScimUser: {},
  createScimGroup: { json: () => ({ displayName: `group-${fresh()}` }) },
  listScimGroups: {},
  getScimGroup: {},
  replaceScimGroup: { json: () => ({ displayName: `group-${fresh()}` }) },
  patchScimGroup: { json: () => ({ Operations: [{ op: 'replace', path: 'externalId', value: fresh() }] }) },
  deleteScimGroup: {},
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
  listSearchLog: { query: ({ bucket }) => ({ bucket }) },
  summarizeSearchLog: { query: ({ bucket }) => ({ bucket }) },
  exportSearchLog: { query: ({ bucket }) => ({ bucket }) },
  exportJudgedQueries: { query: ({ bucket }) => ({ bucket }) },
  getSearchLogLevel: {},
  setSearchLogLevel: { json: () => ({ level: 'counts' }) },
  giveSearchFeedback: { json: () => ({ helpful: true }) },
  judgeSearch: { json: ({ document }) => ({ document_id: document, grade: 1 }) },
  deleteBucket: { query: () => ({ confirm: 'not its name' }), sessions: true },
  reembedBucket: { json: () => ({ dry_run: true }) },
  moveBucketIndex: { json: () => ({ engine: 'lance', dry_run: true }) },
  rehearseSwitch: { json: () => ({ model: 'local/lexical-1', queries: [{ query: 'pump' }], dry_run: true }) },
  importVectors: {
    json: ({ collection }) => ({
      model: 'vendor-a/text-embedding-3-small',
      rows: [{ id: `row-${fresh()}`, vector: [1, ...Array.from({ length: 1535 }, () => 0)] }],
      collection_id: collection,
      dry_run: true,
    }),
  },
  listCollections: {},
  createCollection: { json: () => ({ name: `collection-${fresh()}` }) },
  uploadDocument: {
    json: ({ collection }) => ({ filename: 'new.txt', text: `new ${fresh()}`, collection_id: collection }),
  },
  listDocuments: { shows: true },
  getBucketContents: {},
  getDocument: { shows: true },
  explainAccess: { shows: true },
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
  createWebhook: { json: () => ({ name: fresh(), url: 'https://example.com/hooks' }) },
  ...{
    listWebhooks: {},
    getWebhook: {},
    deleteWebhook: {},
    testWebhook: {},
    rotateWebhookSecret: { json: () => ({}) },
  },
  changeWebhook: { json: () => ({ enabled: true }) },
  ...{ listWebhookDeliveries: {}, replayWebhookDelivery: {} },
  replayWebhook: { json: () => ({ since: '2026-01-01T00:00:00Z' }) },
  createWorkflowTrigger: { json: ({ bucket }) => ({ bucket }) },
  ...{ listWorkflowTriggers: {}, removeWorkflowTrigger: {}, startWorkflowByWebhook: { json: () => ({}) } },
  createMemorySource: { json: ({ bucket }) => ({ name: `source-${fresh()}`, connection: 'none', bucket }) },
  listMemorySources: {},
  listMemoryConnections: {},
  getMemorySource: {},
  syncMemorySource: {},
  changeMemorySource: { json: () => ({ schedule: null }) },
  listMemorySourceFaults: {},
  previewMemorySource: { json: ({ source }) => ({ source }), nested: ['source'] },
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
