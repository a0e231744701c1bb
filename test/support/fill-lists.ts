import type { Sql, SqlFragment } from '../../src/platform/postgres.ts';
import { until } from './until.ts';

/**
 * Numbers of the rows that are written. The documents of the upper half are above level 5. `places` are empty buckets and
 * collections, sources and workflows, and as many channel configurations of the second organization.
 */
export const ROWS = { documents: 9_000, jobs: 6_000, people: 6_000, records: 6_000, places: 3_000 } as const;

export interface FilledOrganization {
  readonly orgId: string;
  readonly bucketId: string;
  readonly workflowId: string;
  readonly configId: string;
  readonly sourceName: string;
}

/**
 * Fill the tables of all lists, alternating between the organizations, with some rare states. Turn autovacuum off, so
 * that plans and row counts are the same in every run.
 */
export async function fillLists(sql: Sql, organizations: readonly string[]): Promise<FilledOrganization[]> {
  const orgs = sql.array([...organizations]);
  const orgOf = sql`(${orgs}::text[])[1 + n % ${organizations.length}::int]`;
  // No list uses these indexes, and filling them would take most of the time.
  await sql`DROP INDEX documents_by_term, documents_by_metadata`;
  for (const table of TABLES) await sql`ALTER TABLE ${sql(table)} SET (autovacuum_enabled = false)`;
  await sql`INSERT INTO buckets (id, org_id, name, policy) SELECT 'bkt_' || id, id, 'archive', '{}' FROM unnest(${orgs}::text[]) id`;
  await sql`INSERT INTO buckets (id, org_id, name, policy) SELECT 'bkt_small_' || id, id, 'small', '{}' FROM unnest(${orgs}::text[]) id`;
  await sql`
    INSERT INTO sources (id, org_id, bucket_id, name, type, connection, config, tags, versions, privacy_level, created_by)
    SELECT 'src_' || id, id, 'bkt_' || id, 'files', 'folder', 'docs', '{}', '{}', 'keep', 1, 'test'
    FROM unnest(${orgs}::text[]) id`;
  await fillPlaces(sql, orgOf, organizations[1] as string);
  await fillDocuments(sql, orgOf);
  await fillPeople(sql, orgOf, orgs);
  await fillRecords(sql, orgOf, orgs);
  await sql`VACUUM ANALYZE`;
  // Counts from indexes need the visibility map, which the first VACUUM does not always complete.
  await until(
    async () => {
      await sql`VACUUM documents`;
      const [table] =
        await sql`SELECT relallvisible = relpages AS done FROM pg_class WHERE oid = 'documents'::regclass`;
      return table?.['done'] === true;
    },
    { what: 'the visibility map' },
  );
  return organizations.map((orgId) => ({
    ...{ orgId, bucketId: `bkt_${orgId}`, workflowId: `wfl_${orgId}` },
    ...{ configId: `chc_${orgId}`, sourceName: 'files' },
  }));
}

const TABLES = [
  ...['collections', 'workflows'],
  ...['documents', 'jobs', 'api_keys', 'users', 'organizations', 'channel_notifications', 'channel_deliveries'],
  ...['channel_questions', 'search_log'],
  ...['workflow_runs', 'audit_log', 'buckets', 'sources', 'channel_configs'],
  // Only a partition has storage parameters.
  ...['usage_ledger_before', 'usage_by_actor_before'],
];

