import { type Detection, detectByScript, detectLanguage } from '../language/detect-language.ts';
import { SCRIPT_LANGUAGES } from '../language/scripts.ts';

/** Which model the alias stands for, by language (ISO 639-1), and where none of these is found. */
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
 * Which model embeds which text: the one of its language, else the default. A text too short to tell goes with the rest
 * of its batch where that has one backend, else to the default. A batch for several backends is split only where their
 * vectors are comparable; else all of it goes to the default.
 *
 * @param areComparable whether vectors of these models, two at least, live in one space
 * @returns groups in order of first appearance, every position exactly once; a promise only while the detector is not
 *   loaded, and only where the alias names a language that shares its script (see `needsLanguageDetector`)
 */
export function chooseBackends(
  texts: readonly string[],
  alias: AliasSettings,
  areComparable: (modelIds: readonly string[]) => boolean,
): readonly BackendGroup[] | Promise<readonly BackendGroup[]> {
  if (Object.values(alias).every((modelId) => modelId === alias.default)) return oneGroup(texts, alias.default);
  const detect = needsLanguageDetector(alias) ? detectLanguage : detectByScript;
  const detections = texts.map((text) => detect(text));
  if (detections.every(isDone)) return group(detections, alias, areComparable);
  return Promise.all(detections).then((all) => group(all, alias, areComparable));
}

/**
 * Whether the words of a text decide between backends, as between English and French. Script alone tells Korean,
 * Japanese or Chinese from each other and from the rest, at no cost in memory.
 */
export function needsLanguageDetector(alias: AliasSettings): boolean {
  return Object.keys(alias).some((key) => key !== 'default' && !SCRIPT_LANGUAGES.has(key));
}

function isDone(detection: Detection | Promise<Detection>): detection is Detection {
  return !(detection instanceof Promise);
}

function group(
  detections: readonly Detection[],
  alias: AliasSettings,
  areComparable: (modelIds: readonly string[]) => boolean,
): readonly BackendGroup[] {
  const told = detections.map((detection) => (detection.reliable ? backendOf(detection, alias) : null));
  const toldBackends = new Set(told.filter((modelId) => modelId !== null));
  const [only] = toldBackends;
  const unsure = only !== undefined && toldBackends.size === 1 ? only : alias.default;
  const groups = new Map<string, number[]>();
  for (const [index, modelId] of told.entries()) {
    const indexes = groups.get(modelId ?? unsure);
    if (indexes) indexes.push(index);
    else groups.set(modelId ?? unsure, [index]);
  }
  if (groups.size > 1 && !areComparable([...groups.keys()])) return oneGroup(detections, alias.default);
  return Array.from(groups, ([modelId, indexes]) => ({ modelId, indexes }));
}

function backendOf({ language }: Detection, alias: AliasSettings): string {
  return (language !== null && Object.hasOwn(alias, language) && alias[language]) || alias.default;
}

function oneGroup(items: readonly unknown[], modelId: string): readonly BackendGroup[] {
  return items.length === 0 ? [] : [{ modelId, indexes: items.map((_, index) => index) }];
}
