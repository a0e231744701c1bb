/** Inflection of the English words of the calibration corpus: of those, not of English at large. */

const IRREGULAR_PLURALS = new Map(
  Object.entries({
    analysis: 'analyses',
    axis: 'axes',
    bacterium: 'bacteria',
    calf: 'calves',
    child: 'children',
    criterion: 'criteria',
    crisis: 'crises',
    foot: 'feet',
    goose: 'geese',
    half: 'halves',
    hypothesis: 'hypotheses',
    knife: 'knives',
    leaf: 'leaves',
    life: 'lives',
    loaf: 'loaves',
    man: 'men',
    mitochondrion: 'mitochondria',
    mouse: 'mice',
    nucleus: 'nuclei',
    person: 'people',
    phenomenon: 'phenomena',
    salmon: 'salmon',
    scarf: 'scarves',
    series: 'series',
    sheep: 'sheep',
    shelf: 'shelves',
    species: 'species',
    spacecraft: 'spacecraft',
    stimulus: 'stimuli',
    thesis: 'theses',
    tooth: 'teeth',
    wife: 'wives',
    wolf: 'wolves',
    woman: 'women',
  }),
);

/** Past and, where it differs, past participle. */
const IRREGULAR_VERBS = new Map(
  list(`
    be was been, become became become, begin began begun, bend bent, bind bound, bite bit bitten, bleed bled, blow blew blown,
    break broke broken, breed bred, bring brought, broadcast broadcast, build built, buy bought, cast cast, catch caught,
    choose chose chosen, cut cut, deal dealt, dig dug, do did done, draw drew drawn, drink drank drunk, drive drove driven,
    eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found, fly flew flown, forget forgot forgotten,
    forgive forgave forgiven, freeze froze frozen, get got, give gave given, go went gone, grind ground, grow grew grown,
    have had, hear heard, hide hid hidden, hit hit, hold held, keep kept, know knew known, lay laid, lead led, leave left,
    lend lent, let let, lose lost, make made, mean meant, meet met, outgrow outgrew outgrown, overcome overcame overcome,
    overthrow overthrew overthrown, pay paid, put put, read read, rebuild rebuilt, reset reset, ride rode ridden,
    ring rang rung, rise rose risen, run ran run, say said, see saw seen, seek sought, sell sold, send sent, set set,
    shake shook shaken, shed shed, shoot shot, show showed shown, shut shut, sing sang sung, sink sank sunk, sit sat,
    sow sowed sown, speak spoke spoken, spend spent, spin spun, split split, spread spread, stand stood, steal stole stolen,
    stick stuck, strike struck, sweep swept, swim swam swum, swing swung, take took taken, teach taught, tell told,
    think thought, throw threw thrown, understand understood, undo undid undone, win won, withdraw withdrew withdrawn,
    withhold withheld, write wrote written, rewrite rewrote rewritten
  `).map((line) => {
    const [base = '', past = '', participle = past] = line.split(' ');
    return [base, { past, participle }] as const;
  }),
);

/** Verbs of more than one syllable whose last consonant doubles, and `e`s that stay. */
const DOUBLING = new Set(
  list(
    'admit, commit, compel, control, defer, deter, dispel, emit, equip, expel, forget, format, infer, omit, outrun, permit, prefer, ' +
      'propel, rebut, recap, refer, regret, reset, rerun, submit, transfer, transmit, unplug, unzip, upset, program, cancel, label, travel, model',
  ),
);

/** Words whose first letter and first sound disagree. */
const VOWEL_SOUND =
  /^(?:hour|honest|honour|heir|MR[A-Z]|LED|NGO|SLA|SMS|SQL|SSH|X-ray|XML|HTTP|HTML|FAQ|RNA|LPG|LNG|MP|HR|8|11\b|18\b)/;
const CONSONANT_SOUND = /^(?:uni(?!n)|us(?:e|u)|ut[ie]|eu|ewe|one\b|once|ura|URL|USB|UV|uranium)/i;

const VOWELS = 'aeiou';