async function fillPlaces(sql: Sql, orgOf: SqlFragment, manyConfigsOrgId: string): Promise<void> {
  const rows = sql`generate_series(1, ${ROWS.places}::int) n`;
  const number = sql`lpad(n::text, 8, '0')`;
  await sql`
    INSERT INTO buckets (id, org_id, name, policy) SELECT 'bkt_' || ${number}, ${orgOf}, 'bucket-' || ${number}, '{}' FROM ${rows}`;
  await sql`
    INSERT INTO collections (id, org_id, bucket_id, name)
    SELECT 'col_' || ${number}, ${orgOf}, 'bkt_' || ${orgOf}, 'collection ' || ${number} FROM ${rows}`;
  await sql`
    INSERT INTO sources (id, org_id, bucket_id, name, type, connection, config, tags, versions, privacy_level, created_by)
    SELECT 'src_' || ${number}, ${orgOf}, 'bkt_' || ${orgOf}, 'source-' || ${number}, 'folder', 'docs', '{}', '{}', 'keep',
           1, 'test'
    FROM ${rows}`;
  await sql`
    INSERT INTO workflows (id, org_id, name, latest_version, created_by)
    SELECT 'wfl_' || ${number}, ${orgOf}, 'workflow ' || ${number}, 1, 'test' FROM ${rows}`;
  await sql`
    INSERT INTO channel_configs (id, org_id, name, provider, sealed_config, created_at)
    SELECT 'chn_' || ${number}, ${manyConfigsOrgId}, 'bot', 'messenger', '\\x00', now() - (${ROWS.places}::int - n) * interval '1 minute'
    FROM ${rows}`;
}

