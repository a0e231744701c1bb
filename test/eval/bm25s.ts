/**
 * Baseline of `npm run eval -- search`: bm25s with the Snowball stemmer of the set's language, or with sequences of
 * characters. It needs Python with `pip install bm25s PyStemmer`; `EVAL_PYTHON` names the interpreter.
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { countScripts } from '../../src/language/scripts.ts';
import { languageOfText } from '../../src/language/text-language.ts';
import { readDocuments, SETS_DIR } from './judged-data.ts';

const SCRIPT = fileURLToPath(new URL('bm25s_baseline.py', import.meta.url));
const SAMPLE_DOCUMENTS = 50;
/** Length of character sequences by language: those that serve bm25s best. */
const GRAM_LENGTHS: Readonly<Record<string, number>> = { ko: 2, ja: 2, zh: 2, th: 3, lo: 3, km: 3, my: 3 };
const STEMMERS: Readonly<Record<string, string>> = {
  ...{ de: 'german', es: 'spanish', fr: 'french', it: 'italian', pt: 'portuguese', nl: 'dutch', sv: 'swedish' },
  ...{ da: 'danish', no: 'norwegian', fi: 'finnish', hu: 'hungarian', ro: 'romanian', tr: 'turkish' },
};

export interface Baseline {
  readonly analysis: string;
  readonly ndcg: number;
}

/** Measure bm25s on a set. Return the reason if it cannot run. */
export async function measureBm25s(set: string): Promise<Baseline | string> {
  const analysis = analysisOf(set);
  const python = process.env.EVAL_PYTHON ?? 'python3';
  try {
    const { stdout } = await promisify(execFile)(python, [SCRIPT, path.join(SETS_DIR, set), analysis]);
    return { analysis, ...(JSON.parse(stdout) as { ndcg: number }) };
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    const reason = (stderr || message).trim().split('\n').at(-1);
    return `${reason}; bm25s is optional: pip install bm25s PyStemmer`;
  }
}

function analysisOf(set: string): string {
  const sample = readDocuments(set)
    .slice(0, SAMPLE_DOCUMENTS)
    .map(({ text }) => text)
    .join('\n');
  const { language, letters, own } = countScripts(sample);
  const length = own > letters / 2 ? GRAM_LENGTHS[language ?? ''] : undefined;
  if (length !== undefined) return String(length);
  if ((sample.match(/\p{sc=Cyrillic}/gu)?.length ?? 0) > letters / 2) return 'russian';
  return STEMMERS[languageOfText(sample) ?? ''] ?? 'english';
}
