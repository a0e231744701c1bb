/**
 * Conjugation of Korean verbs and adjectives from their dictionary form, without a dictionary. The classes of irregular
 * verbs and the contractions are those of the Korean Orthography of the National Institute of Korean Language (한글 맞춤법,
 * https://korean.go.kr/kornorms): article 16 for vowel harmony, article 18 for the irregular classes, and articles 34
 * to 38 for contractions. A class with few members is a list; the other class follows the rule.
 */
import { finalOf, vowelOf, withFinal, withVowel } from './hangul.ts';

/** Forms of a verb that a text may have. */
export interface VerbForms {
  /** Forms that are rarely anything else. */
  readonly clear: readonly string[];
  /** Forms that are often nouns, such as 가면 (mask) from 가다. */
  readonly doubtful: readonly string[];
}

/** Forms of a stem before the endings that change it. */
interface Stems {
  /** Stem with 아 or 어, contracted: 마셔, 들어. */
  readonly linked: readonly string[];
  /** Stem with 았 or 었, contracted: 마셨, 들었. */
  readonly past: readonly string[];
  /** Stem with the endings ㄴ, ㄹ and ㅁ, or with 은, 을 and 음 after a consonant. */
  readonly adnominal: readonly string[];
  /** Stem in front of ㅂ니다, with that ㅂ; none after a consonant, where 습니다 changes nothing. */
  readonly polite: readonly string[];
  /** Stem in front of ㄴ다, with that ㄴ; none after a consonant. */
  readonly present: readonly string[];
  /** Stem in front of 면 and 니 where they change it. */
  readonly bare: readonly string[];
}

/** Nouns that end like a dictionary form. */
const NOUNS = new Set(
  list(`
    최다 과다 유다 바다 소다 수다 람다 혼다 요다 도다 마다 사이다 캐나다 베란다 아젠다 우간다 르완다 마쓰다 닌텐다 프라다 스코다 그라나다
    네바다 플로리다 도요다 이케다 후쿠다 하네다 밤바다 앞바다 겨울바다 동해바다 파고다 라마다 탄산소다
  `),
);
/** Final consonants that no stem of a dictionary form has. ㅆ is that of the past tense, and of 있다, a stop word. */
const NEVER_FINAL = new Set(list('ㅇ ㅋ ㄳ ㄽ ㅆ'));
/** Stems that end in ㄴ. Any other word in ㄴ다 is in the present tense: 간다, 마신다. */
const STEMS_IN_NIEUN = list('신 안 껴안 끌어안 얼싸안 갈아신');

// The lists below contain ends of stems: 잡 also stands for 붙잡.
/** Article 18, 5: ㄷ becomes ㄹ before a vowel. */
const CHANGING_DIGEUT = list('듣 걷 묻 싣 깨닫 긷 일컫 붇 눋');
/** Article 18, 5: of these pairs of verbs, one keeps its ㄷ. */
const ALSO_REGULAR_DIGEUT = list('걷 묻');
/** Article 18, 6: ㅂ stays in these, and becomes 우 in all others. */
const REGULAR_BIEUP = list('잡 입 씹 뽑 접 집 꼽 업 좁 수줍');
/** Article 18, 6: ㅂ becomes 오 before 아 in these. */
const ROUNDED_BIEUP = list('돕 곱');
/** Article 18, 2: ㅅ falls before a vowel. */
const FALLING_SIOT = list('짓 낫 붓 잇 긋 젓 잣');
/** Article 18, 3: ㅎ falls in adjectives, and stays in these and in all verbs of one syllable. */
const REGULAR_HIEUT = list('좋 놓 넣 낳 쌓 찧 빻 땋 닿');
/** Article 18, 4: stems in 르 that only lose their ㅡ. All others double the ㄹ (article 18, 9). */
const SINGLE_REU = list('따르 치르 들르 다다르 우러르');
/** Article 18, 8: 어 becomes 러. 이르다 also doubles its ㄹ, in another sense. */
const ADDED_REO = list('이르 푸르');

/** Endings that follow the linked form of one syllable: 가서, 와요. Others make nouns (파도, 나라). */
const AFTER_LINKED = list('서 요 야');
/** Endings after the past stem of one syllable that the analyser keeps. */
const AFTER_PAST = list('다 고 던 지 어 네 음');
/** Endings after a stem of one syllable that the analyser keeps. Many of these forms are nouns. */
const AFTER_STEM = list('고 면 며 니 기 지 게 던 자');

function list(words: string): string[] {
  return words.trim().split(/\s+/);
}

