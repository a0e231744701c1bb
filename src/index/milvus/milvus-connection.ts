import { readFileSync } from 'node:fs';
import type { MilvusClient, ResStatus } from '@zilliz/milvus2-sdk-node';
import { AppError, dependencyDown } from '../../platform/errors.ts';
import type { MilvusSettings } from '../../platform/storage-settings.ts';
import { loadMilvus } from './load-milvus.ts';

/** Time limits of a request that reads, of one that writes or prepares a collection, and of a probe. */
const READ_MS_MAX = 15_000;
export const WRITE_MS_MAX = 60_000;
const PROBE_MS_MAX = 5_000;
/** Time after which a lost connection is tried again. */
const RECONNECT_MS_MAX = 2_000;
/** Time without a word of the server after which a request is in doubt. */
const KEEPALIVE_MS = 20_000;
/** Oldest release with the BM25 function, by the name before its number. Milvus Lite numbers its releases apart. */
const OLDEST: Record<string, readonly [number, number]> = { milvus: [2, 5], milvus_lite: [3, 2] };
/** Code of gRPC for credentials that are refused. */
const UNAUTHENTICATED = 16;
/** Codes of Milvus for a collection that does not exist, and for one that is not loaded. */
const NO_COLLECTION = 100;
const NOT_LOADED = 101;

/** Error of a request of a collection that does not exist. */
export class CollectionMissing extends Error {}
/** Error of a request of a collection that has to be loaded. */
class CollectionNotLoaded extends Error {}

/** Connection to a Milvus, opened at the first request and again whenever it was lost. */
export class MilvusConnection {
  readonly #settings: MilvusSettings;
  #client: MilvusClient | null = null;
  /** Check of the server's version; null if it is due. */
  #checking: Promise<void> | null = null;

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
      reply = await request(await this.#checked());
    } catch (error) {
      throw mapError(error);
    }
    const status = ('status' in reply ? reply.status : reply) as ResStatus;
    if (status.code === NO_COLLECTION) throw new CollectionMissing(status.reason);
    if (status.code === NOT_LOADED) throw new CollectionNotLoaded(status.reason);
    if (status.retriable) throw dependencyDown('index', `Milvus refuses the request for now: ${status.reason}`);
    if (status.error_code !== 'Success') throw new Error(`Milvus refused a request: ${status.reason}`);
    return reply;
  }

  /**
   * Run a request of the rows of a collection. Load the collection first if an administrator released it, or if the
   * server forgot after a restart that it was loaded, as Milvus Lite does.
   *
   * @throws as `call`
   */
  async callLoaded<T extends object>(name: string, request: (client: MilvusClient) => Promise<T>): Promise<T> {
    try {
      return await this.call(request);
    } catch (error) {
      if (!(error instanceof CollectionNotLoaded)) throw error;
      await this.call((client) => client.loadCollectionSync({ collection_name: name, timeout: WRITE_MS_MAX }));
      return this.call(request);
    }
  }

  /** Check that Milvus answers. @throws AppError `index_unavailable` (503), `index_engine_unsupported` */
  async probe(): Promise<void> {
    await this.call((client) => client.hasCollection({ collection_name: 'absent', timeout: PROBE_MS_MAX }));
  }

  async close(): Promise<void> {
    await this.#client?.closeConnection();
    this.#client = null;
  }

  /** Return the client once the version of the server was found good. */
  async #checked(): Promise<MilvusClient> {
    const client = this.#open();
    this.#checking ??= client.getVersion().then(({ version }) => requireSupported(version));
    try {
      await this.#checking;
    } catch (error) {
      // Ask again at the next request: the server may be out of reach for now, or be replaced by a newer one.
      this.#checking = null;
      throw error;
    }
    return client;
  }

  #open(): MilvusClient {
    if (this.#client !== null) return this.#client;
    const { url, token, database, caFile } = this.#settings;
    const isTls = url.startsWith('https:');
    const { MilvusClient } = loadMilvus();
    this.#client = new MilvusClient({
      address: new URL(url).host,
      ssl: isTls,
      ...(isTls && caFile !== null ? { tls: { rootCert: readFileSync(caFile) } } : {}),
      ...(token === null ? {} : { token: token.reveal() }),
      database,
      timeout: READ_MS_MAX,
      // Our jobs and callers repeat requests, and know which of them may be repeated.
      maxRetries: 0,
      logLevel: 'error',
      telemetry: { enabled: false },
      // A client that could not connect at first would refuse every later request.
      __SKIP_CONNECT__: true,
      channelOptions: {
        'grpc.initial_reconnect_backoff_ms': 100,
        'grpc.max_reconnect_backoff_ms': RECONNECT_MS_MAX,
        'grpc.enable_retries': 0,
        // Servers end connections that ping more often without a request.
        'grpc.keepalive_permit_without_calls': 0,
        'grpc.keepalive_time_ms': KEEPALIVE_MS,
      },
    });
    return this.#client;
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
