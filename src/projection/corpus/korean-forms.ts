/**
 * Particles and verb endings of the Korean half of the calibration corpus. Their form depends on sounds, not on
 * meanings.
 */

const HANGUL_FIRST = 0xac00;
const HANGUL_LAST = 0xd7a3;
const FINALS = 28;
const NONE = 0;
const FINAL_GIYEOK = 1;
const FINAL_NIEUN = 4;
const FINAL_DIGEUT = 7;
const FINAL_RIEUL = 8;
const FINAL_RIEUL_MIEUM = 10;
const FINAL_MIEUM = 16;
const FINAL_BIEUP = 17;
const FINAL_SIOT = 19;
const FINAL_SSANG_SIOT = 20;
const FINAL_IEUNG = 21;

/** Finals of the digits as they are read: 영(십, 백, 천), 일, 이, 삼, 사, 오, 육, 칠, 팔, 구. */
const DIGIT_FINALS = [
  FINAL_IEUNG,
  FINAL_RIEUL,
  NONE,
  FINAL_MIEUM,
  NONE,
  NONE,
  FINAL_GIYEOK,
  FINAL_RIEUL,
  FINAL_RIEUL,
  NONE,
];
/** Finals of Latin capitals, which are read one by one. Only these names end in a consonant: 엘, 엠, 엔, 알. */
const LETTER_FINALS = new Map([
  ['L', FINAL_RIEUL],
  ['M', FINAL_MIEUM],
  ['N', FINAL_NIEUN],
  ['R', FINAL_RIEUL],
]);

/** Forms of the particles after a final consonant and after a vowel. `으로` treats ㄹ as a vowel. */
const PARTICLES = new Map<string, readonly [afterConsonant: string, afterVowel: string]>([
  ['은', ['은', '는']],
  ['이', ['이', '가']],
  ['을', ['을', '를']],
  ['과', ['과', '와']],
  ['으로', ['으로', '로']],
  ['이나', ['이나', '나']],
  ['이라', ['이라', '라']],
  ['이란', ['이란', '란']],
  ['이다', ['이다', '다']],
  ['이며', ['이며', '며']],
  ['이고', ['이고', '고']],
  ['이었다', ['이었다', '였다']],
  ['이에요', ['이에요', '예요']],
  ['아', ['아', '야']],
]);

export const PARTICLE_NAMES: readonly string[] = [...PARTICLES.keys()];

/**
 * Return the index of the final consonant of the last sound of a text (0 for none); quotation marks and brackets are
 * skipped.
 */
export function finalOf(text: string): number {
  for (let at = text.length - 1; at >= 0; at--) {
    const character = text.charAt(at);
    const code = text.charCodeAt(at);
    if (code >= HANGUL_FIRST && code <= HANGUL_LAST) return (code - HANGUL_FIRST) % FINALS;
    if (character >= '0' && character <= '9') return DIGIT_FINALS[Number(character)] as number;
    if (/[A-Za-z]/.test(character)) return LETTER_FINALS.get(character.toUpperCase()) ?? NONE;
    if (character === '%') return NONE;
  }
  return NONE;
}

/**
 * Return the form of a particle after a text.
 *
 * @param name one of `PARTICLE_NAMES`: its form after a consonant
 */
export function particleAfter(text: string, name: string): string {
  const forms = PARTICLES.get(name);
  if (!forms) throw new RangeError(`no particle "${name}"`);
  const final = finalOf(text);
  if (name === '으로' && final === FINAL_RIEUL) return forms[1];
  return final === NONE ? forms[1] : forms[0];
}

/** Predicate by its stem (`먹`, `갱신하`, `가깝`) and its 아/어 form (`먹어`, `갱신해`, `가까워`), which determine all other forms. */
interface Predicate {
  readonly stem: string;
  readonly linked: string;
  /** Stem before endings in 으: `먹으`, `갱신하`, `가까우`, `걸으`; stems in ㄹ are unchanged. */
  readonly open: string;
}

/** Parse an entry of a list: `여권을 갱신` (with 하다), or stem and 아/어 form with a slash: `표를 끊/끊어`. */
function predicateOf(entry: string): Predicate {
  const slash = entry.indexOf('/');
  if (slash < 0) return { stem: `${entry}하`, linked: `${entry}해`, open: `${entry}하` };
  const stem = entry.slice(0, slash);
  const start = stem.lastIndexOf(' ') + 1;
  const linked = stem.slice(0, start) + entry.slice(slash + 1);
  return { stem, linked, open: openStem(stem, linked) };
}