/** Splits a list of words at its commas. */
export function list(words: string): string[] {
  return words
    .split(',')
    .map((word) => word.replace(/\s+/g, ' ').trim())
    .filter((word) => word !== '');
}

/** Plural of the last word of a noun phrase, or of the one before `of`: `bill of lading` -> `bills of lading`. */
export function pluralOf(phrase: string): string {
  const at = phrase.indexOf(' of ');
  if (at > 0) return pluralOf(phrase.slice(0, at)) + phrase.slice(at);
  const start = phrase.lastIndexOf(' ') + 1;
  const word = phrase.slice(start);
  return phrase.slice(0, start) + (IRREGULAR_PLURALS.get(word) ?? sibilant(word));
}

/** `-s` of plurals and of the third person. */
function sibilant(word: string): string {
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`;
  if (/[^aeiou]o$/.test(word) && /(?:potato|tomato|hero|echo|cargo|veto|go|do|undo|embargo)$/.test(word))
    return `${word}es`;
  return /(?:s|x|z|ch|sh)$/.test(word) ? `${word}es` : `${word}s`;
}

/** Applies `inflect` to the first word: phrases such as `check in a suitcase` begin with their verb. */
function onVerb(phrase: string, inflect: (verb: string) => string): string {
  const end = phrase.indexOf(' ');
  return end < 0 ? inflect(phrase) : inflect(phrase.slice(0, end)) + phrase.slice(end);
}

export function pastOf(phrase: string): string {
  return onVerb(phrase, (verb) => IRREGULAR_VERBS.get(verb)?.past ?? regularPast(verb));
}

export function participleOf(phrase: string): string {
  return onVerb(phrase, (verb) => IRREGULAR_VERBS.get(verb)?.participle ?? regularPast(verb));
}

export function gerundOf(phrase: string): string {
  return onVerb(phrase, (verb) => {
    if (/ie$/.test(verb)) return `${verb.slice(0, -2)}ying`;
    if (/[^eoy]e$/.test(verb) && verb !== 'be') return `${verb.slice(0, -1)}ing`;
    return `${doubled(verb)}ing`;
  });
}

function regularPast(verb: string): string {
  if (verb.endsWith('e')) return `${verb}d`;
  if (/[^aeiou]y$/.test(verb)) return `${verb.slice(0, -1)}ied`;
  return `${doubled(verb)}ed`;
}

function doubled(verb: string): string {
  const last = verb.charAt(verb.length - 1);
  const oneSyllable = /^[^aeiou]*(?:qu)?[aeiou][bdfgklmnprtvz]$/.test(verb);
  return oneSyllable || DOUBLING.has(verb) ? verb + last : verb;
}

/** `a` or `an`, by the sound that the following words begin with. */
export function articleOf(following: string): 'a' | 'an' {
  if (VOWEL_SOUND.test(following)) return 'an';
  if (CONSONANT_SOUND.test(following)) return 'a';
  return VOWELS.includes(following.charAt(0).toLowerCase()) ? 'an' : 'a';
}

/** `boarding pass` -> words of an identifier, lower case. */
function identifierWords(phrase: string): string[] {
  return phrase.toLowerCase().match(/[a-z0-9]+/g) ?? ['value'];
}

export function snakeCase(phrase: string): string {
  return identifierWords(phrase).join('_');
}

export function kebabCase(phrase: string): string {
  return identifierWords(phrase).join('-');
}

export function pascalCase(phrase: string): string {
  return identifierWords(phrase)
    .map((word) => capitalised(word))
    .join('');
}

export function camelCase(phrase: string): string {
  const name = pascalCase(phrase);
  return name.charAt(0).toLowerCase() + name.slice(1);
}

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const SMALL_WORDS = new Set('a an the of in on at to for and or with from by over into per as'.split(' '));

/** Capitals as in a book title. */
export function titleCase(text: string): string {
  return text
    .split(' ')
    .map((word, at) => (at > 0 && SMALL_WORDS.has(word) ? word : capitalised(word)))
    .join(' ');
}
