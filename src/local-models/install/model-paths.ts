import { VARIANTS, type Variant } from '../schema.ts';
import { notAModel, unsafeSource } from './install-errors.ts';

const MIB = 1024 * 1024;
/** Maximum size of a settings file. */
const SETTINGS_BYTES_MAX = 4 * MIB;
/** Maximum size of a `tokenizer.json`. One with 250,000 tokens has 17 MB. */
const TOKENIZER_BYTES_MAX = 128 * MIB;
/** Maximum size of a weight file. Free disk space is checked separately. */
const WEIGHTS_BYTES_MAX = 1024 * 1024 * MIB;

const SETTINGS = new Set([
  'config.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'modules.json',
  'config_sentence_transformers.json',
  'sentence_bert_config.json',
]);

/** Paths of ONNX models by variant, the most common first. */
const MODEL_FILES: Readonly<Record<Variant, readonly string[]>> = {
  fp32: ['onnx/model.onnx', 'model.onnx'],
  fp16: ['onnx/model_fp16.onnx', 'model_fp16.onnx'],
  int8: [
    'onnx/model_int8.onnx',
    'onnx/model_quantized.onnx',
    'model_int8.onnx',
    'model_quantized.onnx',
    'onnx/model_qint8_avx512_vnni.onnx',
    'onnx/model_qint8_avx512.onnx',
    'onnx/model_qint8_arm64.onnx',
    'onnx/model_quint8_avx2.onnx',
  ],
};

/**
 * Find the file of a variant among the files of a source.
 *
 * @throws AppError `model_invalid` (400) that names the available variants
 */
export function modelFileOf(paths: ReadonlySet<string>, variant: Variant): string {
  const found = MODEL_FILES[variant].find((file) => paths.has(file));
  if (found !== undefined) return found;
  const others = VARIANTS.filter((each) => MODEL_FILES[each].some((file) => paths.has(file)));
  if (others.length === 0) {
    throw notAModel(
      'the source has no ONNX model (onnx/model.onnx); export it with "optimum-cli export onnx", or choose a source that has one',
    );
  }
  throw notAModel(
    `the source has no variant ${variant}; it has ${others.join(', ')}; choose one with --variant`,
    'model_variant_missing',
  );
}

/** Return true if an installation may need the file. Never fetch anything else, such as Python pickles. */
export function isNeeded(file: string): boolean {
  return SETTINGS.has(file) || file === 'tokenizer.json' || /^[0-9]_[A-Za-z]{1,32}\/config\.json$/.test(file);
}

/** Return true if the file may contain weights: a model file, or an external weight file of a large model. */
export function isWeights(file: string): boolean {
  return /^(onnx\/)?[A-Za-z0-9._-]{1,100}\.onnx([._]data(_\d{1,3})?)?$/.test(file);
}

export function bytesMaxOf(file: string): number {
  if (file === 'tokenizer.json') return TOKENIZER_BYTES_MAX;
  return isWeights(file) ? WEIGHTS_BYTES_MAX : SETTINGS_BYTES_MAX;
}

/** Refuse a path that leaves the model folder. @throws AppError `model_source_unsafe` (400) */
export function checkPath(file: string): void {
  const isPlain = file.length <= 255 && !/[\\\0]|^\/|^[A-Za-z]:/.test(file);
  if (isPlain && file.split('/').every((part) => part !== '' && part !== '.' && part !== '..')) return;
  throw unsafeSource(`the source names a path that leads out of its folder: ${JSON.stringify(file.slice(0, 100))}`);
}

/** Refuse an implausibly large file. @throws AppError `model_source_unsafe` (400) */
export function checkSize(file: string, sizeBytes: number): void {
  const max = bytesMaxOf(file);
  if (sizeBytes <= max) return;
  throw unsafeSource(`${file} has ${sizeBytes} bytes, more than the maximum of ${max} for such a file`);
}
