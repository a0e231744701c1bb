/**
 * Maps between real models, fitted on the built-in corpus as automatic calibration does. Identity recall and judged
 * queries show what a search across two models loses. Python computes the vectors (`embed_texts.py`), in a temporary
 * virtual environment with the versions of `requirements.txt`. These environment variables save time:
 *
 * - `EVAL_PYTHON`: an interpreter that has the packages
 * - `EVAL_VECTORS`: a folder that keeps the vectors between runs
 * - `EVAL_CORPUS`: another corpus file to measure, of the same format as the built-in one
 * - `EVAL_TEXTS`: the number of texts to fit maps on, instead of the default of automatic calibration
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { CalibrationText } from '../../../src/projection/calibration.ts';
import { readCalibrationCorpus } from '../../../src/projection/corpus/calibration-corpus.ts';
import { createSpace, mapOfReference } from '../../../src/projection/fit/create-space.ts';
import { fitMap } from '../../../src/projection/fit/fit-map.ts';
import { rankOf, topK, visitSimilarities } from '../../../src/projection/fit/neighbours.ts';
import { type FittedMap, projectRows } from '../../../src/projection/fit/project-rows.ts';
import { shuffledIndices } from '../../../src/projection/fit/split-pairs.ts';
import { INDEX_DIMENSIONS } from '../../../src/projection/resize.ts';
import { ndcgAt } from '../../../src/projection/retrieval-metrics.ts';
import { openPython } from '../../support/open-python.ts';
import { readDocuments, readQueries, readRelevant, SETS_DIR, setsAtHand } from '../judged-data.ts';
import { readNpy, type Vectors } from '../paired-vectors.ts';

const MODELS = ['use', 'e5', 'minilm'] as const;
type ModelName = (typeof MODELS)[number];

/** The model with the most dimensions defines the space, as in automatic calibration. */
const REFERENCE: ModelName = 'use';
/** 36 passages of house rules, manuals and advice, and a question to each, written for this evaluation. */
const EVERYDAY_KOREAN = 'everyday-ko';
const SETS: readonly { readonly name: string; readonly models: readonly ModelName[] }[] = [
  { name: EVERYDAY_KOREAN, models: ['use', 'e5'] },
  { name: 'korquad-a', models: ['use', 'e5'] },
  { name: 'cosqa-3000', models: MODELS },
];
const QUERIES_MAX = 300;
const DOCUMENTS_MAX = 500;
const DEPTH = 10;
/** Texts that automatic calibration embeds by default (`projections.auto.texts_max`). */
const TEXTS_DEFAULT = 2000;
const SAMPLE_SEED = 1;

