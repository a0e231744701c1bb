import { expect, it } from 'vitest';
import { embedForIndex } from '../../src/embedding/embedder.ts';
import { decodeArtifact, encodeArtifact } from '../../src/ingest/artifact.ts';
import { readArtifact } from '../../src/ingest/artifact-store.ts';
import { planReprojection } from '../../src/ingest/reindex/plan-reprojection.ts';
import { reprojectBucket } from '../../src/ingest/reindex/reindex-bucket.ts';
import { calibrate } from '../support/calibrate.ts';
import { ALPHA, BETA, failure, native, reprojectionUnderTest, signal, texts } from './reprojection-under-test.ts';

const under = reprojectionUnderTest();

it('documents are reprojected in place after their map was fitted again, and no provider is called', async () => {
  const mine = texts(12, 3);
  await under.ingest(ALPHA, mine, 'a');
  // As a bucket whose model is lost: what comes is embedded by another one of its space.
  const { sql } = under.test.appliance;
  await sql`UPDATE index_tables SET model = ${BETA} WHERE bucket_id = ${under.bucket.id}`;
  await under.ingest(BETA, texts(3, 4), 'b');
  const { map_version: version } = await calibrate(under.test.appliance, ALPHA, { pairs: 520 });
  const before = under.test.upstream.calls.length;
  const plan = await planReprojection(under.context, under.test.operator, {
    bucket: under.bucket.name,
    models: [ALPHA],
  });
  expect(plan).toMatchObject({ mode: 'in_place', documents: 12, chunks: 12, warnings: [] });
  expect(await under.reproject([ALPHA])).toMatchObject({ mode: 'in_place', documents: 12, map_versions: [version] });
  expect(under.test.upstream.calls).toHaveLength(before);
  await under.sweep();
  await under.expectExact();

  const { rows, live } = await under.contents();
  expect(live.filter((row) => row['embed_model'] === BETA)).toHaveLength(3);
  for (const row of live) {
    if (row['embed_model'] !== ALPHA) continue;
    expect(row['map_version']).toBe(version);
    const artifact = await readArtifact(under.test.appliance.objects, row['artifact_key'] as string);
    const fresh = await embedForIndex(under.test.appliance.embedding.embedder, {
      texts: [artifact.chunks[0]?.text as string],
      model: ALPHA,
      comparableWith: null,
      taskType: 'retrieval_document',
      orgId: under.test.operator.orgId,
      charge: null,
    });
    const stored = rows.find((each) => each.chunk_id === `${row['id']}_${row['active_generation']}_0`)?.vector;
    const cosine = [...fresh.vectors].reduce((sum, x, i) => sum + x * (stored.get(i) as number), 0);
    expect(cosine).toBeGreaterThan(1 - 1e-5);
    expect(artifact).toMatchObject({ mapVersion: version, space: 'canon-v1' });
  }
  expect(await under.reproject([ALPHA])).toMatchObject({ mode: 'nothing', documents: 0 });
  expect((await under.search(mine[5] as string)).names[0]).toBe('a5.txt');
});

it('a reprojection in place does not overwrite a document that is ingested again meanwhile', async () => {
  await under.ingest(ALPHA, texts(3, 5));
  await calibrate(under.test.appliance, ALPHA, { pairs: 530 });
  const { sql } = under.test.appliance;
  const [target] = (await under.contents()).live;
  let isReplaced = false;
  const context = under.beforePut(async (key) => {
    if (!key.includes(target?.['id'] as string) || isReplaced) return;
    isReplaced = true;
    // These statements have the effect of a completed ingest.
    const next = Number((await sql`SELECT nextval('document_generations') AS id`)[0]?.['id']);
    await sql`
        INSERT INTO generations SELECT (copies.g).* FROM (
          SELECT jsonb_populate_record(g, jsonb_build_object('id', ${next}::bigint, 'map_version', 999)) AS g
          FROM generations g WHERE id = ${target?.['active_generation'] as number}) AS copies`;
    await sql`UPDATE documents SET active_generation = ${next} WHERE id = ${target?.['id'] as string}`;
  });
  const report = await under.reproject([ALPHA], { context });
  expect(isReplaced).toBe(true);
  // The newer generation was pending too, so a second round reprojected it.
  expect(report.documents).toBe(3);
  const generations = (await under.contents()).live.map((row) => row['map_version']);
  expect(new Set(generations).size).toBe(1);
  await under.sweep();
  await under.expectExact();
});

