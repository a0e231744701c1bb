import { statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { SEMANTIC_ID } from '../../models/catalog.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Sql } from '../../platform/postgres.ts';
import { E5_PREFIXES } from '../../platform/provider-settings.ts';
import type { BuiltInChoice, LocalModel } from '../schema.ts';
import { recordBuiltIn, selectBuiltIn } from '../store.ts';

/** Folder with the weights of `local/semantic-1`, which are part of the program. */
export const BUILT_IN_FOLDER = import.meta.dirname;

/**
 * The model `local/semantic-1`: multilingual-e5-small with 92,000 pieces of its vocabulary, word vectors of 4 bits and
 * matrices of 8 bits. `test/eval/built-in-model/make.py` creates its files. Files that change a vector by more than
 * rounding does (a cosine below 0.999) need a new model id.
 */
export const BUILT_IN_MODEL: LocalModel = {
  spec: {
    name: SEMANTIC_ID,
    kind: 'embedding',
    source: 'built in: multilingual-e5-small (Microsoft, MIT), see NOTICE',
    licence: 'mit',
    variant: 'int8',
    modelFile: 'model.onnx',
    dimension: 384,
    maxTokens: 512,
    pooling: 'mean',
    padId: 1,
    prefixes: E5_PREFIXES,
    files: [
      {
        path: 'model.onnx',
        sizeBytes: 41_973_452,
        sha256: '4cb21b0fe11ed9e7d785cd27cfd67c729e81f311d71ca203b5f138a6b5f8f69d',
      },
      {
        path: 'tokenizer.json',
        sizeBytes: 2_315_011,
        sha256: '3127547a5c0da44d23529ba755ca8463c302da02a46faa908721119da37a31ed',
      },
    ],
  },
  revision: '4cb21b0fe11e',
  installedAt: new Date(0),
};

/** Minimum host memory for the semantic model as default. With less, the lexical model is the default. */
const SEMANTIC_MEMORY_MIN = 3 * 1024 ** 3;

const SMALL_HOST =
  'this host has less than 3 GB of memory, so the built-in model matches words only; embeddings.built_in: semantic chooses the one that matches meanings';

/** Return why the built-in model's files can't be used, or null. The model's process verifies their content. */
export function faultOfFiles(folder: string): string | null {
  for (const { path: file, sizeBytes } of BUILT_IN_MODEL.spec.files) {
    const info = statSync(path.join(folder, file), { throwIfNoEntry: false });
    if (info === undefined) return `${path.join(folder, file)} is missing`;
    if (info.size !== sizeBytes) return `${path.join(folder, file)} is damaged`;
  }
  return null;
}

/**
 * Return the default built-in model: the configured one, else the one chosen at the first start by the host's memory.
 */
export async function chooseBuiltIn(
  sql: Sql,
  setting: BuiltInChoice | null,
  logger: Logger,
  memoryBytes = memoryOfHost(),
): Promise<BuiltInChoice> {
  if (setting !== null) return setting;
  const recorded = await selectBuiltIn(sql);
  if (recorded !== null) return recorded;
  const choice = memoryBytes < SEMANTIC_MEMORY_MIN ? 'lexical' : 'semantic';
  if (choice === 'lexical') logger.warn({ memoryBytes }, SMALL_HOST);
  return recordBuiltIn(sql, choice);
}

/** Return the memory available to this process: the host's, or the container's limit. */
function memoryOfHost(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, os.totalmem()) : os.totalmem();
}
