import { recordAudit } from '../access/audit.ts';
import { type Catalog, LEXICAL_ID, SEMANTIC_ID } from '../models/catalog.ts';
import { refuseUsedModels } from '../models/refuse-used.ts';
import { invalidRequest, notFound } from '../platform/errors.ts';
import { inTransaction } from '../platform/postgres.ts';
import type { InstallContext } from './install/install-model.ts';
import { deleteSharedFiles, removeFolders } from './model-folders.ts';
import { deleteLocalModel, selectLocalModel } from './store.ts';

/**
 * Remove an installed model from the installation, and its files from this host. Other hosts stop using it within
 * seconds.
 * @throws AppError `model_not_found` (404), `model_in_use` (409) while a bucket uses it or a model that it serves
 */
export async function removeModel(
  context: InstallContext & { readonly embedding: { readonly backends: { readonly catalog: Pick<Catalog, 'list'> } } },
  { name, actor }: { readonly name: string; readonly actor: string },
  signal: AbortSignal,
): Promise<void> {
  const { sql, config, objects, embedding } = context;
  if (name === LEXICAL_ID || name === SEMANTIC_ID) {
    throw invalidRequest(
      `${name} is built in; embeddings.built_in of service.yaml chooses between the built-in models`,
      'model',
    );
  }
  const model = await selectLocalModel(sql, name);
  if (model === null) throw notFound('model', name);
  const served = embedding.backends.catalog.list().filter(({ local }) => local?.name === name);
  const ids = [name, ...served.map(({ id }) => id)];
  await inTransaction(sql, async (tx) => {
    await refuseUsedModels(tx, ids, name);
    await deleteLocalModel(tx, name);
    await recordAudit(tx, { orgId: null, actor, action: 'model.remove', target: name });
  });
  if (config.objects !== null) await deleteSharedFiles(objects, model, signal);
  await removeFolders(config.dataDir, name, null);
}
