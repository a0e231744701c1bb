import { z } from 'zod';
import { createBucket, deleteBucket, findBucket, listBuckets, requireEngine } from '../../documents/buckets.ts';
import { editBucket } from '../../documents/edit-bucket.ts';
import { CreateBucket, EditBucket } from '../../documents/schema.ts';
import { getBucketDetails } from '../../search/bucket-model.ts';
import { getSynonyms, setSynonyms as replaceSynonyms } from '../../search/synonyms/edit-synonyms.ts';
import { SynonymsEdit } from '../../search/synonyms/schema.ts';
import { listPage } from '../list-page.ts';
import { forOrganization } from '../operation.ts';

/** Bucket by its name or id. */
const Named = z.object({ bucket: z.string() });

export const create = forOrganization(CreateBucket, (request, { appliance, operator }) => {
  requireEngine(request.engine, appliance.config);
  return createBucket(appliance.sql, operator, request);
});

export const list = forOrganization(z.object({}), async (_, { appliance, operator }) =>
  listPage(await listBuckets(appliance.sql, operator)),
);

export const find = forOrganization(Named, async ({ bucket }, { appliance, operator }) => {
  const { id, name } = await findBucket(appliance.sql, operator, bucket);
  return { id, name };
});

export const show = forOrganization(Named, ({ bucket }, { appliance, operator }) =>
  getBucketDetails(appliance.sql, operator, bucket),
);

export const edit = forOrganization(
  EditBucket.extend({ bucket: z.string() }),
  ({ bucket, ...edit }, { appliance, operator }) => editBucket(appliance.sql, operator, bucket, edit),
);

export const synonyms = forOrganization(Named, ({ bucket }, { appliance, operator }) =>
  getSynonyms(appliance.sql, operator, bucket),
);

export const setSynonyms = forOrganization(
  SynonymsEdit.extend({ bucket: z.string() }),
  ({ bucket, ...edit }, { appliance, operator }) => replaceSynonyms(appliance.sql, operator, bucket, edit),
);

/** Delete a bucket with its contents. `name` confirms which one. */
export const remove = forOrganization(
  z.object({ bucket: z.string(), name: z.string() }),
  async ({ bucket, name }, { appliance, operator, signal }) => {
    const id = await deleteBucket(appliance.sql, operator, bucket, name);
    await appliance.documents.purgeWithText(signal);
    return { id, deleted: true };
  },
  ['documents'],
);
