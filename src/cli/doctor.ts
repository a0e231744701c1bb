import { randomUUID } from 'node:crypto';
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { VendorChatModel } from '../answers/models/vendor-chat-model.ts';
import { MIGRATIONS, openDatabase, openObjects } from '../appliance/stores.ts';
import { openCatalog } from '../embedding/open-embedding.ts';
import { embedByWords } from '../embedding/providers/local-provider.ts';
import { openProvider } from '../embedding/providers/open-provider.ts';
import { findTruncated } from '../index/lance/find-truncated.ts';
import { indexDirectory, openTables } from '../index/lance/open-tables.ts';
import { MilvusConnection } from '../index/milvus/milvus-connection.ts';
import { Catalog, LEXICAL_ID } from '../models/catalog.ts';
import type { AnswerSettings } from '../platform/answer-settings.ts';
import type { Config } from '../platform/config.ts';
import { describeConfinement } from '../platform/confinement.ts';
import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { pendingMigrations } from '../platform/migrate.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { probeObjects, requireConditionalWrites } from '../platform/objects/probe-objects.ts';
import { explainS3Failure } from '../platform/objects/s3-errors.ts';
import { describeServer } from '../platform/postgres/server.ts';
import { mapPostgresError, type Sql } from '../platform/postgres.ts';
import type { RerankSettings } from '../platform/provider-settings.ts';
import { openRedis } from '../platform/redis.ts';
import type { RedisSettings } from '../platform/redis-settings.ts';
import type { MilvusSettings } from '../platform/storage-settings.ts';
import { openThreads } from '../platform/threads.ts';
import { VendorReranker } from '../rerank/vendor-reranker.ts';
import { describeCalibration } from './describe-calibration.ts';
import { down, hasCanaries, tryBackups, tryBallast, tryCanaries, tryRestore } from './doctor-care.ts';
import { judgeReplica } from './doctor-replica.ts';
import { findWarnings } from './doctor-warnings.ts';
import { askModel } from './init-answers.ts';
import { findOwnServer } from './own-server.ts';
import { formatBytes } from './table.ts';

const REASON_CHARACTERS_MAX = 320;
/** Time in which the server of the data directory must answer. */
const SERVER_MS_MAX = 5_000;
/** Maximum number of truncated index files to list. */
const TRUNCATED_MAX = 20;
const FREE_BYTES_MIN = 512 * 1024 * 1024;
/** Maximum clock difference to the database. Beyond it, leases and tokens expire at the wrong time. */
const CLOCK_SKEW_MS_MAX = 5_000;
/** Clock difference at which to start warning. */
const CLOCK_SKEW_MS_WARNED = 1_000;

export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'down' | 'not configured';
  /** Result, or the fault. */
  readonly detail: string;
}

/**
 * Check every part of the installation in the way the service uses it. The checks run in sequence and are independent,
 * so that one broken part doesn't hide another. Create a missing data directory, but don't migrate.
 */
export async function* examine(config: Config, logger: Logger, signal: AbortSignal): AsyncGenerator<Check> {
  yield await check('node', async () => `${process.version} on ${process.platform}-${process.arch}`);
  yield await check('data directory', () => tryDirectory(config.dataDir));
  yield await check('disk space', () => measureSpace(config.dataDir));
  yield config.ballastBytes === 0 ? notConfigured('ballast') : await check('ballast', () => tryBallast(config));
  yield await examineServer(config, signal);
  const { isComplete, detail } = await describeConfinement();
  yield { name: 'document readers', status: isComplete ? 'ok' : 'not configured', detail };
  signal.throwIfAborted();
  yield* examineDatabase(config, logger);
  signal.throwIfAborted();
  yield* examineStorage(config, logger);
  signal.throwIfAborted();
  yield await check('built-in model', () => tryLexicalModel(signal));
  signal.throwIfAborted();
  yield config.redis === null
    ? notConfigured('redis')
    : await check('redis', () => tryRedis(config.redis as RedisSettings, logger));
  yield* examineProviders(config, logger, signal);
  signal.throwIfAborted();
  yield* examineRerankers(config, logger, signal);
  yield* examineAnswers(config, logger, signal);
}

/**
 * Check, inside a running server, what it doesn't monitor otherwise: the disk, the document readers and periodic
 * maintenance. Don't call vendors.
 */