/**
 * Conjugate a word in the dictionary form. Return null for a word that cannot be one, such as a noun in 다, or a verb in
 * the present or past tense.
 */
export function inflectDictionaryForm(word: string): VerbForms | null {
  const stem = word.slice(0, -1);
  if (!/^[가-힣]+다$/.test(word) || NOUNS.has(word)) return null;
  const final = finalOf(stem);
  if (NEVER_FINAL.has(final)) return null;
  if (final === 'ㄴ' && !STEMS_IN_NIEUN.includes(stem)) return null;
  const stems = stemsOf(stem);
  return stem.length === 1 ? formsOfSyllable(stem, stems) : { clear: formsOfLongStem(stems), doubtful: [] };
}

/**
 * Conjugate the verb that a noun in ㅁ may come from: 끊김 from 끊기다. Only the forms with ㅕ are returned, since nouns
 * such as 크림 have none.
 */
export function inflectNominal(word: string): VerbForms | null {
  if (!/^[가-힣]{2,}$/.test(word) || finalOf(word) !== 'ㅁ' || vowelOf(word) !== 'ㅣ') return null;
  const linked = withVowel(withFinal(word, ''), 'ㅕ');
  return { clear: [], doubtful: [linked, withFinal(linked, 'ㅆ')] };
}

function formsOfLongStem({ linked, past, adnominal, polite, present, bare }: Stems): string[] {
  return [...linked, ...past.map((form) => `${form}다`), ...adnominal, ...polite, ...present, ...bare];
}

/** Add endings to a stem of one syllable, because the index has pairs of syllables. */
function formsOfSyllable(stem: string, stems: Stems): VerbForms {
  const isOpen = finalOf(stem) === '';
  const [short, long] = [
    stems.linked.filter((form) => form.length === 1),
    stems.linked.filter((form) => form.length > 1),
  ];
  const past = stems.past.flatMap((form) =>
    form.length > 1 ? [form, `${form}다`] : [form, ...AFTER_PAST.map((ending) => form + ending)],
  );
  return {
    clear: [
      ...short.flatMap((form) => AFTER_LINKED.map((ending) => form + ending)),
      ...past,
      ...stems.present.map((form) => `${form}다`),
      ...stems.polite.map((form) => `${form}니다`),
      ...(isOpen ? [] : [`${stem}는다`]),
    ],
    doubtful: [
      // 들어 of 듣다 also begins 들어오다.
      ...long,
      ...stems.adnominal,
      ...[stem, ...stems.bare].flatMap((form) => [`${form}는`, form]),
      ...AFTER_STEM.map((ending) => stem + ending),
    ],
  };
}

function stemsOf(stem: string): Stems {
  const before = stem.slice(0, -1);
  switch (finalOf(stem)) {
    case '':
      return openStems(stem);
    case 'ㄹ':
      return lielStems(stem);
    case 'ㄷ':
      if (!endsIn(stem, CHANGING_DIGEUT)) break;
      return merge([
        closedStems(withFinal(stem, 'ㄹ'), harmonyOf(stem)),
        ...(endsIn(stem, ALSO_REGULAR_DIGEUT) ? [closedStems(stem, harmonyOf(stem))] : []),
      ]);
    case 'ㅂ':
      return endsIn(stem, REGULAR_BIEUP) ? closedStems(stem, harmonyOf(stem)) : bieupStems(stem);
    case 'ㅅ':
      if (endsIn(stem, FALLING_SIOT)) return closedStems(withFinal(stem, ''), harmonyOf(stem));
      break;
    case 'ㅎ':
      if (before !== '' && !endsIn(stem, REGULAR_HIEUT)) return hieutStems(stem);
      break;
  }
  return closedStems(stem, harmonyOf(stem));
}

function endsIn(stem: string, ends: readonly string[]): boolean {
  return ends.some((end) => stem.endsWith(end));
}

/** Article 16: 아 follows ㅏ and ㅗ, and 어 follows the other vowels. */
function harmonyOf(stem: string): '아' | '어' {
  return 'ㅏㅑㅗ'.includes(vowelOf(stem)) ? '아' : '어';
}

/** Build the forms of a stem that ends in a consonant, or in a dropped consonant (지어 of 짓다). */
function closedStems(stem: string, vowel: '아' | '어'): Stems {
  return {
    linked: [stem + vowel],
    past: [stem + withFinal(vowel, 'ㅆ')],
    adnominal: [`${stem}은`, `${stem}을`, `${stem}음`],
    polite: [],
    present: [],
    bare: [`${stem}으`],
  };
}

