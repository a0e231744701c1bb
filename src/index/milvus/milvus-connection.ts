import { readFileSync } from 'node:fs';
import type { MilvusClient, ResStatus } from '@zilliz/milvus2-sdk-node';
import { AppError, dependencyDown } from '../../platform/errors.ts';
import type { MilvusSettings } from '../../platform/storage-settings.ts';
import { loadMilvus } from './load-milvus.ts';

/** Time limit of a request, and of a probe. */
const REQUEST_MS_MAX = 30_000;
const PROBE_MS_MAX = 5_000;
/** Time after which a lost connection is tried again. */
const RECONNECT_MS_MAX = 2_000;
/** Oldest release with the BM25 function, by the name before its number. Milvus Lite numbers its releases apart. */
const OLDEST: Record<string, readonly [number, number]> = { milvus: [2, 5], milvus_lite: [3, 2] };
/** Code of gRPC for credentials that are refused. */
const UNAUTHENTICATED = 16;
/** Code of Milvus for a collection that does not exist. */
const NO_COLLECTION = 100;

/** Error of a request of a collection that does not exist. */
export class CollectionMissing extends Error {}

/** Connection to a Milvus, opened at the first request. A connection that could not be opened is opened anew. */
export class MilvusConnection {
  readonly #settings: MilvusSettings;
  #client: Promise<MilvusClient> | null = null;

  constructor(settings: MilvusSettings) {
    this.#settings = settings;
  }

  /**
   * Run a request, and check its status.
   *
   * @throws AppError `index_unavailable` (503), `index_engine_unsupported`; CollectionMissing
   */
  async call<T extends object>(request: (client: MilvusClient) => Promise<T>): Promise<T> {
    let reply: T;
    try {
      reply = await request(await this.#connected());
    } catch (error) {
      throw mapError(error);
    }
    const status = ('status' in reply ? reply.status : reply) as ResStatus;
    if (status.code === NO_COLLECTION) throw new CollectionMissing(status.reason);
    if (status.retriable) throw dependencyDown('index', `Milvus refuses the request for now: ${status.reason}`);
    if (status.error_code !== 'Success') throw new Error(`Milvus refused a request: ${status.reason}`);
    return reply;
  }

  /** Check that Milvus answers. @throws AppError `index_unavailable` (503), `index_engine_unsupported` */
  async probe(): Promise<void> {
    await this.call((client) => client.hasCollection({ collection_name: 'absent', timeout: PROBE_MS_MAX }));
  }

  async close(): Promise<void> {
    const client = await this.#client?.catch(() => null);
    this.#client = null;
    await client?.closeConnection();
  }

  #connected(): Promise<MilvusClient> {
    this.#client ??= this.#connect().catch((error: unknown) => {
      this.#client = null;
      throw error;
    });
    return this.#client;
  }

  async #connect(): Promise<MilvusClient> {
    const { url, token, database, caFile } = this.#settings;
    const isTls = url.startsWith('https:');
    const { MilvusClient } = loadMilvus();
    const client = new MilvusClient({
      address: new URL(url).host,
      ssl: isTls,
      ...(isTls && caFile !== null ? { tls: { rootCert: readFileSync(caFile) } } : {}),
      ...(token === null ? {} : { token: token.reveal() }),
      database,
      timeout: REQUEST_MS_MAX,
      // Our jobs and callers repeat requests, and know which of them may be repeated.
      maxRetries: 0,
      logLevel: 'error',
      telemetry: { enabled: false },
      channelOptions: {
        'grpc.initial_reconnect_backoff_ms': 100,
        'grpc.max_reconnect_backoff_ms': RECONNECT_MS_MAX,
        'grpc.enable_retries': 0,
      },
    });
    try {
      await client.connectPromise;
      requireSupported((await client.getVersion()).version);
      return client;
    } catch (error) {
      await client.closeConnection();
      throw error;
    }
  }
}

/** @throws AppError `index_engine_unsupported` for a release without BM25 */
function requireSupported(version: string): void {
  const [, product = 'milvus', major, minor] = /^(?:(milvus_lite)-)?v?(\d+)\.(\d+)/.exec(version) ?? [];
  const oldest = OLDEST[product] as readonly [number, number];
  const isKnown = major !== undefined && minor !== undefined;
  if (isKnown && (Number(major) - oldest[0] || Number(minor) - oldest[1]) >= 0) return;
  throw new AppError({
    code: 'index_engine_unsupported',
    status: 503,
    message: `the Milvus at index.milvus.url has version ${version}; it must be Milvus ${OLDEST['milvus']?.join('.')} or later`,
  });
}

function mapError(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  const code: unknown = (error as Error & { code?: unknown }).code;
  if (code === UNAUTHENTICATED) return dependencyDown('index', 'Milvus refuses index.milvus.token', error);
  // Every error of gRPC has a number.
  if (typeof code === 'number') return dependencyDown('index', 'Milvus is out of reach', error);
  return error;
}
