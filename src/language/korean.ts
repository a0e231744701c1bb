/**
 * Stemmer for Korean words. An eojeol (the characters between two spaces) is a stem with particles or verb endings
 * attached. Without them `학교에서는` and `학교를` both become 학교, the word that a search looks for. There is no dictionary:
 * the stemmer removes every ending that the grammar allows. It is the same at index and query time, so that a stem cut
 * too short still matches itself. The lists were written from the grammar.
 */

const HANGUL_FIRST = 0xac00;
const FINALS = 28;
const FINAL_RIEUL = 8;

/** Sounds after which an ending can stand: `은` follows a final consonant, `는` a vowel. */
const AFTER_CONSONANT = 1;
const AFTER_VOWEL = 2;
const AFTER_ANY = 3;

const ENDING_MAX = 5;
/** Number of passes: endings follow one another (`사람들에게는`), and two passes remove nearly all. */
const PASSES = 2;

/** One-syllable endings that are removed even if only one syllable remains: 물은 becomes 물. */
const SHORT_ENDINGS = new Set('은는을를에와');
/** One-syllable endings that are also removed, but with the whole word kept, as it may be a noun: 휴가, 회의, 종이. */
const DOUBTFUL_ENDINGS = new Set('이가의과로');
/** Endings that follow Latin letters and numbers: `KBS는`. 만 and 도 are missing, since they are units there. */
const AFTER_FOREIGN = new Set(list('은 는 이 가 을 를 의 에 에서 와 과 으로 로 이다 이며 라는 이라는 까지 부터'));

const STOP_STEMS = new Set(
  list(`
    무엇 누구 누가 언제 어디 어느 어떤 어떻 어떻게 왜 얼마 얼마나 몇 무슨 있 없 하 되 것 수 그 이 저 및 등 또는 그리고
    대한 대해 위한 위해 따라 통해 이름 때 중 더 가장 같 의해 그의 이런 그런 이것 그것
  `),
);

/** Words so common in all writing that they get a lower weight than rarer words. */
export const KOREAN_COMMON_WORDS: readonly string[] = list(`
  사람 시간 경우 문제 사용 방법 가능 다양 필요 중요 관련 내용 결과 현재 이후 당시 이상 정도 부분 일부 전체 모두 많은
  여러 다른 모든 다음 이전 최근 처음 마지막 생각 자신 우리 하나 가지 종류 의미 정의 이유 과정 상태 상황 관계 영향 활동
  사이 동안 이하 미만 약간 매우 특히 주로 대부 대부분 포함 제공 이용 시작 발생 진행 설명 기준 대상 목적 특징 역할 수준
  지역 국가 사회 정부 세계 한국 미국 일본 기업 회사 제품 서비스 정보 자료 기간 오늘 날짜 번호 명칭 단어 문장 질문 대답
`);

function list(words: string): string[] {
  return words.trim().split(/\s+/);
}

const PARTICLES_ANY = list(`
  의 에 도 만 에서 에게 에게서 한테 께서 부터 까지 보다 처럼 마다 조차 마저 밖에 대로 만큼 에는 에도 에만 에서는
  에서도 에서의 에서만 에서부터 에게는 에게도 까지의 까지는 부터의 부터는 에의 만의 만이 만을 만은 뿐 뿐만 들의 보다는
  보다도 으로부터 로부터
`);
const PARTICLES_AFTER_CONSONANT = list(`
  은 이 을 과 으로 으로는 으로도 으로서 으로써 으로의 으로만 과의 과는 과도 이나 이란 이라 이라는 이라고 이라도 이라면
  이며 이고 이다 이었다 이었던 이었으며 이었고 이야 이에요 이죠 이지만 이면서 이자 이든 이기 인 인데 인가 인가요 인지
  일까 일까요 입니다 입니까
`);
const PARTICLES_AFTER_VOWEL = list(`
  는 가 를 와 로 로는 로도 로서 로써 로의 로만 와의 와는 와도 나 란 라 라는 라고 라도 라면 며 고 지만 였다 였던 였으며
  였고 예요 이다 이며 이고 인 인데 인가 인가요 인지 일까 일까요 입니다 입니까
`);
const VERB_ENDINGS = list(`
  었다 았다 였다 었던 았던 었고 았고 었으며 았으며 었지만 았지만 었는데 았는데 었을 았을 었다고 았다고 었다는 았다는
  었나 았나 었나요 았나요 었는가 았는가 었는지 았는지 었습니다 았습니다 었습니까 았습니까 습니다 습니까 니다 니까 는다
  는데 는가 는지 나요 면서 도록 려고 려는 거나 지만 으며 으면 으니 은가 을까 을까요 어서 아서 어야 아야 다는 다고 던 게
  기 지 는 고 며 다 면
`);
/** Verbs that turn a noun into a verb, by the stem before their endings: plain, past, and the contracted forms. */
const NOUN_VERBS = [
  {
    plain: '하',
    past: ['했', '하였'],
    linked: ['해', '하여'],
    adnominal: '한',
    future: '할',
    nominal: '함',
    polite: '합',
  },
  {
    plain: '되',
    past: ['됐', '되었'],
    linked: ['돼', '되어'],
    adnominal: '된',
    future: '될',
    nominal: '됨',
    polite: '됩',
  },
  {
    plain: '시키',
    past: ['시켰'],
    linked: ['시켜'],
    adnominal: '시킨',
    future: '시킬',
    nominal: '시킴',
    polite: '시킵',
  },
];
const ENDINGS_PLAIN = list(`
  다 는 고 며 면 게 기 지 던 자 도록 려고 려는 는데 지만 거나 면서 기도 기로 기에 는가 나요 시오 는지 신 세요 시는 지는
  진
`);
const ENDINGS_PAST = list(`
  다 던 고 으며 지만 는데 다고 다는 을 나 나요 는가 는지 습니다 습니까
`);