interface JudgedSet {
  readonly documents: readonly (CalibrationText & { readonly id: string })[];
  readonly queries: readonly (CalibrationText & { readonly id: string })[];
  readonly relevant: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Vectors of the documents and queries of a set by one model. */
interface Side {
  readonly documents: Float32Array;
  readonly queries: Float32Array;
  readonly columns: number;
}

type Embed = (model: ModelName, texts: readonly CalibrationText[]) => Vectors;

export async function evaluateRealModels(): Promise<void> {
  const known = [EVERYDAY_KOREAN, ...setsAtHand()];
  const directory = mkdtempSync(path.join(tmpdir(), 'eval-projections-'));
  try {
    const python = process.env['EVAL_PYTHON'] ?? openPython(directory, scriptPath('requirements.txt'));
    if (python === null) return;
    const embed = openEmbed(python, directory);
    const texts = calibrationTexts();
    const maps = fitMaps(texts, embed);
    console.log(
      `\nreal models, maps of ${texts.length} texts of ${process.env['EVAL_CORPUS'] ?? 'the built-in corpus'}`,
    );
    console.log('identity: recall@1 of documents and of queries, in the worse direction');
    console.log(
      'judged: nDCG@10; own of A and of B, A asks in documents of B (share of own of B), B asks in those of A\n',
    );
    console.log('set         A       B        identity docs  queries  judged own A      B        A in B        B in A');
    for (const { name, models } of SETS) {
      if (known.includes(name)) reportSet(name, models, maps, embed);
      else console.log(`${name.padEnd(11)} skipped: the set is missing in ${SETS_DIR}`);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function scriptPath(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

/** Return a function that embeds texts by a model, or reads their vectors if the folder of vectors has them. */
function openEmbed(python: string, directory: string): Embed {
  const kept = process.env['EVAL_VECTORS'] ?? directory;
  mkdirSync(kept, { recursive: true });
  return (model, texts) => {
    const lines = texts.map(({ text, kind }) => JSON.stringify({ text, kind })).join('\n');
    const hash = createHash('sha256').update(lines).digest('hex').slice(0, 16);
    const target = path.join(kept, `${model}-${hash}.npy`);
    if (!existsSync(target)) {
      const source = path.join(directory, `${hash}.jsonl`);
      writeFileSync(source, `${lines}\n`);
      const { status, stderr } = spawnSync(python, [scriptPath('embed_texts.py'), model, source, target], {
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(`${model} did not embed the texts: ${stderr}`);
    }
    return readNpy(pathToFileURL(target));
  };
}

/** Return the texts that automatic calibration chooses with its default settings. */
function calibrationTexts(): CalibrationText[] {
  const file = process.env['EVAL_CORPUS'];
  const corpus: readonly CalibrationText[] = file
    ? readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as CalibrationText)
    : readCalibrationCorpus();
  return corpus.slice(0, Number(process.env['EVAL_TEXTS'] ?? TEXTS_DEFAULT));
}

function fitMaps(texts: readonly CalibrationText[], embed: Embed): ReadonlyMap<ModelName, FittedMap> {
  const reference = embed(REFERENCE, texts);
  const space = createSpace({ vectors: reference.values, nativeDimension: reference.columns });
  const { corpus: canonical, rank } = space;
  return new Map(
    MODELS.map((name) => {
      if (name === REFERENCE) return [name, mapOfReference(space)];
      const { values, columns } = embed(name, texts);
      return [name, fitMap({ vectors: values, nativeDimension: columns, canonical, rank })];
    }),
  );
}

function reportSet(
  name: string,
  models: readonly ModelName[],
  maps: ReadonlyMap<ModelName, FittedMap>,
  embed: Embed,
): void {
  const set = name === EVERYDAY_KOREAN ? readEverydayKorean() : sampleSet(name);
  const sides = models.map((model) => {
    const [documents, queries] = [embed(model, set.documents), embed(model, set.queries)];
    const map = maps.get(model) as FittedMap;
    const project = ({ values }: Vectors) => projectRows(map, values, INDEX_DIMENSIONS);
    const native = { documents: documents.values, queries: queries.values, columns: documents.columns };
    const canonical = { documents: project(documents), queries: project(queries), columns: INDEX_DIMENSIONS };
    return { model, canonical, own: judge(native, native, set) };
  });
  for (const [at, a] of sides.entries()) {
    for (const b of sides.slice(at + 1)) {
      const share = (score: number, own: number) => `${score.toFixed(3)} (${Math.round((100 * score) / own)} %)`;
      const cells = [
        name.padEnd(11),
        a.model.padEnd(7),
        b.model.padEnd(8),
        identity(a.canonical.documents, b.canonical.documents).toFixed(3).padStart(13),
        identity(a.canonical.queries, b.canonical.queries).toFixed(3).padStart(8),
        a.own.toFixed(3).padStart(13),
        b.own.toFixed(3).padStart(7),
        share(judge(a.canonical, b.canonical, set), b.own).padStart(13),
        share(judge(b.canonical, a.canonical, set), a.own).padStart(13),
      ];
      console.log(cells.join(' '));
    }
  }
}

function readEverydayKorean(): JudgedSet {
  const lines = readFileSync(new URL('everyday-korean.jsonl', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
  const pairs = lines.map((line) => JSON.parse(line) as { passage: string; query: string });
  return {
    documents: pairs.map(({ passage }, at) => ({ id: String(at), text: passage, kind: 'passage' })),
    queries: pairs.map(({ query }, at) => ({ id: String(at), text: query, kind: 'query' })),
    relevant: new Map(pairs.map((_, at) => [String(at), new Set([String(at)])])),
  };
}

/** Take some queries of a set, the documents that answer them, and others up to the limit. */
function sampleSet(name: string): JudgedSet {
  const relevant = readRelevant(name);
  const asked = readQueries(name).filter(({ id }) => relevant.has(id));
  const queries = pick(asked, QUERIES_MAX).map(({ id, text }) => ({ id, text, kind: 'query' as const }));
  const answers = new Set(queries.flatMap(({ id }) => [...(relevant.get(id) ?? [])]));
  const all = readDocuments(name).map(({ id, title, text }) => ({
    id,
    text: title ? `${title}\n${text}` : text,
    kind: 'passage' as const,
  }));
  const others = pick(
    all.filter(({ id }) => !answers.has(id)),
    Math.max(0, DOCUMENTS_MAX - answers.size),
  );
  return { documents: [...all.filter(({ id }) => answers.has(id)), ...others], queries, relevant };
}

function pick<T>(all: readonly T[], max: number): T[] {
  if (all.length <= max) return [...all];
  return [...shuffledIndices(all.length, SAMPLE_SEED).subarray(0, max).toSorted()].map((index) => all[index] as T);
}

/** Compute identity recall@1, in the worse direction. */
function identity(a: Float32Array, b: Float32Array): number {
  const oneWay = (queries: Float32Array, documents: Float32Array) => {
    let first = 0;
    visitSimilarities(queries, documents, INDEX_DIMENSIONS, (query, similarities) => {
      if (rankOf(similarities, query) === 0) first++;
    });
    return first / (queries.length / INDEX_DIMENSIONS);
  };
  return Math.min(oneWay(a, b), oneWay(b, a));
}

/** Compute mean nDCG@10 of the queries of one side in the documents of the other. */
function judge(asking: Side, searched: Side, { documents, queries, relevant }: JudgedSet): number {
  let sum = 0;
  visitSimilarities(asking.queries, searched.documents, searched.columns, (query, similarities) => {
    const ranked = [...topK(similarities, DEPTH, -1)].map((row) => documents[row]?.id ?? '');
    sum += ndcgAt(ranked, relevant.get(queries[query]?.id ?? '') ?? new Set(), DEPTH);
  });
  return sum / queries.length;
}
