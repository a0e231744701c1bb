import type { ApplianceParts, ApplianceWith, PartName } from './appliance.ts';
import { MIGRATIONS } from './stores.ts';

/** Function that opens a part of an installation after its dependencies. */
export interface PartOpener<Value> {
  readonly needs: readonly PartName[];
  open(opened: ApplianceWith<PartName>): Promise<Value>;
}

/**
 * Functions that open the parts of an installation, each with its dependencies. Only this file knows all domains. A new
 * domain adds one entry here. A domain is loaded when opened, since loading all of them takes half a second.
 */
export const PART_OPENERS: { readonly [Part in PartName]: PartOpener<ApplianceParts[Part]> } = {
  metrics: part([], async ({ pools, reads }) => {
    const { openMetrics } = await import('../platform/metrics.ts');
    const { openPoolMetrics } = await import('../platform/pool-metrics.ts');
    const { openReplicaMetrics } = await import('../platform/replica-metrics.ts');
    const metrics = openMetrics();
    openPoolMetrics(metrics.registry, pools);
    openReplicaMetrics(metrics.registry, reads);
    return metrics;
  }),
  usage: part([], async (opened) => {
    const { openUsage } = await import('../usage/open-usage.ts');
    return openUsage(opened);
  }),
  projections: part([], async (opened) => {
    const { openProjections } = await import('../projection/open-projections.ts');
    return openProjections(opened);
  }),
  recognition: part([], async (opened) => {
    const { openRecognition } = await import('../recognition/open-recognition.ts');
    return openRecognition(opened);
  }),
  localModels: part(['metrics'], async (opened) => {
    const { openLocalModels } = await import('../local-models/open-local-models.ts');
    return openLocalModels(opened);
  }),
  embedding: part(['metrics', 'projections', 'localModels', 'usage'], async (opened) => {
    const { openEmbedding } = await import('../embedding/open-embedding.ts');
    return openEmbedding({ ...opened, meter: opened.usage.meter });
  }),
  calibration: part(['embedding'], async (opened) => {
    const { openCalibration } = await import('../projection/open-calibration.ts');
    return openCalibration(opened);
  }),
  rerankers: part(['embedding', 'localModels', 'usage'], async (opened) => {
    const { openRerankers } = await import('../rerank/open-rerankers.ts');
    return openRerankers({ ...opened, meter: opened.usage.meter });
  }),
  insight: part(['metrics'], async (opened) => {
    const { openInsight } = await import('../insight/open-insight.ts');
    return openInsight(opened);
  }),
  search: part(['metrics', 'embedding', 'rerankers', 'insight'], async (opened) => {
    const { openSearch } = await import('../search/open-search.ts');
    return openSearch({ ...opened, recorder: opened.insight.log });
  }),
  documents: part(['search'], async (opened) => {
    const { openDocuments } = await import('../documents/open-documents.ts');
    const { eraseRunsAbout } = await import('../workflows/run-store.ts');
    const { forgetResponsesAbout } = await import('../access/idempotency-store.ts');
    const { eraseAnswersAbout } = await import('../answers/answer-store.ts');
    const { eraseAttributesOf } = await import('../vector-stores/store-files-store.ts');
    return openDocuments({
      ...opened,
      index: opened.search.removal,
      async erase(tx, orgId, documentIds) {
        await eraseRunsAbout(tx, orgId, documentIds);
        await eraseAnswersAbout(tx, orgId, documentIds);
        await forgetResponsesAbout(tx, orgId, await eraseAttributesOf(tx, documentIds));
      },
    });
  }),
  bulk: part(['embedding'], async (opened) => {
    const { openBulk } = await import('../bulk/open-bulk.ts');
    return openBulk({ ...opened, embedder: opened.embedding.embedder });
  }),
  files: part([], async (opened) => {
    const { openFiles } = await import('../files/open-files.ts');
    return openFiles(opened);
  }),
  batches: part(['embedding'], async (opened) => {
    const { openBatches } = await import('../batches/open-batches.ts');
    return openBatches({ ...opened, embedder: opened.embedding.embedder });
  }),
  ingest: part(['embedding', 'calibration', 'projections', 'localModels', 'recognition', 'search'], async (opened) => {
    const { openIngest } = await import('../ingest/open-ingest.ts');
    return openIngest({ ...opened, pictures: opened.recognition.documents });
  }),
  answers: part(['embedding', 'search', 'ingest', 'usage'], async (opened) => {
    const { openAnswers } = await import('../answers/open-answers.ts');
    return openAnswers({ ...opened, reading: opened.ingest.reading, meter: opened.usage.meter });
  }),
  metadata: part(['documents'], async (opened) => {
    const { openMetadata } = await import('../metadata/open-metadata.ts');
    return openMetadata({ ...opened, removal: opened.documents.removal });
  }),
  vectorStores: part(['ingest', 'metadata'], async (opened) => {
    const { openVectorStores } = await import('../vector-stores/open-vector-stores.ts');
    return openVectorStores({ ...opened, edits: opened.metadata, reading: opened.ingest.reading });
  }),
  channels: part(['metrics', 'search', 'answers', 'usage'], async (opened) => {
    const { openChannels } = await import('../channels/open-channels.ts');
    return openChannels({ ...opened, rates: opened.usage.rates });
  }),
  webhooks: part(['metrics'], async (opened) => {
    const { openWebhooks } = await import('../webhooks/open-webhooks.ts');
    return openWebhooks(opened);
  }),
  memory: part(['search'], async (opened) => {
    const { openMemory } = await import('../memory/open-memory.ts');
    return openMemory(opened);
  }),
  workflows: part(['usage', 'search', 'answers', 'embedding', 'ingest', 'metadata', 'channels'], async (opened) => {
    const { openWorkflows } = await import('../workflows/open-workflows.ts');
    const { usage, embedding, ingest, channels } = opened;
    const { embedder } = embedding;
    const { rates } = usage;
    return openWorkflows({ ...opened, rates, embedder, uploads: ingest.uploads, sending: channels.sending });
  }),
  jobs: part(['metrics', 'ingest', 'bulk', 'batches', 'metadata', 'memory'], async (opened) => {
    const { openJobs } = await import('../jobs/open-jobs.ts');
    const { jobVisibleTo } = await import('../documents/visibility.ts');
    const { ingest, bulk, batches, metadata, memory } = opened;
    const kinds = [...ingest.jobs, bulk.jobs, batches.jobs, metadata.jobs, memory.jobs];
    return openJobs({ ...opened, visibleTo: jobVisibleTo }, kinds);
  }),
  backup: part(['metrics'], async (opened) => {
    const { openBackup } = await import('../backup/open-backup.ts');
    const { installationId } = opened.access;
    return openBackup({ ...opened, installationId, migrations: MIGRATIONS });
  }),
};

function part<Need extends PartName, Value>(
  needs: readonly Need[],
  open: (opened: ApplianceWith<Need>) => Promise<Value>,
): PartOpener<Value> {
  return { needs, open };
}
