import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import { SCOPES_BY_ROLE } from '../../src/access/roles.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { reprocessJob } from '../../src/jobs/operations.ts';
import { editDocument } from '../../src/metadata/edit-document.ts';
import { editDocuments } from '../../src/metadata/edit-documents.ts';
import { BulkEdit, SingleEdit } from '../../src/metadata/schema.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { until } from '../support/until.ts';

let test: TestAppliance;
beforeAll(async () => {
  test = await openTestAppliance();
});
afterAll(() => test.close());

const edit = (id: string, change: unknown, caller: Caller = test.operator, bucket = 'default') =>
  editDocument(test.appliance.ingest.uploads, caller, bucket, id, SingleEdit.parse(change));

async function upload(fields: Record<string, unknown> = {}): Promise<string> {
  const content = { bytes: Buffer.from('A text about pelicans.'), fileName: 'a.txt', contentType: null };
  const request = UploadRequest.parse({ on_duplicate: 'allow', ...fields });
  return (await uploadDocument(test.appliance.ingest.uploads, test.operator, 'default', content, request)).id;
}

async function row(id: string) {
  const [found] = await test.appliance.sql`SELECT * FROM documents WHERE id = ${id}`;
  return found as Record<string, unknown>;
}

async function history(id: string) {
  const rows = await test.appliance.sql`
    SELECT actor, detail FROM audit_log WHERE target = ${id} AND action = 'document.edit_metadata' ORDER BY id`;
  return rows as unknown as { actor: string; detail: Record<string, unknown> }[];
}

/** Run a worker until a document is ready. */
async function processQueued(id: string): Promise<void> {
  const worker = test.appliance.jobs.worker('ingest');
  try {
    await worker.start(new AbortController().signal);
    await until(async () => (await row(id))['status'] === 'ready', { withinMs: 60_000, what: 'ingest' });
  } finally {
    await worker.stop();
  }
}

