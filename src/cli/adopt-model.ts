import type { Caller } from '../access/caller.ts';
import type { Appliance } from '../appliance/appliance.ts';
import { listBuckets } from '../documents/buckets.ts';
import { queueReembed } from '../ingest/reindex/reembed-job.ts';
import type { Installed } from '../local-models/install/install-model.ts';
import { AppError } from '../platform/errors.ts';
import { canAsk, confirm } from './confirm.ts';
import { note } from './output.ts';

interface Adopted {
  readonly primary: boolean;
  /** Jobs that embed buckets with the model. */
  readonly jobs: readonly string[];
}

const NOTHING: Adopted = { primary: false, jobs: [] };

/**
 * Make an installed model the primary model, and embed the buckets with it. Without a flag, offer this only for the
 * first semantic model, so that an existing choice stays.
 */
export async function adoptModel(
  appliance: Appliance,
  operator: Caller,
  { spec }: Installed,
  options: { primary?: boolean | undefined; yes: boolean; org: string; signal: AbortSignal },
): Promise<Adopted> {
  if (spec.kind !== 'embedding' || options.primary === false) return NOTHING;
  if (options.primary !== true) {
    if (!(await isFirst(appliance, operator))) return NOTHING;
    const question = `Make ${spec.name} the primary model of organization ${options.org}, and embed its buckets with it?`;
    if (!options.yes && !canAsk()) {
      note(
        `${spec.name} is installed; use it with: service routing set ${spec.name}, then service index reembed --bucket B`,
      );
      return NOTHING;
    }
    try {
      await confirm(question, options.yes, options.signal);
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_confirmed') return NOTHING;
      throw error;
    }
  }
  return makePrimary(appliance, operator, spec.name, options.org);
}

/**
 * Make a model the primary model of an organization, and queue jobs that embed its buckets with it. Keep a fallback
 * whose vectors can be compared with the new ones.
 */
export async function makePrimary(
  appliance: Appliance,
  operator: Caller,
  model: string,
  org: string,
): Promise<Adopted> {
  const { fallback, mode, text } = await chooseFallback(appliance, operator, model);
  await appliance.embedding.routing.set(operator, { primary: model, fallback, mode });
  note(`${model} is the primary model of organization ${org}`);
  if (text !== null) note(text);
  return { primary: true, jobs: await reembedAll(appliance, operator, model, { dryRun: false }) };
}

/** Choose the fallback of a new primary model, and describe what happens to the current one. */
export async function chooseFallback(
  { embedding: { routing, backends } }: Appliance,
  { orgId }: Caller,
  model: string,
): Promise<{ fallback: string | null; mode: 'fallback' | 'single'; text: string | null }> {
  const { fallback, mode } = await routing.of(orgId);
  const none = { fallback: null, mode: 'single' } as const;
  if (fallback === null || mode === 'single') return { ...none, text: null };
  if (fallback === model) return { ...none, text: `there is no fallback now, since ${model} was the fallback` };
  if (backends.areComparable([model, fallback])) return { fallback, mode, text: `${fallback} stays the fallback` };
  const text = `removed the fallback ${fallback}, because its vectors cannot be compared with those of ${model}`;
  return { ...none, text };
}

/** Return true if the default model is lexical, so that any semantic model is better. */
async function isFirst({ embedding }: Appliance, { orgId }: Caller): Promise<boolean> {
  const { backends, routing } = embedding;
  const primary = backends.catalog.get((await routing.of(orgId)).primary);
  if (primary === undefined) return true;
  return backends.indexModelsOf(primary).models.every(({ kind }) => kind === 'lexical');
}

/**
 * Queue jobs that embed all buckets with a model. With `dryRun`, only say what they would do.
 *
 * @returns ids of the jobs
 */
export async function reembedAll(
  appliance: Appliance,
  operator: Caller,
  model: string,
  { dryRun }: { readonly dryRun: boolean },
): Promise<string[]> {
  const jobs: string[] = [];
  let texts = 0;
  for (const bucket of await listBuckets(appliance.sql, operator)) {
    try {
      const reply = await queueReembed(appliance.ingest.reembed, operator, { bucket: bucket.id, model }, { dryRun });
      texts += reply.texts;
      if (reply.job_id !== null) jobs.push(reply.job_id);
      const job = reply.job_id === null ? '' : ` (job ${reply.job_id})`;
      if (reply.texts > 0)
        note(`bucket ${bucket.name}: ${model} embeds ${reply.texts} of ${reply.chunks} chunks${job}`);
    } catch (error) {
      // If a bucket can't be embedded now, it keeps its vectors. Continue with the others.
      if (!(error instanceof AppError)) throw error;
      note(`bucket ${bucket.name} keeps its vectors: ${error.message}`);
    }
  }
  if (texts === 0) note(`no bucket has chunks to embed with ${model}`);
  return jobs;
}
