import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { TaskType } from '../../models/task-types.ts';
import type { Pooling } from '../runtime/protocol.ts';
import type { ModelSpec, Variant } from '../schema.ts';
import { needsFlag, notAModel } from './install-errors.ts';
import { type OnnxOutline, readOnnxOutline } from './onnx-outline.ts';

/** Facts that the operator supplies because a source lacks them, or to override it. */
export interface InstallOptions {
  readonly kind: ModelSpec['kind'];
  readonly variant: Variant;
  readonly pooling?: Pooling | undefined;
  readonly maxTokens?: number | undefined;
  /** `none`, `e5`, or prefixes by task type. */
  readonly prompts?: 'none' | 'e5' | ModelSpec['prefixes'] | undefined;
}

type Draft = Omit<ModelSpec, 'name' | 'source' | 'licence' | 'dimension' | 'files'>;

const TransformerConfig = z.looseObject({
  model_type: z.string().optional(),
  max_position_embeddings: z.int().positive().optional(),
  pad_token_id: z.int().min(0).nullish(),
});
const Modules = z.array(z.looseObject({ path: z.string(), type: z.string() }));
const PoolingConfig = z.looseObject({
  pooling_mode_cls_token: z.boolean().default(false),
  pooling_mode_mean_tokens: z.boolean().default(false),
  pooling_mode_max_tokens: z.boolean().default(false),
  pooling_mode_mean_sqrt_len_tokens: z.boolean().default(false),
  pooling_mode_weightedmean_tokens: z.boolean().default(false),
  pooling_mode_lasttoken: z.boolean().default(false),
});
const SentenceConfig = z.looseObject({ max_seq_length: z.int().positive().nullish() });
const TokenizerConfig = z.looseObject({ model_max_length: z.number().positive().optional() });
const PromptConfig = z.looseObject({ prompts: z.record(z.string(), z.string().max(4000)).nullish() });

/** Maximum plausible length. Larger values mean "unknown" in tokenizer files. */
const LENGTH_MAX = 1_000_000;
/** Model types whose position ids start after the padding id. */
const OFFSET_POSITIONS = new Set(['roberta', 'xlm-roberta', 'camembert', 'mpnet', 'xlm-roberta-xl']);

/** sentence-transformers modules after the model: pooling, and modules that our code always applies. */
const POOLING_MODULE = '.Pooling';
const KNOWN_MODULES = ['.Transformer', POOLING_MODULE, '.Normalize'];

/**
 * Read the settings that sentence-transformers stores with a model.
 * @param folder folder with the model's files
 * @throws AppError `model_invalid` (400) for a folder without a model; `model_setting_missing` (400) for a fact that
 *   affects the vectors and is in neither the folder nor `options`
 */
export function inspectModel(folder: string, modelFile: string, options: InstallOptions): Draft {
  const config = readJson(folder, 'config.json', TransformerConfig);
  if (config === null) throw notAModel('the source has no config.json, so it is not a model');
  readTokenizer(folder);
  const outline = readOutline(folder, modelFile);
  checkInputs(outline);
  const { kind, variant } = options;
  const maxTokens = maxTokensOf(folder, config, options);
  const own = { kind, variant, modelFile, maxTokens, padId: padIdOf(folder, config) };
  if (kind === 'reranker') {
    if (outline.outputs.includes('logits')) return { ...own, pooling: 'cls', prefixes: {} };
    throw notAModel(
      'the model returns no scores (output "logits"), so it is not a reranker; install it without --reranker',
    );
  }
  if (outline.outputs.includes('logits') && outline.outputs.length === 1) {
    throw notAModel('the model gives scores, not vectors; install it with --reranker');
  }
  return { ...own, pooling: poolingOf(folder, outline, options), prefixes: prefixesOf(folder, options) };
}