async function fillDocuments(sql: Sql, orgOf: SqlFragment): Promise<void> {
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, file_type, size_bytes, sha256, object_key, ingest_options,
                           status, metadata, privacy_level, source_id, active_generation)
    SELECT 'doc_' || lpad(n::text, 26, '0'), ${orgOf}, 'bkt_' || ${orgOf}, 'file-' || n || '.txt', 'txt', 1000, '\\x00',
           'documents/' || n, '{}', CASE WHEN n % 300 < 6 THEN 'failed' WHEN n % 300 < 12 THEN 'deleting' ELSE 'ready' END,
           jsonb_build_object('team', 'team-' || n % 30), CASE WHEN n > ${ROWS.documents / 2}::int THEN 9 ELSE 1 END,
           'src_' || ${orgOf}, n
    FROM generate_series(1, ${ROWS.documents}::int) n`;
  await sql`
    INSERT INTO jobs (id, kind, org_id, bucket_id, document_id, fair_rank, status, s3_key, file_name, file_size,
                      created_at, completed_at)
    SELECT 'job_' || lpad(n::text, 8, '0'), 'ingest', ${orgOf},
           CASE WHEN n % 100 < 6 THEN 'bkt_small_' ELSE 'bkt_' END || ${orgOf}, 'doc_' || lpad(n::text, 26, '0'), n, status,
           'k', 'file.txt', 1000, now() - (${ROWS.jobs}::int - n) * interval '1 minute',
           CASE WHEN status <> 'queued' THEN now() - (${ROWS.jobs}::int - n) * interval '1 minute' END
    FROM generate_series(1, ${ROWS.jobs}::int) n,
         LATERAL (SELECT CASE WHEN n % 200 < 6 THEN 'failed' WHEN n % 200 < 12 THEN 'queued' ELSE 'ready' END) s (status)`;
}

async function fillPeople(sql: Sql, orgOf: SqlFragment, orgs: ReturnType<Sql['array']>): Promise<void> {
  await sql`
    INSERT INTO organizations (id, name, plan)
    SELECT 'org_' || lpad(n::text, 8, '0'), 'tenant ' || n, 'free' FROM generate_series(1, ${ROWS.people}::int) n`;
  await sql`
    INSERT INTO api_keys (id, org_id, name, hash, scopes, auth_level, created_at)
    SELECT 'k' || lpad(n::text, 7, '0'), ${orgOf}, 'key ' || n, '\\x00', '{embed}', 1, now() - n % 100 * interval '1 day'
    FROM generate_series(1, ${ROWS.people}::int) n`;
  await sql`
    INSERT INTO users (id, org_id, email, role, auth_level)
    SELECT 'usr_' || lpad(n::text, 8, '0'), ${orgOf}, 'user-' || n || '@example.com', 'member', 1
    FROM generate_series(1, ${ROWS.people}::int) n`;
  await sql`
    INSERT INTO usage_by_actor (org_id, day, actor, requests, tokens)
    SELECT ${orgOf}, current_date - n / 100, 'key:k' || lpad((100 + n % 100)::text, 7, '0'), 1, n
    FROM generate_series(1, ${ROWS.people}::int) n`;
  await sql`
    INSERT INTO usage_ledger (org_id, day, axis, model, internal, requests, requests_led, texts, tokens, images)
    SELECT id, current_date - n, 'embed', 'local/lexical-1', false, 1, 1, 1, 1, 0
    FROM generate_series(1, 1000) n, unnest(${orgs}::text[]) id`;
}

async function fillRecords(sql: Sql, orgOf: SqlFragment, orgs: ReturnType<Sql['array']>): Promise<void> {
  await sql`
    INSERT INTO channel_configs (id, org_id, name, provider, sealed_config)
    SELECT prefix || id, id, 'bot', 'messenger', '\\x00' FROM unnest(${orgs}::text[]) id, unnest('{chc_,chc_rare_}'::text[]) prefix`;
  await sql`
    INSERT INTO channel_notifications (id, org_id, config_id, actor, phone, template_code, template_args, via, status,
                                       requested_at, next_at)
    SELECT 'ntf_' || lpad(n::text, 8, '0'), ${orgOf}, CASE WHEN n % 200 < 6 THEN 'chc_rare_' ELSE 'chc_' END || ${orgOf},
           'test', '+10000000', 't', '{}', 'outbox', CASE WHEN n % 100 = 1 THEN 'queued' ELSE 'accepted' END,
           now() - n * interval '1 minute', CASE WHEN n % 100 = 1 THEN now() - n * interval '1 minute' END
    FROM generate_series(1, ${ROWS.records}::int) n`;
  await sql`
    INSERT INTO channel_deliveries (config_id, digest, org_id, received_at, outcome, answered_at)
    SELECT CASE WHEN n % 200 < 6 THEN 'chc_rare_' ELSE 'chc_' END || ${orgOf}, sha256(n::text::bytea), ${orgOf},
           now() - n * interval '1 minute', 'answered', now() - n * interval '1 minute'
    FROM generate_series(1, ${ROWS.records}::int) n`;
  await sql`
    INSERT INTO channel_questions (id, config_id, org_id, asked_at, question)
    SELECT 'qst_' || lpad(n::text, 8, '0'), CASE WHEN n % 200 < 6 THEN 'chc_rare_' ELSE 'chc_' END || ${orgOf}, ${orgOf},
           now() - n * interval '1 minute', 'why?'
    FROM generate_series(1, ${ROWS.records}::int) n`;
  await sql`
    INSERT INTO search_log (id, org_id, asked_at, bucket_ids, query, asked_by, mode, took_ms, results, relevance)
    SELECT 'srch_' || lpad(n::text, 8, '0'), ${orgOf}, now() - n * interval '1 minute', ARRAY['bkt_' || ${orgOf}],
           'why?', 'key', 'hybrid', n % 1000, 1, CASE WHEN n % 200 < 6 THEN 'none' ELSE 'high' END
    FROM generate_series(1, ${ROWS.records}::int) n`;
  await sql`
    INSERT INTO workflows (id, org_id, name, latest_version, created_by)
    SELECT 'wfl_' || id, id, 'daily', 1, 'test' FROM unnest(${orgs}::text[]) id`;
  await sql`
    INSERT INTO workflow_runs (id, org_id, workflow_id, version, mode, status, actor, auth_level, inputs, started_at)
    SELECT 'run_' || lpad(n::text, 8, '0'), ${orgOf}, 'wfl_' || ${orgOf}, 1, 'live', 'completed', 'test', 5, '{}',
           now() - (${ROWS.records}::int - n) * interval '1 minute'
    FROM generate_series(1, ${ROWS.records}::int) n`;
  await sql`
    INSERT INTO audit_log (org_id, actor, action, target)
    SELECT ${orgOf}, 'test', 'document.edit', 'doc_' || lpad((n / 20)::text, 26, '0')
    FROM generate_series(1, ${ROWS.records}::int) n`;
}