function openStem(stem: string, linked: string): string {
  const final = finalOf(stem);
  if (final === NONE || final === FINAL_RIEUL) return stem;
  const regular = linked.startsWith(stem);
  if (final === FINAL_BIEUP && !regular) return `${withFinal(stem, NONE)}우`;
  if ((final === FINAL_DIGEUT || final === FINAL_SIOT) && !regular) return `${linked.slice(0, -1)}으`;
  return `${stem}으`;
}

/** Replace the final consonant of the last syllable. */
function withFinal(text: string, final: number): string {
  const code = text.charCodeAt(text.length - 1) - HANGUL_FIRST;
  return text.slice(0, -1) + String.fromCharCode(HANGUL_FIRST + code - (code % FINALS) + final);
}

/** Remove the ㄹ of a stem, as before endings in ㄴ, ㅂ and ㅅ. */
function withoutRieul(stem: string): string {
  return finalOf(stem) === FINAL_RIEUL ? withFinal(stem, NONE) : stem;
}

/** Endings that are appended to the stem. */
const AFTER_STEM = new Set('다 고 지 지만 지는 기 기로 게 도록 겠다'.split(' '));
/** Endings that adjectives append to the stem and verbs to another form. */
const AFTER_ADJECTIVE_STEM = new Set('다고 다는 다면'.split(' '));
/** Endings before which a final ㄹ is dropped. */
const AFTER_SHORT_STEM = new Set('는 네요 느니 나요'.split(' '));
/** Endings that need a vowel, ㄹ or 으 before them. */
const AFTER_OPEN_STEM = new Set('면 면서 려고 려면'.split(' '));
/** Final consonants that endings add to the open stem. */
const FINALS_OF_ENDINGS = new Map([
  ['ㄴ', FINAL_NIEUN],
  ['ㄹ', FINAL_RIEUL],
  ['ㅁ', FINAL_MIEUM],
]);
/** Endings that begin with 아 or 어, with the part after it. */
const AFTER_LINKED = new Map([
  ['어', ''],
  ['서', '서'],
  ['어서', '서'],
  ['어서요', '서요'],
  ['야', '야'],
  ['도', '도'],
]);

/** Return the form with an ending, or null if verbs and adjectives differ. */
function sharedForm({ stem, linked, open }: Predicate, ending: string): string | null {
  if (ending.startsWith('었')) return withFinal(linked, FINAL_SSANG_SIOT) + ending.slice(1);
  if (AFTER_STEM.has(ending)) return stem + ending;
  if (AFTER_SHORT_STEM.has(ending)) return withoutRieul(stem) + ending;
  if (AFTER_OPEN_STEM.has(ending)) return open + ending;
  const rest = AFTER_LINKED.get(ending);
  if (rest !== undefined) return linked + rest;
  // The copula has a form of its own: 이에요, 예요.
  if (ending === '어요')
    return `${linked.replace(/이어$/, '이에').replace(/여$/, stem.endsWith('이') ? '예' : '여')}요`;
  if (ending === '습니다') {
    const short = withoutRieul(stem);
    return finalOf(short) === NONE ? `${withFinal(short, FINAL_BIEUP)}니다` : `${short}습니다`;
  }
  const final = FINALS_OF_ENDINGS.get(ending);
  if (final === undefined) return null;
  if (final === FINAL_MIEUM && finalOf(open) === FINAL_RIEUL) return withFinal(open, FINAL_RIEUL_MIEUM);
  return withFinal(open, final);
}

/**
 * Return a form of a verb phrase.
 *
 * @param ending the ending after 먹: `는다`, `었다`, `려면`, …; `ㄴ` is the past before a noun, `는` the present
 * @throws RangeError for an ending that the templates do not use
 */
export function verbForm(entry: string, ending: string): string {
  const predicate = predicateOf(entry);
  if (ending === '는다') {
    const short = withoutRieul(predicate.stem);
    return finalOf(short) === NONE ? `${withFinal(short, FINAL_NIEUN)}다` : `${short}는다`;
  }
  return required(sharedForm(predicate, ending), ending);
}

/** Return a form of an adjective by its ending: `다`, `ㄴ` (before a noun), `었다`, `ㄴ가요`, … */
export function adjectiveForm(entry: string, ending: string): string {
  const predicate = predicateOf(entry);
  if (AFTER_ADJECTIVE_STEM.has(ending)) return predicate.stem + ending;
  if (ending !== 'ㄴ' && ending !== 'ㄴ가요') return required(sharedForm(predicate, ending), ending);
  const question = ending === 'ㄴ가요';
  if (/[있없]$/.test(predicate.stem)) return predicate.stem + (question ? '나요' : '는');
  return withFinal(predicate.open, FINAL_NIEUN) + (question ? '가요' : '');
}

function required(form: string | null, ending: string): string {
  if (form === null) throw new RangeError(`no ending "${ending}"`);
  return form;
}