it.each([
  ['a model without a map', native(7), 'map_missing', `service projections fit --model ${native(7)}`],
  ['the alias', 'service-embed-1-small', 'not_projectable', 'name those'],
  ['the lexical model', 'local/lexical-1', 'not_projectable', 'no native vectors'],
  ['a model that is unknown', 'no/such', 'unknown_model', 'GET /v1/models'],
])('a reprojection refuses %s, and says what to do', async (_, model, code, words) => {
  const error = await failure(under.reproject([model]));
  expect(error).toMatchObject({ code });
  expect(error.message).toContain(words);
});

it('a reprojection refuses an unknown bucket', async () => {
  const request = { bucket: 'nowhere', models: [ALPHA] };
  expect(await failure(reprojectBucket(under.context, under.test.operator, request, { signal }))).toMatchObject({
    code: 'bucket_not_found',
  });
});

it('a reprojection into another space refuses documents of other models, and names the models', async () => {
  await under.ingest('local/lexical-1', ['tide table'], 'words');
  const lexical = await failure(under.reproject([ALPHA]));
  expect(lexical).toMatchObject({ code: 'cannot_reproject', status: 409, details: { models: ['local/lexical-1'] } });
  expect(lexical.message).toContain('service index reembed');
  await under.useBucket('other');
  await under.ingest(native(7), ['tide table']);
  const other = await failure(under.reproject([ALPHA]));
  expect(other).toMatchObject({ code: 'cannot_reproject', details: { models: [native(7)] } });
  expect(other.message).toContain(`service projections fit --model ${native(7)}`);
});

it('a reprojection does not change documents without native vectors or of another revision, and refuses them if the space changes', async () => {
  await under.ingest(ALPHA, texts(3, 14));
  const { sql, objects } = under.test.appliance;
  const [old, other] = (await under.contents()).live;
  await sql`UPDATE generations SET native_dimension = NULL WHERE id = ${old?.['active_generation'] as number}`;
  await sql`UPDATE generations SET embed_revision = '0' WHERE id = ${other?.['active_generation'] as number}`;
  await calibrate(under.test.appliance, ALPHA, { pairs: 540 });
  const request = { bucket: under.bucket.name, models: [ALPHA] };
  const plan = await planReprojection(under.context, under.test.operator, request);
  expect(plan).toMatchObject({ mode: 'in_place', documents: 1 });
  expect(plan.warnings.join()).toContain('no native vectors');
  expect(plan.warnings.join()).toContain('revision 0');
  expect(await under.reproject([ALPHA])).toMatchObject({ documents: 1 });

  await sql`UPDATE index_tables SET space = 'canon-v0' WHERE bucket_id = ${under.bucket.id}`;
  const error = await failure(under.reproject([ALPHA]));
  expect(error).toMatchObject({ code: 'cannot_reproject' });
  expect(error.message).toContain('no native vectors are stored with them; run "service index reembed"');
  // What PostgreSQL does not know of: an artifact that lost them.
  const key = old?.['artifact_key'] as string;
  const artifact = decodeArtifact(await objects.get(key));
  await objects.put(key, encodeArtifact({ ...artifact, native: null }));
  await sql`UPDATE generations SET native_dimension = 160, embed_revision = '1' WHERE bucket_id = ${under.bucket.id}`;
  expect(await failure(under.reproject([ALPHA]))).toMatchObject({
    code: 'reproject_incomplete',
    details: { documents: [old?.['id']] },
  });
});

it('two reprojections of one bucket run one after the other, and the second finds nothing to do', async () => {
  const model = native(7);
  await under.ingest(model, texts(40, 15));
  await calibrate(under.test.appliance, model);
  const reports = await Promise.all([under.reproject([model]), under.reproject([model])]);
  expect(reports.map((report) => report.documents).toSorted((a, b) => a - b)).toEqual([0, 40]);
  await under.sweep();
  await under.expectExact();
});
