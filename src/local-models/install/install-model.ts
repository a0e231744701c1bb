import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { recordAudit } from '../../access/audit.ts';
import type { Config } from '../../platform/config.ts';
import { AppError, conflict, unusable } from '../../platform/errors.ts';
import type { Objects } from '../../platform/objects/objects.ts';
import { storageFull } from '../../platform/objects/objects.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import {
  deleteSharedFiles,
  folderOf,
  makeIncoming,
  modelsFolder,
  placeFolder,
  removeFolders,
  shareFiles,
} from '../model-folders.ts';
import { argumentOf } from '../open-local-models.ts';
import { ModelFault, ModelProcess } from '../runtime/model-process.ts';
import type { ModelFile, ModelSpec } from '../schema.ts';
import { selectLocalModel, upsertLocalModel } from '../store.ts';
import { type InstallOptions, inspectModel } from './inspect-model.ts';
import { notAModel } from './install-errors.ts';
import { checkPath, checkSize, isNeeded, isWeights, modelFileOf } from './model-paths.ts';
import { readOnnxOutline } from './onnx-outline.ts';
import type { ModelSource, SourceFile } from './source.ts';

export interface InstallContext {
  readonly config: Pick<Config, 'dataDir' | 'objects' | 'localModels'>;
  readonly sql: Sql;
  readonly objects: Objects;
}

export interface InstallRequest extends InstallOptions {
  /** Id of the model: `local/NAME`. */
  readonly name: string;
  readonly source: ModelSource;
  /** Actor for the audit log. */
  readonly actor: string;
  /** Ask before fetching anything large. Throw to cancel the installation. */
  readonly confirm: (plan: InstallPlan) => Promise<void>;
  readonly onProgress: (progress: InstallProgress) => void;
  readonly signal: AbortSignal;
}

/** Files to fetch, and the space that they need. */
export interface InstallPlan {
  readonly files: number;
  readonly bytes: number;
  readonly freeBytes: number;
  /** Licence stated by the source, or null. */
  readonly licence: string | null;
}

export interface InstallProgress {
  readonly phase: 'fetching' | 'testing' | 'sharing';
  readonly doneBytes: number;
  readonly totalBytes: number;
}

export interface Installed {
  readonly spec: ModelSpec;
  readonly revision: string;
  /** True if it replaces another revision under the same name. */
  readonly isUpdate: boolean;
}

const TEST_TEXT = 'The service checks with this sentence that the model runs.';
const START_MS_MAX = 300_000;
const MIB = 1024 * 1024;

/**
 * Install a model: fetch its files, read its settings, run one text, and put it in place atomically. A failure leaves
 * nothing except an interrupted download, which the next installation from the same source resumes.
 *
 * @throws AppError `model_invalid`, `model_setting_missing`, `model_source_unsafe`, `model_unusable` (400),
 *   `model_dimension_differs` (409), `storage_full` (503), and errors of the source
 */
export async function installModel(context: InstallContext, request: InstallRequest): Promise<Installed> {
  const { source, signal } = request;
  const { listed, modelFile, wanted, plan } = await selectFiles(context.config.dataDir, request);
  await request.confirm(plan);
  const incoming = await openIncoming(context.config.dataDir, source);
  try {
    await fetchAll(request, incoming, wanted, plan.bytes);
    const extra = externalFiles(incoming, modelFile, listed).filter((file) => !wanted.includes(file));
    await fetchAll(request, incoming, extra, plan.bytes);
    const draft = inspectModel(incoming, modelFile, request);
    const named = { ...draft, name: request.name, source: source.label, licence: source.licence };
    request.onProgress({ phase: 'testing', doneBytes: plan.bytes, totalBytes: plan.bytes });
    const dimension = await runOnce(named, incoming, context.config.localModels, signal);
    const spec: ModelSpec = {
      ...named,
      dimension,
      files: await describeFiles(incoming, [...wanted, ...extra], signal),
    };
    return await finish(context, request, spec, incoming);
  } catch (error) {
    if (!isInterruption(error, signal) || source.resumeKey === null) {
      await rm(incoming, { recursive: true, force: true });
    }
    throw error;
  }
}

