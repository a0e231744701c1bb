/** A folder that owns one thing. */
export interface Room {
  readonly folder: string;
  readonly owns: string;
  /** The only rooms that it may import, where that is less than all the rooms below it. */
  readonly only?: readonly string[];
}

/**
 * All rooms from top to bottom: a room may import the rooms after it and none before it, types included.
 * `check-imports.ts` holds the code to this list and makes the table in docs/architecture.md from it.
 */
export const ROOMS: readonly Room[] = [
  { folder: 'bin', owns: 'scripts that find a Node and start the command line or the tool server' },
  { folder: 'commands', owns: 'one file a command: parse flags, call one operation, print' },
  {
    folder: 'server',
    owns: 'the HTTP API on Koa: `app.ts` (the middleware in order), `route.ts` (what a route is), `routes/` (one file a resource), `middleware/` (one file a step), `body/` (reading bodies), `openapi/` (the description of the routes), `reference/` (files of the page `/docs`), `tls/` (certificates and their renewal); `app.ts` never listens, `listen-api.ts` does',
  },
  {
    folder: 'src/cli',
    owns: 'what commands share: flags, opening the installation, exit codes, tables, reading metrics of a server',
  },
  { folder: 'src/tui', owns: 'ink views over a stream of progress' },
  {
    folder: 'src/mcp',
    owns: 'the tool server `service-mcp` (Model Context Protocol): `tools/` (one file a group of tools), `http/`, `init/`; it calls the REST API, counts tokens, and knows no database',
    only: ['src/client', 'src/models', 'src/platform'],
  },
  {
    folder: 'src/install',
    owns: 'what `install.sh` runs: its `parts/`, the `files/` that it installs, the supervisor, checks, the bundle',
    only: ['src/platform'],
  },
  { folder: 'src/client', owns: 'a small typed client of the REST API', only: ['src/platform'] },
  {
    folder: 'src/console',
    owns: 'pages of the web console, which run in the browser and are served by `server/`; `types.ts` infers the types of the API from its schemas, and nothing else imports another room',
  },
  {
    folder: 'src/operations',
    owns: 'operations of the command line by their name: `groups/` (one file a group), run in the process of a command or asked of the running server at its socket',
  },
  {
    folder: 'src/appliance',
    owns: 'composition: opens an installation from one `open…` of each domain; where database, files and index are, readiness, chores; `live/` (events of what changes), `overview/`',
  },
  {
    folder: 'src/cells',
    owns: 'moves of organizations between installations: export, release, import, activation, deletion of what has moved',
  },
  {
    folder: 'src/backup',
    owns: 'backups: one snapshot of rows and files, verification, restore, schedule, pruning',
  },
  { folder: 'src/workflows', owns: 'definitions, versions and runs of workflows, approvals' },
  { folder: 'src/memory', owns: 'connected sources and their synchronisation, memory search' },
  {
    folder: 'src/channels',
    owns: 'messenger configurations, the webhooks, replies by calls to platforms, notifications',
  },
  {
    folder: 'src/webhooks',
    owns: 'webhooks that the service sends: endpoints, signatures, and the sending of the events that triggers write',
    only: ['src/usage', 'src/access', 'src/platform'],
  },
  {
    folder: 'src/answers',
    owns: 'answers with their sources: passages of a question, the prompt, checked citations, assistants, kept answers, the shape of chat completions; `models/` (clients of chat models)',
  },
  { folder: 'src/demo', owns: 'the sample documents of `service demo`, and the questions that they answer' },
  {
    folder: 'src/vector-stores',
    owns: 'buckets and their documents in the shape of OpenAI: vector stores, their files, batches of files, search, expiry',
  },
  {
    folder: 'src/metadata',
    owns: 'the restricted statement language, edits of document metadata, hard delete, history',
  },
  { folder: 'src/ingest', owns: 'upload, then the ingest job: extract, chunk, embed, index' },
  {
    folder: 'src/batches',
    owns: 'batches in the shape of OpenAI: plan of an input, its job, output and error files',
  },
  { folder: 'src/bulk', owns: 'bulk embedding jobs: submit, work, resume, result pages' },
  { folder: 'src/files', owns: 'files in the shape of OpenAI, and pages of its lists' },
  {
    folder: 'src/insight',
    owns: 'what organizations keep of their searches: `log/` (levels, entries, feedback, judged pairs), counts by day; weights fitted to judged pairs; `map/` (a bucket in two dimensions)',
  },
  {
    folder: 'src/search',
    owns: 'hybrid retrieval: the query, both legs, what the caller may see, fusion, `relevance/`, results',
  },
  {
    folder: 'src/index',
    owns: 'the chunk index of a bucket: `lance/` (tables of LanceDB), `milvus/` (collections of Milvus), `copies/` (tables in memory, kept current), `writing/` (appends, settling, replaced tables)',
  },
  {
    folder: 'src/resident',
    owns: 'vectors and BM25 in memory, on threads: knows rows, terms and vectors',
    only: ['src/language', 'src/projection', 'src/platform'],
  },
  {
    folder: 'src/documents',
    owns: 'buckets, collections, documents, what a caller may see of them, rules of user metadata',
  },
  { folder: 'src/jobs', owns: 'the job row, claim / lease / heartbeat / fence, retry, recovery, notifier' },
  { folder: 'src/rerank', owns: 'texts scored for a query: rerankers of vendors and of this host, fallback, limits' },
  {
    folder: 'src/embedding',
    owns: 'texts to vectors: routing, fallback, alias, cache, `providers/protocols/` (one file for each wire protocol)',
  },
  { folder: 'src/local-models', owns: 'models in process: install, registry, runtime' },
  { folder: 'src/recognition', owns: 'text in pictures: OCR in a process of its own, vision models' },
  {
    folder: 'src/projection',
    owns: 'the canonical space: `kernel/` (WASM), `fit/` (the mathematics), `corpus/`, the maps in use',
  },
  { folder: 'src/models', owns: 'the catalog of models, task types, token counting' },
  {
    folder: 'src/language',
    owns: 'words, sentences, scripts, stemming, language detection: the one analyser of texts and queries',
  },
  { folder: 'src/usage', owns: 'metering, quotas, request rates, summaries' },
  {
    folder: 'src/access',
    owns: 'organizations, users, keys, tokens, the one resolver of callers, audit log, idempotency',
  },
  { folder: 'src/printing', owns: 'vectors as JSON text, by a WASM kernel' },
  {
    folder: 'src/platform',
    owns: 'settings, errors, lifecycle, logs, metrics, PostgreSQL, Redis, objects (disk, S3), threads, calls to vendors over HTTP',
  },
];