function readOutline(folder: string, modelFile: string): OnnxOutline {
  try {
    return readOnnxOutline(path.join(folder, modelFile));
  } catch (error) {
    throw notAModel(`${modelFile} cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function checkInputs({ inputs }: OnnxOutline): void {
  if (inputs.includes('input_ids')) return;
  throw notAModel('the model has no input "input_ids", so it is not a text model');
}

function readTokenizer(folder: string): void {
  const tokenizer = readJson(folder, 'tokenizer.json', z.looseObject({ model: z.looseObject({}) }));
  if (tokenizer !== null) return;
  throw notAModel(
    'the source has no tokenizer.json; write one with AutoTokenizer.from_pretrained(…, use_fast=True).save_pretrained(…)',
    'model_tokenizer_missing',
  );
}

function maxTokensOf(folder: string, config: z.output<typeof TransformerConfig>, options: InstallOptions): number {
  const sentence = readJson(folder, 'sentence_bert_config.json', SentenceConfig)?.max_seq_length ?? null;
  const tokenizer = readJson(folder, 'tokenizer_config.json', TokenizerConfig)?.model_max_length ?? LENGTH_MAX;
  const offset = OFFSET_POSITIONS.has(config.model_type ?? '') ? 2 : 0;
  const positions = config.max_position_embeddings === undefined ? null : config.max_position_embeddings - offset;
  const said = options.maxTokens ?? sentence ?? (tokenizer < LENGTH_MAX ? tokenizer : positions);
  if (said === null) throw needsFlag('the maximum number of tokens in a text', '--max-tokens');
  if (positions !== null && said > positions) {
    throw notAModel(
      `the model has positions for ${positions} tokens, fewer than ${said}; set a lower number with --max-tokens`,
    );
  }
  return said;
}

function padIdOf(folder: string, config: z.output<typeof TransformerConfig>): number {
  const Tokenizer = z.looseObject({ padding: z.looseObject({ pad_id: z.int().min(0) }).nullish() });
  return readJson(folder, 'tokenizer.json', Tokenizer)?.padding?.pad_id ?? config.pad_token_id ?? 0;
}

function poolingOf(folder: string, outline: OnnxOutline, options: InstallOptions): Pooling {
  // The model does its own pooling, so the setting has no effect.
  if (outline.outputs.includes('sentence_embedding')) return 'mean';
  const modules = readJson(folder, 'modules.json', Modules) ?? [];
  const unknown = modules.find(({ type }) => !KNOWN_MODULES.some((known) => type.endsWith(known)));
  if (unknown !== undefined) {
    throw notAModel(
      `the last module of the model (${unknown.type}) is missing in its ONNX file; export it with an output "sentence_embedding"`,
    );
  }
  if (options.pooling !== undefined) return options.pooling;
  const pooling = modules.find(({ type }) => type.endsWith(POOLING_MODULE));
  const config = pooling ? readJson(folder, `${pooling.path}/config.json`, PoolingConfig) : null;
  if (config === null) throw needsFlag('the pooling of the token vectors', '--pooling mean|cls|last');
  const modes = Object.entries(config).filter(([key, value]) => key.startsWith('pooling_mode_') && value === true);
  const names: Record<string, Pooling> = {
    pooling_mode_mean_tokens: 'mean',
    pooling_mode_cls_token: 'cls',
    pooling_mode_lasttoken: 'last',
  };
  const chosen = modes.length === 1 ? names[modes[0]?.[0] ?? ''] : undefined;
  if (chosen !== undefined) return chosen;
  throw notAModel(`the pooling of the model is not supported (${modes.map(([key]) => key).join(', ') || 'none'})`);
}

const E5 = { query: 'query: ', document: 'passage: ' };

function prefixesOf(folder: string, { prompts }: InstallOptions): ModelSpec['prefixes'] {
  if (prompts === 'none') return {};
  if (prompts === 'e5') return taskPrefixes(E5);
  if (prompts !== undefined) return prompts;
  const config = readJson(folder, 'config_sentence_transformers.json', PromptConfig);
  if (config === null) {
    throw needsFlag('the prompts in front of texts', '--prompts none, --prompts e5 or --prompts FILE.json');
  }
  return taskPrefixes(config.prompts ?? {});
}

/** Task types that get the query prompt in models that distinguish queries and documents. */
const QUERY_TASKS: readonly TaskType[] = [
  'retrieval_query',
  'question_answering',
  'code_retrieval',
  'contradiction',
  'factcheck',
];

/** Map a model's prompts (query, document, passage, or a task type) to prefixes by task type. */
export function taskPrefixes(prompts: Readonly<Record<string, string>>): ModelSpec['prefixes'] {
  const query = prompts['query'];
  const prefixes: ModelSpec['prefixes'] = {};
  const put = (task: TaskType, prompt: string | undefined) => {
    if (prompt) prefixes[task] = prompt;
  };
  for (const task of QUERY_TASKS) put(task, query);
  put('retrieval_document', prompts['document'] ?? prompts['passage']);
  put('semantic_similarity', prompts['STS'] ?? prompts['sts']);
  for (const [name, prompt] of Object.entries(prompts)) {
    const task = TaskType.safeParse(name.toLowerCase());
    if (task.success) put(task.data, prompt);
  }
  return prefixes;
}

/** @returns null if the file does not exist @throws AppError `model_invalid` (400) if it is malformed */
function readJson<Schema extends z.ZodType>(folder: string, file: string, schema: Schema): z.output<Schema> | null {
  let text: string;
  try {
    text = readFileSync(path.join(folder, file), 'utf8');
  } catch {
    return null;
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw notAModel(`${file} of the source is not valid`);
  }
}