/** Return what an installation would fetch. @throws AppError as `installModel` before fetching anything */
export async function planInstallation(
  { config }: Pick<InstallContext, 'config'>,
  request: Pick<InstallRequest, 'source' | 'variant' | 'signal'>,
): Promise<InstallPlan> {
  return (await selectFiles(config.dataDir, request)).plan;
}

/** Choose the files of the variant from the source's files. */
async function selectFiles(
  dataDir: string,
  { source, variant, signal }: Pick<InstallRequest, 'source' | 'variant' | 'signal'>,
): Promise<{ listed: readonly SourceFile[]; wanted: readonly SourceFile[]; modelFile: string; plan: InstallPlan }> {
  const listed = await listNeeded(source, signal);
  const modelFile = modelFileOf(new Set(listed.map((file) => file.path)), variant);
  const wanted = listed.filter(({ path: file }) => isNeeded(file) || file === modelFile || isBeside(file, modelFile));
  return { listed, wanted, modelFile, plan: { ...(await planOf(dataDir, wanted)), licence: source.licence } };
}

async function listNeeded(source: ModelSource, signal: AbortSignal): Promise<readonly SourceFile[]> {
  const all = await source.list(signal);
  // One malicious name makes the whole source untrustworthy.
  for (const { path: file } of all) checkPath(file);
  const listed = all.filter(({ path: file }) => isNeeded(file) || isWeights(file));
  for (const { path: file, sizeBytes } of listed) checkSize(file, sizeBytes);
  return listed;
}

/** Return true if the file name marks weights of the model. */
function isBeside(file: string, modelFile: string): boolean {
  return file === `${modelFile}_data` || file === `${modelFile}.data`;
}

async function planOf(dataDir: string, files: readonly SourceFile[]): Promise<Omit<InstallPlan, 'licence'>> {
  const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  await mkdir(modelsFolder(dataDir), { recursive: true });
  const { bavail, bsize } = await statfs(dataDir);
  const freeBytes = bavail * bsize;
  if (bytes > freeBytes) {
    throw unusable(
      `the model takes ${Math.ceil(bytes / MIB)} MiB, but ${dataDir} has ${Math.floor(freeBytes / MIB)} MiB free; free some space`,
      'storage_full',
    );
  }
  return { files: files.length, bytes, freeBytes };
}

/** Open the folder to fetch into. Reuse the folder of an interrupted fetch from the same source. */
async function openIncoming(dataDir: string, { resumeKey }: ModelSource): Promise<string> {
  if (resumeKey === null) return makeIncoming(dataDir);
  const digest = createHash('sha256').update(resumeKey).digest('hex').slice(0, 24);
  const folder = path.join(modelsFolder(dataDir), `.incoming-${digest}`);
  await mkdir(folder, { recursive: true });
  return folder;
}

async function fetchAll(
  { source, signal, onProgress }: InstallRequest,
  incoming: string,
  files: readonly SourceFile[],
  totalBytes: number,
): Promise<void> {
  let doneBytes = 0;
  for (const file of files) {
    const target = path.join(incoming, file.path);
    await mkdir(path.dirname(target), { recursive: true });
    const onBytes = (bytes: number) => {
      doneBytes += bytes;
      onProgress({ phase: 'fetching', doneBytes, totalBytes });
    };
    try {
      await source.fetch(file, target, onBytes, signal);
    } catch (error) {
      throw isFull(error) ? storageFull(error) : error;
    }
  }
}

