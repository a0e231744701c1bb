import { z } from 'zod';
import { findBucket } from '../../documents/buckets.ts';
import { listIndexStats } from '../../search/index-stats.ts';
import { listPage } from '../list-page.ts';
import { forOrganization } from '../operation.ts';

export const stats = forOrganization(
  z.object({ bucket: z.string().optional() }),
  async ({ bucket }, { appliance, operator }) =>
    listPage(await listIndexStats(appliance.search, operator.orgId, bucket ?? null)),
);

export const optimize = forOrganization(
  z.object({ bucket: z.string() }),
  async ({ bucket }, { appliance, operator, signal }) => {
    const { id, name } = await findBucket(appliance.sql, operator.orgId, bucket);
    const beganMs = performance.now();
    await appliance.ingest.reindex.index.optimize(id, signal);
    return { bucket_id: id, name, duration_ms: Math.round(performance.now() - beganMs) };
  },
);