export async function* examineRunning({
  sql,
  config,
  logger,
}: {
  readonly sql: Sql;
  readonly config: Config;
  readonly logger: Logger;
}): AsyncGenerator<Check> {
  yield await check('data directory', () => tryDirectory(config.dataDir));
  yield await check('disk space', () => measureSpace(config.dataDir));
  yield config.ballastBytes === 0 ? notConfigured('ballast') : await check('ballast', () => tryBallast(config));
  const { isComplete, detail } = await describeConfinement();
  yield { name: 'document readers', status: isComplete ? 'ok' : 'not configured', detail };
  yield await examineIndexFiles(config);
  yield await examineClock(async () => sql);
  yield* examineCare(sql, config, logger);
}

/** Check that the server of the data directory, if one runs, is ready. */
async function examineServer({ dataDir }: Config, signal: AbortSignal): Promise<Check> {
  const url = await findOwnServer(dataDir);
  if (url === null)
    return { name: 'server', status: 'not configured', detail: 'no server is running on this data directory' };
  return check('server', async () => {
    const within = AbortSignal.any([signal, AbortSignal.timeout(SERVER_MS_MAX)]);
    const reply = await fetch(new URL('/readyz', url), { signal: within, redirect: 'error' });
    if (reply.ok) return `ready at ${url}`;
    throw down(`the server at ${url} is not ready: ${(await reply.text()).slice(0, REASON_CHARACTERS_MAX)}`);
  });
}

/** Make one real call to every provider, with its first model. */
async function* examineProviders(config: Config, logger: Logger, signal: AbortSignal): AsyncGenerator<Check> {
  const providers = Object.entries(config.providers);
  if (providers.length === 0) yield notConfigured('providers');
  const catalog = openCatalog(config);
  for (const [name, settings] of providers) {
    signal.throwIfAborted();
    yield await check(`provider ${name}`, async () => {
      const [named] = Object.keys(settings.models);
      const served = catalog.list().filter((each) => each.vendor === name);
      const first = served.find(({ id }) => catalog.isNamed(id)) ?? served[0];
      const model = named === undefined ? first : catalog.find(named);
      if (!model) throw down(`no model of the catalog or of "models" has the vendor ${name}; add one under "models"`);
      const threads = openThreads();
      const provider = openProvider({ name, settings, threads, logger });
      const beganMs = performance.now();
      try {
        await provider.embed({ model, texts: ['Is the model there?'], counts: [5], taskType: null, signal });
      } finally {
        await provider.close();
        await threads.close();
      }
      const ms = Math.round(performance.now() - beganMs);
      return `${model.id} returned a vector of ${model.nativeDimension} dimensions in ${ms} ms`;
    });
  }
}

async function* examineRerankers({ rerank, rerankers }: Config, logger: Logger, signal: AbortSignal) {
  const all = [...(rerank === null ? [] : [rerank]), ...rerankers];
  if (all.length === 0) yield notConfigured('reranker');
  for (const settings of all) {
    signal.throwIfAborted();
    yield await check('reranker', () => tryReranker(settings, logger, signal));
  }
}

async function* examineAnswers({ answers }: Config, logger: Logger, signal: AbortSignal): AsyncGenerator<Check> {
  if (answers === null) yield notConfigured('answers');
  else yield await check('answers', () => tryChatModel(answers, logger, signal));
}

async function tryChatModel(settings: AnswerSettings, logger: Logger, signal: AbortSignal): Promise<string> {
  const model = new VendorChatModel(settings, logger, { attempted: () => undefined });
  return `${model.id} begins to answer in ${await askModel(model, settings.outputTokensMax, signal)} ms`;
}

async function tryReranker(settings: RerankSettings, logger: Logger, signal: AbortSignal): Promise<string> {
  const { id } = settings;
  if (settings.kind === 'local') return `${id} runs on this host; "service models test ${id}" runs it`;
  const reranker = new VendorReranker(settings, { logger });
  const beganMs = performance.now();
  try {
    await reranker.score({ query: 'Is it there?', texts: ['It is.', 'The weather is fine.'] }, signal);
    return `${id} answers in ${Math.round(performance.now() - beganMs)} ms`;
  } finally {
    await reranker.close();
  }
}

function notConfigured(name: string): Check {
  return { name, status: 'not configured', detail: 'not configured' };
}

