import type { Message } from './i18n.ts';

/** Help for a page: its purpose, its documentation, and its part of the API reference. */
interface Help {
  readonly text: Message;
  /** Name of a page of the documentation. */
  readonly document: string;
  /** Group and operation of the API reference. */
  readonly reference: string;
}

const DOCUMENTS: Help = {
  text: 'Buckets hold documents that are searched together. Upload a file, and it can be found as soon as its state is ready.',
  document: 'ingest',
  reference: 'buckets/listDocuments',
};

const PEOPLE: Help = {
  text: 'Programs sign in with keys, and people with their own account. A key has only the rights that you choose.',
  document: 'security',
  reference: 'keys/listKeys',
};

/** Help by the first segment of the URL path. */
const PAGES: Readonly<Record<string, Help>> = {
  overview: {
    text: 'This page shows how your documents and searches develop, and what needs a decision of yours.',
    document: 'console',
    reference: 'overview/getOverview',
  },
  documents: DOCUMENTS,
  buckets: DOCUMENTS,
  search: {
    text: 'A search returns passages, best first. The line above them says whether they seem to answer the query.',
    document: 'search',
    reference: 'buckets/searchBucket',
  },
  ask: {
    text: 'An answer cites the passages that it rests on. Open a citation to check it.',
    document: 'answers',
    reference: 'answers/answerQuestion',
  },
  metadata: {
    text: 'A statement finds or changes many documents by their metadata. You see every change before it is made.',
    document: 'metadata',
    reference: 'buckets/editDocumentsMetadata',
  },
  map: {
    text: 'Each point is a passage of a document. Passages with a similar meaning are near each other.',
    document: 'search',
    reference: 'buckets/getBucketMap',
  },
  jobs: {
    text: 'A job is work in the background, such as reading an uploaded file. A failed job shows its reason.',
    document: 'jobs',
    reference: 'jobs/listJobs',
  },
  channels: {
    text: 'A channel answers the messages of a messenger with passages of a bucket.',
    document: 'channels',
    reference: 'channels/listChannelConfigs',
  },
  sources: {
    text: 'A source keeps documents here the same as a place outside, such as a folder, a website or a mailbox.',
    document: 'memory',
    reference: 'memory/listMemorySources',
  },
  workflows: {
    text: 'A workflow is a chain of steps. A step that changes or sends something waits until a person approves it.',
    document: 'workflows',
    reference: 'workflows/listWorkflows',
  },
  webhooks: {
    text: 'The service posts events to addresses of yours. Each request is signed, and repeated until your program has taken it.',
    document: 'webhooks',
    reference: 'webhooks/listWebhooks',
  },
  models: {
    text: 'A model turns a text into numbers, so that texts with a similar meaning are found.',
    document: 'gateway',
    reference: 'models/listModels',
  },
  insight: {
    text: 'A question without an answer becomes a document, a synonym or a judgement in one step.',
    document: 'insight',
    reference: 'search/summarizeSearchLog',
  },
  usage: {
    text: 'This page shows the requests and tokens of a month, and what is left of your quota.',
    document: 'gateway',
    reference: 'usage/getUsageSummary',
  },
  system: {
    text: 'This page shows the processes behind the service. It is for the operators of the installation.',
    document: 'operations',
    reference: 'overview/getOverview',
  },
  keys: PEOPLE,
  people: PEOPLE,
  groups: PEOPLE,
  organizations: PEOPLE,
};

/** Find the help for a URL; null if there is no such page. */
export function helpOf(segments: readonly string[]): Help | null {
  return PAGES[segments[0] ?? 'overview'] ?? null;
}