describe('a single edit', () => {
  it('a single edit merges metadata, and removes a key by null', async () => {
    const id = await upload({ metadata: { team: 'a', year: 2020, gone: 'x' } });
    const reply = await edit(id, { metadata: { year: 2021, gone: null, isNew: true, never: null }, reindex: false });
    expect(reply).toMatchObject({
      id,
      metadata: { team: 'a', year: '2021', isNew: 'true' },
      reindex_queued: false,
      reindex_job_id: null,
      indexed_vectors_deleted: 0,
      warnings: [],
    });
    expect((await row(id))['metadata']).toEqual(reply.metadata);
  });

  it('a single edit is recorded in the audit log with its actor and changes, unless nothing changed', async () => {
    const id = await upload({ metadata: { team: 'a' } });
    await edit(id, { metadata: { team: 'b', old: null, scope: 'sales' }, privacy_level: 4, reindex: false });
    await edit(id, { metadata: { team: 'b' }, privacy_level: 4, reindex: false });
    expect(await history(id)).toEqual([
      {
        actor: test.operator.actor,
        detail: expect.objectContaining({
          statement: null,
          before: { 'metadata.team': 'a', privacy_level: 1, scope: null },
          after: { 'metadata.team': 'b', privacy_level: 4, scope: 'sales' },
        }),
      },
    ]);
  });

  it('none of 30 concurrent single edits is lost', async () => {
    const id = await upload();
    const keys = Array.from({ length: 30 }, (_, at) => `key_${at}`);
    const edits = keys.map((key) => edit(id, { metadata: { [key]: key }, reindex: true }));
    await Promise.all(edits);
    expect((await row(id))['metadata']).toEqual(Object.fromEntries(keys.map((key) => [key, key])));
    const jobs = await test.appliance.sql`SELECT 1 FROM jobs WHERE document_id = ${id}`;
    expect(jobs).toHaveLength(1); // the upload's own, which no worker has claimed
  });

  it('the metadata that single edits add up to is bounded', async () => {
    const id = await upload();
    const some = (from: number) => Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`key_${from + at}`, at]));
    for (const from of [0, 16]) await edit(id, { metadata: some(from), reindex: false });
    await expect(edit(id, { metadata: { one: 1 } })).rejects.toMatchObject({ status: 400, param: 'metadata' });
    const reply = await edit(id, { metadata: { one: 1, key_0: null }, reindex: false });
    expect(Object.keys(reply.metadata)).toHaveLength(32);
    expect(await history(id)).toHaveLength(3);
  });

  it('the bytes that single edits add up to are bounded, and metadata beyond the bound may become smaller', async () => {
    const id = await upload();
    const long = (key: string) => ({ metadata: { [key]: 'x'.repeat(500) }, reindex: false });
    for (let at = 0; at < 7; at++) await edit(id, long(`key_${at}`));
    await edit(id, { metadata: { last: 'x'.repeat(400) }, reindex: false });
    await expect(edit(id, long('key_7'))).rejects.toMatchObject({ status: 400, param: 'metadata' });
    const { sql } = test.appliance;
    const old = Object.fromEntries(Array.from({ length: 128 }, (_, at) => [`old_${at}`, 'x']));
    await sql`UPDATE documents SET metadata = ${sql.json(old)} WHERE id = ${id}`;
    await expect(edit(id, { metadata: { old_0: 'y' } })).rejects.toMatchObject({ status: 400 });
    const reply = await edit(id, { metadata: { old_0: null }, reindex: false });
    expect(Object.keys(reply.metadata)).toHaveLength(127);
  });

  it('a single edit is clamped to the policy, with a warning', async () => {
    const id = await upload();
    const reply = await edit(id, { privacy_level: 10, reindex: false }, { ...test.operator, authLevel: 6 });
    expect(reply.warnings).toEqual(['privacy_level was lowered from 10 to 6 by policy']);
    expect((await row(id))['privacy_level']).toBe(6);
  });

  it('a single edit is refused to callers without permission', async () => {
    const id = await upload({ privacy_level: 5 });
    const user: Caller = {
      ...test.operator,
      kind: 'user',
      role: 'member',
      scopes: SCOPES_BY_ROLE.member,
      authLevel: 9,
    };
    const key: Caller = {
      ...user,
      kind: 'api_key',
      role: null,
      scopes: new Set(['embed', 'search', 'documents:write']),
    };
    await expect(edit(id, {}, user)).rejects.toMatchObject({ status: 403, code: 'role_missing' });
    await expect(edit(id, {}, key)).rejects.toMatchObject({ status: 403, code: 'scope_missing' });
    const manager: Caller = { ...key, scopes: new Set(['buckets:manage']) };
    expect((await edit(id, { reindex: false }, manager)).id).toBe(id);
    expect((await edit(id, { reindex: false }, { ...user, role: 'admin' })).id).toBe(id);
    await expect(edit(id, {}, { ...manager, authLevel: 4 })).rejects.toMatchObject({
      status: 403,
      code: 'auth_level_too_low',
    });
    await expect(edit(id, {}, { ...manager, orgId: 'org_other' })).rejects.toMatchObject({ status: 404 });
    await expect(edit('doc_none', {}, manager)).rejects.toMatchObject({ status: 404, code: 'document_not_found' });
    await expect(edit(id, {}, manager, 'none')).rejects.toMatchObject({ status: 404, code: 'bucket_not_found' });
  });

  it('contract 3.3: an edit with reindex remakes the vectors also where no value changes', async () => {
    const id = await upload({ metadata: { team: 'a' } });
    await processQueued(id);
    const before = await row(id);
    const same = { metadata: { team: 'a', none: null }, privacy_level: 1 };
    expect(await edit(id, { ...same, reindex: false })).toMatchObject({ reindex_queued: false, warnings: [] });
    expect(await row(id)).toEqual(before);
    expect(await history(id)).toEqual([]);
    const reply = await edit(id, same);
    expect(reply).toMatchObject({
      ...{ metadata: { team: 'a' }, reindex_queued: true, reindex_job_id: expect.stringMatching(/^job_/) },
      ...{ indexed_vectors_deleted: 1, warnings: [] },
    });
    expect((await row(id))['active_generation']).toBeNull();
    await processQueued(id);
    expect((await row(id))['active_generation']).not.toBeNull();
  });

  it('contract 3.3: the same statement a second time remakes the vectors again', async () => {
    const id = await upload({ metadata: { only: 'twice' } });
    await processQueued(id);
    const statement = `UPDATE documents SET team = 'b' WHERE only = 'twice'`;
    const run = () => editDocuments(test.appliance.metadata, test.operator, 'default', BulkEdit.parse({ statement }));
    expect(await run()).toMatchObject({ updated: 1, reindex_queued: 1, indexed_vectors_deleted: 1 });
    await processQueued(id);
    expect(await run()).toMatchObject({
      ...{ matched: 1, updated: 1, skipped: 0, reindex_queued: 1, indexed_vectors_deleted: 1, warnings: [] },
    });
    await processQueued(id);
    expect((await row(id))['active_generation']).not.toBeNull();
  });

  it('vectors that an edit deletes are restored without reading the file, and a reprocessed job reads it', async () => {
    const id = await upload();
    await processQueued(id);
    const { object_key: key, chunks_count: chunks, active_generation: generation } = await row(id);
    await test.appliance.objects.delete(key as string);
    const { reindex_job_id: jobId } = await edit(id, { metadata: { only: id }, review_status: 'approved' });
    await processQueued(id);
    const after = await row(id);
    expect(after).toMatchObject({
      chunks_count: chunks,
      review_status: 'approved',
      stored_generation: null,
      status: 'ready',
    });
    expect(after['active_generation']).not.toBe(generation);
    const request = SearchRequest.parse({ query: 'pelicans', filter: { only: id } });
    const { results } = await searchBucket(test.appliance.search, test.operator, 'default', request);
    expect(results.map((result) => result.document_id)).toEqual([id]);
    const again = await reprocessJob(test.appliance.jobs.operations, test.operator, jobId as string);
    const worker = test.appliance.jobs.worker('ingest');
    try {
      await worker.start(new AbortController().signal);
      const ended = await until(
        async () => {
          const [job] = await test.appliance.sql`SELECT status, error_category FROM jobs WHERE id = ${again.id}`;
          return job?.['status'] === 'failed' && job;
        },
        { withinMs: 60_000, what: 'the job' },
      );
      expect(ended['error_category']).toBe('storage');
    } finally {
      await worker.stop();
    }
  });

  it('a single edit deletes the vectors at once and queues a job that makes them anew', async () => {
    const worker = test.appliance.jobs.worker('ingest');
    const ready = (id: string) =>
      until(async () => (await row(id))['status'] === 'ready', { withinMs: 20_000, what: 'ingest' });
    const id = await upload();
    try {
      await worker.start(new AbortController().signal);
      await ready(id);
    } finally {
      await worker.stop();
    }
    const { chunks_count: chunks } = await row(id);
    const reply = await edit(id, { classification: 'public' });
    expect(reply).toMatchObject({ reindex_queued: true, indexed_vectors_deleted: chunks });
    expect(await row(id)).toMatchObject({ active_generation: null, status: 'queued', chunks_count: null });
    expect((await edit(id, {})).reindex_job_id).toBe(reply.reindex_job_id);
    const again = test.appliance.jobs.worker('ingest');
    try {
      await again.start(new AbortController().signal);
      await ready(id);
    } finally {
      await again.stop();
    }
    expect(await row(id)).toMatchObject({ chunks_count: chunks, classification: 'public' });
  });
});