async function* examineDatabase(config: Config, logger: Logger): AsyncGenerator<Check> {
  let database: { sql: Sql; close(): Promise<void> } | null = null;
  const open = async () => {
    database ??= await openDatabase(config, logger);
    return database.sql;
  };
  try {
    const databaseCheck = await check('database', async () => {
      const { version } = await describeServer(await open());
      return `PostgreSQL ${version}, ${config.databaseUrl === null ? 'embedded' : 'at DATABASE_URL'}`;
    });
    yield databaseCheck;
    if (databaseCheck.status === 'down') return;
    let isCurrent = false;
    yield await check('migrations', async () => {
      const pending = await pendingMigrations(await open(), { directory: MIGRATIONS });
      isCurrent = pending.length === 0;
      return pending.length === 0
        ? 'up to date'
        : `${pending.length} pending; the next start applies them: ${pending.join(', ')}`;
    });
    yield await examineClock(open);
    yield config.databaseReplica === null
      ? notConfigured('replica')
      : { name: 'replica', ...(await judgeReplica(await open(), config, logger)) };
    if (isCurrent) {
      yield* examineCare(await open(), config, logger);
      const settings = config.projections.autoCalibration;
      yield await check('calibration', async () => describeCalibration(await open(), settings));
      for (const warning of await findWarnings(await open(), config)) yield { ...warning, status: 'warning' };
    }
  } finally {
    await (database as { close(): Promise<void> } | null)?.close();
  }
}

/** Check the periodic maintenance of the data. Its tables must exist. */
async function* examineCare(sql: Sql, config: Config, logger: Logger): AsyncGenerator<Check> {
  yield (await hasCanaries(sql)) ? await check('canaries', () => tryCanaries(sql)) : notConfigured('canaries');
  const { to } = config.backup;
  yield to === null
    ? { ...notConfigured('backup'), detail: 'not configured; set backup.to in service.yaml' }
    : await check('backup', () => tryBackups(sql, config, to, logger));
  const restore = await check('restore', () => tryRestore(sql));
  if (restore.status === 'down') yield restore;
}

async function check(name: string, probe: () => Promise<string>): Promise<Check> {
  try {
    return { name, status: 'ok', detail: await probe() };
  } catch (cause) {
    return { name, status: 'down', detail: describe(mapPostgresError(cause)) };
  }
}

/** Describe an error on one line, with the cause, which helps operators more than the message for API callers. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const [reason = ''] = error.cause instanceof Error ? error.cause.message.split('\n') : [];
  return reason === '' ? error.message : `${error.message} (${reason.slice(0, REASON_CHARACTERS_MAX)})`;
}

async function tryDirectory(dataDir: string): Promise<string> {
  const file = path.join(dataDir, `.doctor-${randomUUID()}`);
  try {
    await mkdir(path.dirname(dataDir), { recursive: true });
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await writeFile(file, 'doctor');
    return `${dataDir} is writable`;
  } finally {
    await rm(file, { force: true });
  }
}

async function measureSpace(dataDir: string): Promise<string> {
  const { bavail, bsize } = await statfs(dataDir);
  const freeBytes = bavail * bsize;
  if (freeBytes < FREE_BYTES_MIN)
    throw down(`only ${formatBytes(freeBytes)} are free; free at least ${formatBytes(FREE_BYTES_MIN)}`);
  return `${formatBytes(freeBytes)} free`;
}

async function examineClock(open: () => Promise<Sql>): Promise<Check> {
  let skewMs: number | null = null;
  const tried = await check('clock', async () => {
    skewMs = await measureSkew(await open());
    return '';
  });
  return skewMs === null ? tried : { name: 'clock', ...judgeSkew(skewMs) };
}

/** Return the number of milliseconds by which the database's clock is ahead. */
async function measureSkew(sql: Sql): Promise<number> {
  const beforeMs = Date.now();
  const { now } = await describeServer(sql);
  // The server read its clock between these two readings.
  return Math.round(now.getTime() - (beforeMs + Date.now()) / 2);
}

/** Judge a clock difference. */
export function judgeSkew(skewMs: number): Pick<Check, 'status' | 'detail'> {
  const apart = Math.abs(skewMs);
  const detail = `the database's clock differs by ${apart} ms`;
  if (apart <= CLOCK_SKEW_MS_WARNED) return { status: 'ok', detail };
  const advice = `${detail}; synchronise both clocks (NTP)`;
  return { status: apart > CLOCK_SKEW_MS_MAX ? 'down' : 'warning', detail: advice };
}

