import { z } from 'zod';
import { TaskType } from '../models/task-types.ts';
import { POOLINGS } from './runtime/protocol.ts';

/** Id of a local model: `local/NAME`. */
export const LocalName = z
  .string()
  .regex(/^local\/[a-z0-9][a-z0-9._-]{0,63}$/, 'must be local/NAME: lower-case letters, digits, ".", "_" and "-"');

export const VARIANTS = ['fp32', 'fp16', 'int8'] as const;
export type Variant = (typeof VARIANTS)[number];

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** File of an installed model, with a path relative to the model folder. */
export const ModelFile = z.object({ path: z.string(), sizeBytes: z.int(), sha256 });
export type ModelFile = z.output<typeof ModelFile>;

/** Everything needed to run an installed model, except its files. */
export const ModelSpec = z.object({
  name: LocalName,
  kind: z.enum(['embedding', 'reranker']),
  /** Original folder, archive or hub id, for display. */
  source: z.string(),
  /** Licence stated by its source, or null. */
  licence: z.string().nullable().default(null),
  variant: z.enum(VARIANTS),
  /** Path of the ONNX model. */
  modelFile: z.string(),
  /** Vector length; 1 for a reranker. */
  dimension: z.int().min(1),
  maxTokens: z.int().min(1),
  pooling: z.enum(POOLINGS),
  padId: z.int().min(0),
  /** Prefix of input texts, by task type. */
  prefixes: z.partialRecord(TaskType, z.string()),
  files: z.array(ModelFile).min(1),
});
export type ModelSpec = z.output<typeof ModelSpec>;

/** Default built-in model: one that matches meanings, or one that matches words. */
export type BuiltInChoice = 'semantic' | 'lexical';

export interface LocalModel {
  readonly spec: ModelSpec;
  /** Digest of the files and settings that affect its vectors. */
  readonly revision: string;
  readonly installedAt: Date;
}