/** Endings with the sounds that may precede them, built for the first Korean word. */
let builtEndings: ReadonlyMap<string, number> | null = null;

function buildEndings(): ReadonlyMap<string, number> {
  const endings = new Map<string, number>();
  const add = (words: readonly string[], after: number) => {
    for (const word of words) endings.set(word, (endings.get(word) ?? 0) | after);
  };
  add(PARTICLES_ANY, AFTER_ANY);
  add(PARTICLES_AFTER_CONSONANT, AFTER_CONSONANT);
  add(PARTICLES_AFTER_VOWEL, AFTER_VOWEL);
  add(VERB_ENDINGS, AFTER_ANY);
  for (const verb of NOUN_VERBS) {
    const forms = [
      ...ENDINGS_PLAIN.map((ending) => verb.plain + ending),
      ...verb.past.flatMap((past) => ENDINGS_PAST.map((ending) => past + ending)),
      ...verb.linked.flatMap((linked) => [linked, `${linked}서`, `${linked}야`, `${linked}주는`, `${linked}준`]),
      ...['', '다', '다고', '다는', '다면'].map((ending) => verb.adnominal + ending),
      ...['', '까', '까요'].map((ending) => verb.future + ending),
      ...['', '으로써'].map((ending) => verb.nominal + ending),
      ...['니다', '니까'].map((ending) => verb.polite + ending),
    ];
    add(forms, AFTER_ANY);
  }
  return endings;
}

/**
 * Remove the particles and endings of one Hangul word.
 *
 * @param eojeol a run of Hangul syllables
 * @param foreignBefore true if it follows a Latin word or a number without a space
 * @returns no stem for words without a meaning of their own; else one, or two (the stem, then the word) if the ending
 *   may belong to the word
 */
export function stemKorean(eojeol: string, foreignBefore = false): string[] {
  if (foreignBefore && AFTER_FOREIGN.has(eojeol)) return [];
  let word = eojeol;
  let doubtful: string | null = null;
  for (let pass = 0; pass < PASSES; pass++) {
    const cut = endingLength(word);
    const stem = cut > 0 ? word.slice(0, -cut) : word;
    if (cut === 1 && stem.length === 1 && DOUBTFUL_ENDINGS.has(word.charAt(1))) doubtful = word;
    const single = stem.length > 2 && stem.endsWith('들') ? stem.slice(0, -1) : stem;
    if (single === word) break;
    word = single;
  }
  if (STOP_STEMS.has(word) || STOP_STEMS.has(eojeol)) return [];
  return doubtful === null ? [word] : [word, doubtful];
}

/** Return the length of the longest ending that can be removed; 0 for none. */
function endingLength(word: string): number {
  builtEndings ??= buildEndings();
  for (let length = Math.min(ENDING_MAX, word.length - 1); length > 0; length--) {
    const ending = word.slice(-length);
    const after = builtEndings.get(ending);
    if (after === undefined) continue;
    const bare = length === 1 && word.length === 2;
    if (bare && !SHORT_ENDINGS.has(ending) && !DOUBTFUL_ENDINGS.has(ending)) continue;
    if (after & soundOf(word.charCodeAt(word.length - length - 1), ending)) return length;
  }
  return 0;
}

function soundOf(syllable: number, ending: string): number {
  const index = syllable - HANGUL_FIRST;
  if (index < 0 || index >= 11_172) return AFTER_ANY;
  const final = index % FINALS;
  // 로 and the endings that begin with it follow ㄹ as they follow a vowel.
  if (final === FINAL_RIEUL) return ending.startsWith('로') ? AFTER_VOWEL : AFTER_CONSONANT;
  return final === 0 ? AFTER_VOWEL : AFTER_CONSONANT;
}
