import { z } from 'zod';
import { analyseQueryText } from '../../language/analyser.ts';

export const GROUPS_MAX = 1_000;
const GROUP_SIZE_MAX = 20;
const PHRASE_CHARS_MAX = 100;
/** Maximum number of terms per phrase. The analyser splits a Korean word into several terms. */
const PHRASE_TERMS_MAX = 16;
/** Maximum number of phrases per bucket. */
const PHRASES_MAX = 5_000;

const Phrase = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(PHRASE_CHARS_MAX)
  .superRefine((phrase, context) => {
    const { length } = analyseQueryText(phrase);
    if (length > 0 && length <= PHRASE_TERMS_MAX) return;
    const fault = length === 0 ? 'has no word that a search looks for' : 'has too many words';
    context.addIssue({ code: 'custom', message: `"${phrase}" ${fault}` });
  });

const Group = z
  .array(Phrase)
  .min(2, 'must have at least two words or phrases')
  .max(GROUP_SIZE_MAX)
  .refine((phrases) => new Set(phrases.map((phrase) => analyseQueryText(phrase).join(' '))).size === phrases.length, {
    message: 'has two forms of one word, which searches do not distinguish; remove one',
  });

/** Body of `PUT /v1/buckets/{bucket}/synonyms`. */
export const SynonymsEdit = z.object({
  groups: z
    .array(Group)
    .max(GROUPS_MAX)
    .refine((groups) => groups.reduce((sum, { length }) => sum + length, 0) <= PHRASES_MAX, {
      message: `must not have more than ${PHRASES_MAX} words and phrases altogether`,
    })
    .describe('lists of words and phrases that mean the same; an empty list removes all synonyms'),
});
export type SynonymsEdit = z.output<typeof SynonymsEdit>;

/** Synonyms of a bucket. */
export const SynonymsView = z
  .object({
    bucket_id: z.string(),
    groups: z.array(z.array(z.string())),
    updated_at: z.string().nullable().describe('null: the bucket has none'),
  })
  .meta({ id: 'BucketSynonyms' });
export type SynonymsView = z.output<typeof SynonymsView>;