/** Article 18, 1: ㄹ falls before ㄴ, ㅂ and 시. */
function lielStems(stem: string): Stems {
  const vowel = harmonyOf(stem);
  const open = withFinal(stem, '');
  return {
    linked: [stem + vowel],
    past: [stem + withFinal(vowel, 'ㅆ')],
    adnominal: [withFinal(stem, 'ㄴ'), withFinal(stem, 'ㄻ')],
    polite: [withFinal(stem, 'ㅂ')],
    present: [withFinal(stem, 'ㄴ')],
    bare: [open],
  };
}

function bieupStems(stem: string): Stems {
  const open = withFinal(stem, '');
  const linked = ROUNDED_BIEUP.includes(stem) ? '와' : '워';
  return {
    linked: [open + linked],
    past: [open + withFinal(linked, 'ㅆ')],
    adnominal: [`${open}운`, `${open}울`, `${open}움`],
    polite: [],
    present: [],
    bare: [`${open}우`],
  };
}

function hieutStems(stem: string): Stems {
  const open = withFinal(stem, '');
  const linkedVowels: Record<string, string[]> = { ㅏ: ['ㅐ'], ㅑ: ['ㅒ'], ㅓ: ['ㅔ', 'ㅐ'], ㅕ: ['ㅖ'] };
  const linked = (linkedVowels[vowelOf(open)] ?? []).map((vowel) => withVowel(open, vowel));
  return { ...nasalStems(open), linked, past: linked.map((form) => withFinal(form, 'ㅆ')), bare: [open] };
}

function openStems(stem: string): Stems {
  const linked = linkOpen(stem);
  const past = linked.map((form) => withFinal(form, 'ㅆ'));
  return { ...nasalStems(stem), linked, past, bare: [] };
}

/** Add the endings that are one consonant to a stem that ends in a vowel. */
function nasalStems(open: string): Pick<Stems, 'adnominal' | 'polite' | 'present'> {
  return {
    adnominal: [withFinal(open, 'ㄴ'), withFinal(open, 'ㄹ'), withFinal(open, 'ㅁ')],
    polite: [withFinal(open, 'ㅂ')],
    present: [withFinal(open, 'ㄴ')],
  };
}

/** Join 아 or 어 to a stem that ends in a vowel. Return both forms if the contraction is optional. */
function linkOpen(stem: string): string[] {
  const before = stem.slice(0, -1);
  // Article 18, 7: 하다 takes 여. Article 34: 하여 becomes 해.
  if (stem.endsWith('하')) return [`${before}해`, `${before}하여`];
  // Article 18, 4: 푸다 loses its ㅜ.
  if (stem === '푸') return ['퍼'];
  if (stem.endsWith('르') && before !== '' && !endsIn(stem, SINGLE_REU)) {
    const doubled = withFinal(before, 'ㄹ') + (harmonyOf(before) === '아' ? '라' : '러');
    if (!endsIn(stem, ADDED_REO)) return [doubled];
    return stem.endsWith('푸르') ? [`${stem}러`] : [`${stem}러`, doubled];
  }
  switch (vowelOf(stem)) {
    // Article 34: equal vowels merge. Article 34, appendix 1: 어 merges with ㅐ and ㅔ.
    case 'ㅏ':
    case 'ㅓ':
    case 'ㅐ':
    case 'ㅔ':
    case 'ㅕ':
      return [stem];
    // Article 35: ㅗ and ㅜ form ㅘ and ㅝ.
    case 'ㅗ':
      return [withVowel(stem, 'ㅘ'), `${stem}아`];
    case 'ㅜ':
      return [withVowel(stem, 'ㅝ'), `${stem}어`];
    // Article 35, appendix 2: ㅚ with 어 forms ㅙ.
    case 'ㅚ':
      return [withVowel(stem, 'ㅙ'), `${stem}어`];
    // Article 36: ㅣ with 어 forms ㅕ.
    case 'ㅣ':
      return [withVowel(stem, 'ㅕ'), `${stem}어`];
    // Article 18, 4: ㅡ falls. The vowel before it decides.
    case 'ㅡ':
      return [withVowel(stem, before !== '' && harmonyOf(before) === '아' ? 'ㅏ' : 'ㅓ')];
    default:
      return [`${stem}어`];
  }
}

function merge(all: readonly Stems[]): Stems {
  const join = (key: keyof Stems) => all.flatMap((stems) => stems[key]);
  return {
    linked: join('linked'),
    past: join('past'),
    adnominal: join('adnominal'),
    polite: join('polite'),
    present: join('present'),
    bare: join('bare'),
  };
}