/** Find a model's external weight files. @throws AppError `model_source_unsafe`, `model_invalid` */
function externalFiles(incoming: string, modelFile: string, listed: readonly SourceFile[]): SourceFile[] {
  let locations: readonly string[];
  try {
    locations = readOnnxOutline(path.join(incoming, modelFile)).externalFiles;
  } catch (error) {
    throw notAModel(`${modelFile} cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
  return locations.map((location) => {
    checkPath(location);
    const file = path.posix.join(path.posix.dirname(modelFile), location);
    const found = listed.find((each) => each.path === file);
    if (found === undefined) throw notAModel(`the source lacks ${file}, which holds weights of ${modelFile}`);
    return found;
  });
}

/** Load the model and run one text. @returns the vector length @throws AppError `model_unusable` (400) */
async function runOnce(
  spec: Omit<ModelSpec, 'dimension' | 'files'>,
  folder: string,
  settings: Config['localModels'],
  signal: AbortSignal,
): Promise<number> {
  let process: ModelProcess | null = null;
  try {
    process = await ModelProcess.start(argumentOf(spec, folder, settings), START_MS_MAX);
    const query = spec.kind === 'reranker' ? TEST_TEXT : null;
    const values = await process.run({ texts: [TEST_TEXT], query, isBackground: false }, signal);
    if (values.length !== process.dimension || !values.every(Number.isFinite)) {
      throw new ModelFault('its result has numbers that are not finite', { isFinal: true });
    }
    return process.dimension;
  } catch (error) {
    if (error instanceof ModelFault) throw notAModel(`the model does not run here: ${error.message}`, 'model_unusable');
    throw error;
  } finally {
    await process?.stop();
  }
}

async function describeFiles(
  incoming: string,
  files: readonly SourceFile[],
  signal: AbortSignal,
): Promise<ModelFile[]> {
  const described: ModelFile[] = [];
  for (const { path: file } of files) {
    const hash = createHash('sha256');
    let sizeBytes = 0;
    await pipeline(
      createReadStream(path.join(incoming, file)),
      async (chunks: AsyncIterable<Buffer>) => {
        for await (const chunk of chunks) {
          sizeBytes += chunk.length;
          hash.update(chunk);
        }
      },
      { signal },
    );
    described.push({ path: file, sizeBytes, sha256: hash.digest('hex') });
  }
  return described;
}

async function finish(
  { config, sql, objects }: InstallContext,
  { signal, onProgress, actor }: InstallRequest,
  spec: ModelSpec,
  incoming: string,
): Promise<Installed> {
  const before = await selectLocalModel(sql, spec.name);
  if (before && (before.spec.dimension !== spec.dimension || before.spec.kind !== spec.kind)) {
    throw conflict(
      `${spec.name} is installed with ${before.spec.dimension} dimensions (${before.spec.kind}), and this model has ${spec.dimension} (${spec.kind}); install it under another name with --as`,
      'model_dimension_differs',
    );
  }
  const revision = revisionOf(spec);
  await writeFile(path.join(incoming, 'model.json'), `${JSON.stringify({ ...spec, revision }, null, 2)}\n`);
  const folder = folderOf(config.dataDir, spec.name, revision);
  await placeFolder(incoming, folder);
  if (config.objects !== null) {
    const total = spec.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    onProgress({ phase: 'sharing', doneBytes: 0, totalBytes: total });
    await shareFiles(objects, folder, { spec, revision }, signal);
  }
  await inTransaction(sql, async (tx) => {
    await upsertLocalModel(tx, { spec, revision });
    const detail = { revision, source: spec.source, variant: spec.variant };
    await recordAudit(tx, { orgId: null, actor, action: 'model.install', target: spec.name, detail });
  });
  await removeFolders(config.dataDir, spec.name, revision);
  const isUpdate = before !== null && before.revision !== revision;
  if (isUpdate && config.objects !== null) await deleteSharedFiles(objects, before, signal);
  return { spec, revision, isUpdate };
}

/** Compute the digest of everything that affects the vectors. */
function revisionOf({ files, pooling, prefixes, maxTokens, modelFile, padId }: ModelSpec): string {
  const facts = {
    files: files.map(({ path: file, sha256 }) => [file, sha256]),
    pooling,
    prefixes,
    maxTokens,
    modelFile,
    padId,
  };
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 12);
}

/** Return true if a fetch was interrupted, so that the next one can resume it. */
function isInterruption(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || (error instanceof AppError && error.code === 'hub_unavailable');
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}
