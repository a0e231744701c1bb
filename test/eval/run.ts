/** Runner of evaluations, `npm run eval -- NAME…`. They need data beside the checkout. */
import { evaluateAnswers } from './answers/evaluate.ts';
import { evaluateAssistant } from './assistant/evaluate.ts';
import { evaluateCorpus } from './corpus.ts';
import { evaluateDocuments } from './documents/evaluate.ts';
import { evaluateLanguages } from './languages.ts';
import { evaluateWeights } from './leg-weights.ts';
import { evaluateOldIndexes } from './old-indexes.ts';
import { evaluateOutputTypes } from './output-types.ts';
import { evaluateProjections } from './projections.ts';
import { evaluateRelevance } from './relevance/evaluate.ts';
import { evaluateSearch } from './search.ts';
import { evaluateStatements } from './statements.ts';

const evaluations: Record<string, () => Promise<void>> = {
  search: evaluateSearch,
  weights: evaluateWeights,
  languages: evaluateLanguages,
  relevance: evaluateRelevance,
  projections: evaluateProjections,
  'output-types': evaluateOutputTypes,
  'old-indexes': evaluateOldIndexes,
  corpus: evaluateCorpus,
  statements: evaluateStatements,
  documents: evaluateDocuments,
  assistant: evaluateAssistant,
  answers: evaluateAnswers,
};
const names = process.argv.slice(2);
for (const name of names.length > 0 ? names : Object.keys(evaluations)) {
  const evaluate = evaluations[name];
  if (!evaluate) {
    console.error(`There is no evaluation "${name}". Choose among: ${Object.keys(evaluations).join(', ')}.`);
    process.exit(2);
  }
  await evaluate();
}
