/**
 * Benchmark of every list that the console reads, over HTTP, at 100,000 documents and 10,000 jobs: by a caller who may read
 * everything, and by one from whom a tenth of the documents is hidden. `node test/bench/lists.bench.ts 1000` uses fewer.
 */
import { apiService } from '../../server/api-service.ts';
import { SCOPES } from '../../src/access/caller.ts';
import { createKey } from '../../src/access/keys.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { createChannel } from '../../src/channels/configs.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';

const DOCUMENTS = Number(process.argv[2] ?? 100_000);
const JOBS = DOCUMENTS / 10;
const ROUNDS = 20;
/** Maximum time of the slowest response. */
const GOAL_MS = 200;

const { dataDir, remove } = makeDataDir();
const config = loadConfig({ env: {}, overrides: { data_dir: dataDir, ballast_bytes: 0 } });
const appliance = await openAppliance(config, { logger: openLogger('warn') });
const { sql, keyRing } = appliance;
const operator = await appliance.access.operator('default');
const api = apiService(appliance, { port: 0 });

async function fill(): Promise<void> {
  const [bucket] = await sql`SELECT id FROM buckets WHERE org_id = ${operator.orgId}`;
  const { orgId } = operator;
  const bucketId = bucket?.['id'] as string;
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, file_type, size_bytes, sha256, object_key, ingest_options,
                           status, metadata, privacy_level)
    SELECT 'doc_' || lpad(n::text, 26, '0'), ${orgId}, ${bucketId}, 'file-' || n || '.txt', 'txt', 1000, '\\x00', 'k',
           '{}', CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'ready' END, jsonb_build_object('team', 'team-' || n % 30),
           CASE WHEN n % 10 = 0 THEN 9 ELSE 1 END
    FROM generate_series(1, ${DOCUMENTS}::int) n`;
  await sql`
    INSERT INTO jobs (id, kind, org_id, bucket_id, document_id, fair_rank, status, s3_key, file_name, file_size,
                      created_at, completed_at)
    SELECT 'job_' || lpad(n::text, 8, '0'), 'ingest', ${orgId}, ${bucketId}, 'doc_' || lpad((n * 10)::text, 26, '0'), n,
           CASE WHEN n % 20 = 0 THEN 'failed' WHEN n % 3 = 0 THEN 'queued' ELSE 'ready' END, 'k', 'file.txt', 1000,
           now() - n * interval '5 seconds', CASE WHEN n % 20 = 0 OR n % 3 <> 0 THEN now() - n * interval '4 seconds' END
    FROM generate_series(1, ${JOBS}::int) n`;
  await sql`
    INSERT INTO api_keys (id, org_id, name, hash, scopes, auth_level)
    SELECT 'k' || lpad(n::text, 7, '0'), ${orgId}, 'key ' || n, '\\x00', '{embed}', 1
    FROM generate_series(1, 10000) n`;
  await sql`
    INSERT INTO users (id, org_id, email, role, auth_level)
    SELECT 'usr_' || lpad(n::text, 8, '0'), ${orgId}, 'user-' || n || '@example.com', 'member', 1
    FROM generate_series(1, 10000) n`;
  await fillPlaces(bucketId);
  const configId = await fillConfigs();
  await sql`
    INSERT INTO channel_notifications (id, org_id, config_id, actor, phone, template_code, template_args, via, status,
                                       requested_at)
    SELECT 'ntf_' || lpad(n::text, 8, '0'), ${orgId}, ${configId}, 'bench', '+10000000', 't', '{}', 'outbox', 'accepted',
           now() - n * interval '1 minute'
    FROM generate_series(1, 10000) n`;
  await sql`
    INSERT INTO channel_deliveries (config_id, digest, org_id, received_at, outcome, answered_at)
    SELECT ${configId}, sha256(n::text::bytea), ${orgId}, now() - n * interval '1 minute', 'answered', now()
    FROM generate_series(1, 10000) n`;
  await sql`
    INSERT INTO usage_by_actor (org_id, day, actor, requests, tokens)
    SELECT ${orgId}, date_trunc('month', now())::date, 'key:k' || lpad(n::text, 7, '0'), 1, n
    FROM generate_series(1, 10000) n`;
  await sql`VACUUM ANALYZE`;
}

/** Fill the lists of buckets, collections, sources, workflows and runs with 10,000 rows each. */
async function fillPlaces(bucketId: string): Promise<void> {
  const { orgId } = operator;
  const rows = sql`generate_series(1, 10000) n`;
  const number = sql`lpad(n::text, 8, '0')`;
  await sql`
    INSERT INTO buckets (id, org_id, name, policy) SELECT 'bkt_' || ${number}, ${orgId}, 'z-' || ${number}, policy
    FROM ${rows}, buckets WHERE id = ${bucketId}`;
  await sql`
    INSERT INTO collections (id, org_id, bucket_id, name)
    SELECT 'col_' || ${number}, ${orgId}, ${bucketId}, 'collection ' || ${number} FROM ${rows}`;
  await sql`
    INSERT INTO sources (id, org_id, bucket_id, name, type, connection, config, tags, versions, privacy_level, created_by)
    SELECT 'src_' || ${number}, ${orgId}, ${bucketId}, 'source-' || ${number}, 'folder', 'docs', '{}', '{}', 'keep', 1,
           'bench'
    FROM ${rows}`;
  await sql`
    UPDATE documents SET source_id = 'src_' || lpad((1 + right(id, 6)::int % 10000)::text, 8, '0'), active_generation = 1`;
  await sql`
    INSERT INTO workflows (id, org_id, name, latest_version, created_by)
    SELECT 'wfl_' || ${number}, ${orgId}, 'workflow ' || ${number}, 1, 'bench' FROM ${rows}`;
  await sql`
    INSERT INTO workflow_runs (id, org_id, workflow_id, version, mode, status, actor, auth_level, inputs)
    SELECT 'run_' || ${number}, ${orgId}, 'wfl_00000001', 1, 'live', 'completed', 'bench', 1, '{}' FROM ${rows}`;
}

/** Create as many channel configurations as the largest page can show. @returns the id of the last one */
async function fillConfigs(): Promise<string> {
  let id = '';
  for (let n = 0; n < 1000; n++) {
    const config = { bot_id: `bot ${n}`, rest_api_key: 'key', note: 'some text' };
    const { channel } = await createChannel(appliance.channels, operator, { name: `${n}`, provider: 'other', config });
    id = channel.id;
  }
  return id;
}

const cursorOf = (name: string) => Buffer.from(name).toString('base64url');
const middle = `doc_${String(Math.round(DOCUMENTS / 2)).padStart(26, '0')}`;
const LISTS = [
  '/v1/buckets/default/documents?limit=100',
  `/v1/buckets/default/documents?limit=100&cursor=${middle}`,
  '/v1/buckets/default/documents?limit=100&status=failed',
  '/v1/jobs?limit=200',
  '/v1/jobs?limit=200&status=failed',
  '/v1/jobs?limit=200&bucket_id=default&status=failed',
  '/v1/keys?limit=200',
  '/v1/users?limit=200',
  '/v1/users?limit=200&cursor=usr_00005000',
  '/v1/orgs?limit=200',
  '/v1/overview',
  '/v1/usage?by=day,model,axis',
  '/v1/usage/keys',
  '/v1/channels/deliveries?limit=200',
  '/v1/channels/outbox?limit=200',
  '/v1/buckets',
  `/v1/buckets?limit=50&cursor=${cursorOf('z-00005000')}`,
  '/v1/buckets/default/collections',
  `/v1/buckets/default/collections?limit=50&cursor=${cursorOf('collection 00005000')}`,
  '/v1/memory/sources',
  '/v1/memory/sources?limit=50&cursor=source-00005000',
  '/v1/workflows',
  `/v1/workflows?limit=50&cursor=${cursorOf('workflow 00005000')}`,
  '/v1/workflows/wfl_00000001/runs?limit=200',
  '/v1/workflows/wfl_00000001/runs?limit=200&cursor=run_00005000',
  '/v1/channels/configs',
  '/v1/channels/configs?limit=50',
];

try {
  await fill();
  await api.start(new AbortController().signal);
  for (const authLevel of [10, 5]) {
    const { key } = await createKey(sql, keyRing, operator, { name: 'bench', scopes: [...SCOPES], authLevel });
    const headers = { Authorization: `Bearer ${key.reveal()}` };
    for (const list of LISTS) {
      const times: number[] = [];
      for (let round = 0; round <= ROUNDS; round++) {
        const beganMs = performance.now();
        const answer = await fetch(api.url + list, { headers });
        await answer.arrayBuffer();
        if (answer.status !== 200) throw new Error(`${list} was answered with ${answer.status}`);
        if (round > 0) times.push(performance.now() - beganMs);
      }
      times.sort((a, b) => a - b);
      const slowest = times.at(-1) as number;
      const verdict = slowest < GOAL_MS ? '' : `, above ${GOAL_MS} ms`;
      if (verdict !== '') process.exitCode = 1;
      console.log(
        `lists level ${authLevel} ${list}: median ${(times[ROUNDS >> 1] as number).toFixed(1)} ms, slowest ${slowest.toFixed(1)} ms${verdict}`,
      );
    }
  }
} finally {
  await api.stop();
  await appliance.close();
  remove();
}
