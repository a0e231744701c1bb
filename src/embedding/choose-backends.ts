import { type Detection, detectByScript, detectLanguage } from '../language/detect-language.ts';
import { SCRIPT_LANGUAGES } from '../language/scripts.ts';

/** Backends of the alias by language (ISO 639-1), and the default for all other languages. */
export interface AliasSettings {
  readonly default: string;
  readonly [language: string]: string;
}

export interface BackendGroup {
  readonly modelId: string;
  /** Positions in the input, ascending. */
  readonly indexes: readonly number[];
}

/**
 * Choose the backend of each text by the text alone: the model of its language, else the default. If the backends'
 * vectors aren't comparable, one backend embeds the whole batch: the common backend of all texts with a known language
 * if there is one, else the default.
 *
 * @param areComparable returns true if the vectors of these models (at least two) share one latent space
 * @returns groups in order of first appearance, with every position exactly once; a promise only while the detector is
 *   not loaded, and only if the alias names a language that shares its script (see `needsLanguageDetector`)
 */
export function chooseBackends(
  texts: readonly string[],
  alias: AliasSettings,
  areComparable: (modelIds: readonly string[]) => boolean,
): readonly BackendGroup[] | Promise<readonly BackendGroup[]> {
  if (Object.values(alias).every((modelId) => modelId === alias.default)) return oneGroup(texts, alias.default);
  const detect = needsLanguageDetector(alias) ? detectLanguage : detectByScript;
  const detections = texts.map((text) => detect(text));
  if (detections.every(isDone)) return groupTexts(detections, alias, areComparable);
  return Promise.all(detections).then((all) => groupTexts(all, alias, areComparable));
}

/**
 * Return true if choosing a backend requires the words of a text, as for English and French. The script alone
 * identifies Korean, Japanese and Chinese, at no cost in memory.
 */
export function needsLanguageDetector(alias: AliasSettings): boolean {
  return Object.keys(alias).some((key) => key !== 'default' && !SCRIPT_LANGUAGES.has(key));
}

function isDone(detection: Detection | Promise<Detection>): detection is Detection {
  return !(detection instanceof Promise);
}

function groupTexts(
  detections: readonly Detection[],
  alias: AliasSettings,
  areComparable: (modelIds: readonly string[]) => boolean,
): readonly BackendGroup[] {
  const detected = detections.map((detection) => (detection.reliable ? backendOf(detection, alias) : null));
  const groups = new Map<string, number[]>();
  for (const [index, modelId] of detected.entries()) {
    const indexes = groups.get(modelId ?? alias.default);
    if (indexes) indexes.push(index);
    else groups.set(modelId ?? alias.default, [index]);
  }
  if (groups.size > 1 && !areComparable([...groups.keys()])) {
    const [only, ...others] = new Set(detected.filter((modelId) => modelId !== null));
    return oneGroup(detections, only !== undefined && others.length === 0 ? only : alias.default);
  }
  return Array.from(groups, ([modelId, indexes]) => ({ modelId, indexes }));
}

function backendOf({ language }: Detection, alias: AliasSettings): string {
  return (language !== null && Object.hasOwn(alias, language) && alias[language]) || alias.default;
}

function oneGroup(items: readonly unknown[], modelId: string): readonly BackendGroup[] {
  return items.length === 0 ? [] : [{ modelId, indexes: items.map((_, index) => index) }];
}