async function* examineStorage(config: Config, logger: Logger): AsyncGenerator<Check> {
  let objects: Objects | null = null;
  const open = async () => {
    objects ??= await openObjects(config, logger);
    return objects;
  };
  const s3 = config.objects;
  const onS3 = s3 === null ? '' : `s3://${s3.bucket}/${s3.prefix} at ${s3.endpoint}`;
  try {
    const objectsCheck = await check('objects', async () => {
      const { writeMs, readMs, deleteMs } = await probeObjects(await open()).catch((error: unknown) => {
        throw s3 === null ? error : explainS3Failure(error, s3);
      });
      const times = `write ${writeMs.toFixed(1)} ms, read ${readMs.toFixed(1)} ms, delete ${deleteMs.toFixed(1)} ms`;
      return `${s3 === null ? 'in the data directory' : onS3}: ${times}`;
    });
    yield objectsCheck;
    // LanceDB retries for some seconds before it reports that a store refuses requests.
    const onUnusable = (name: string): Check | null =>
      objectsCheck.status === 'down'
        ? { name, status: 'down', detail: `${onS3} is not usable; see the check "objects"` }
        : null;
    yield (config.index.storage === 's3' && onUnusable('index')) || (await check('index', () => tryIndex(config)));
    yield await examineIndexFiles(config);
    const { milvus } = config.index;
    yield milvus === null ? notConfigured('milvus') : await check('milvus', () => tryMilvus(milvus));
    if (s3 === null) yield notConfigured('s3');
    else yield onUnusable('s3') ?? (await check('s3', async () => tryConditionalWrites(config, await open())));
  } finally {
    await (objects as Objects | null)?.close();
  }
}

async function tryConditionalWrites(config: Config, objects: Objects): Promise<string> {
  try {
    await requireConditionalWrites(objects);
    return 'honours conditional writes, both sequential and concurrent';
  } catch (error) {
    const isIgnored = error instanceof AppError && error.code === 'conditional_writes_ignored';
    if (!isIgnored || config.index.storage === 's3') throw error;
    return 'ignores conditional writes: good for files, and for an index on the disk of one host';
  }
}

async function tryIndex(config: Config): Promise<string> {
  const tables = openTables(config);
  const beganMs = performance.now();
  try {
    await tables.probe();
    return `on ${config.index.storage}, opened in ${(performance.now() - beganMs).toFixed(1)} ms`;
  } finally {
    await tables.close();
  }
}

/** Check that the configured Milvus answers and has a supported version. */
async function tryMilvus(settings: MilvusSettings): Promise<string> {
  const connection = new MilvusConnection(settings);
  const beganMs = performance.now();
  try {
    await connection.probe();
    return `at ${settings.url}, answered in ${(performance.now() - beganMs).toFixed(1)} ms`;
  } finally {
    await connection.close();
  }
}

/** Check that no index file on disk is truncated. LanceDB notices only when it reads the file. */
async function examineIndexFiles(config: Config): Promise<Check> {
  const name = 'index files';
  if (config.index.storage === 's3') return notConfigured(name);
  return check(name, async () => {
    const files = await findTruncated(indexDirectory(config), TRUNCATED_MAX);
    if (files.length === 0) return 'complete';
    const tables = [...new Set(files.map((file) => file.split('.lance')[0]))].join(', ');
    throw down(`truncated in ${tables}; run "service index rebuild --bucket" with each of these buckets`);
  });
}

async function tryLexicalModel(signal: AbortSignal): Promise<string> {
  const threads = openThreads();
  try {
    const model = new Catalog().find(LEXICAL_ID);
    const texts = ['Is the model there?'];
    await embedByWords(threads, { model, texts, counts: [5], taskType: null, signal });
    return `${model.id} returned a vector of ${model.nativeDimension} dimensions`;
  } finally {
    await threads.close();
  }
}

async function tryRedis(settings: RedisSettings, logger: Logger): Promise<string> {
  const redis = openRedis(settings, logger);
  try {
    await redis.ping();
    return 'answers';
  } finally {
    await redis.close();
  }
}
