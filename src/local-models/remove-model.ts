import { recordAudit } from '../access/audit.ts';
import { LEXICAL_ID, SEMANTIC_ID } from '../models/catalog.ts';
import { refuseUsedModels } from '../models/refuse-used.ts';
import { invalidRequest, notFound } from '../platform/errors.ts';
import { inTransaction } from '../platform/postgres.ts';
import type { InstallContext } from './install/install-model.ts';
import { deleteSharedFiles, removeFolders } from './model-folders.ts';
import { deleteLocalModel, selectLocalModel } from './store.ts';

/**
 * Remove an installed model from the installation and its files from this host. Other hosts stop using it within
 * seconds.
 *
 * @param removal.ids ids of models that it serves; a bucket that uses one of them prevents the removal
 * @throws AppError `model_not_found` (404), `model_in_use` (409)
 */
export async function removeModel(
  context: InstallContext,
  { name, actor, ids = [] }: { readonly name: string; readonly actor: string; readonly ids?: readonly string[] },
  signal: AbortSignal,
): Promise<void> {
  const { sql, config, objects } = context;
  if (name === LEXICAL_ID || name === SEMANTIC_ID) {
    throw invalidRequest(
      `${name} is built in; embeddings.built_in of service.yaml chooses between the built-in models`,
      'model',
    );
  }
  const model = await selectLocalModel(sql, name);
  if (model === null) throw notFound('model', name);
  await inTransaction(sql, async (tx) => {
    await refuseUsedModels(tx, ids, name);
    await deleteLocalModel(tx, name);
    await recordAudit(tx, { orgId: null, actor, action: 'model.remove', target: name });
  });
  if (config.objects !== null) await deleteSharedFiles(objects, model, signal);
  await removeFolders(config.dataDir, name, null);
}
