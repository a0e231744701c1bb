/** Paragraphs of at least 50 words in several registers of English and Korean, composed from a vocabulary. */
import { createRandom, type SeededRandom } from '../support/random.ts';

const words = (list: string) => list.trim().split(/\s+/);

const EN = {
  noun: words(
    'harbour report engine student contract pressure garden network surgeon valley committee battery theory window invoice storm library protein bridge customer satellite orchard temperature parliament schedule violin algorithm reservoir shareholder kitchen molecule passenger verdict fabric turbine neighbour warehouse manuscript glacier appliance',
  ),
  verb: words(
    'describe measure repair accept publish deliver compare reject inspect predict borrow translate review transfer observe postpone calculate restore question advertise evaluate assemble',
  ),
  adjective: words(
    'quiet annual northern reliable expensive electric fragile previous considerable wooden transparent urgent temporary chemical unexpected industrial narrow elderly commercial hypothetical',
  ),
  name: words(
    'Margaret Johnson David Okafor Elena Petrova Hendricks Nakamura Thompson Fitzgerald Ramirez Whitfield Abernathy Sophia Müller Kowalski Chandrasekhar Oliver Bennett',
  ),
  place: words('London Rotterdam Seoul Geneva Alabama Edinburgh Valparaíso Nairobi Melbourne Kraków Vancouver'),
  month: words('January February March April June August September October December'),
};

const KO = {
  noun: words(
    '항구 보고서 기관 학생 계약서 압력 정원 통신망 의사 골짜기 위원회 전지 이론 창문 청구서 폭풍 도서관 단백질 다리 고객 인공위성 과수원 온도 국회 일정 바이올린 알고리즘 저수지 주주 부엌 분자 승객 판결 직물 터빈 이웃 창고 원고 빙하 가전제품 서비스 데이터베이스 개인정보 신재생에너지 부동산 반도체',
  ),
  verb: words(
    '설명한다 측정했다 수리하고 받아들였으며 발표할 배달되었다 비교하여 거절했지만 점검하는 예측된다 빌려서 번역하면 검토하였다 옮기도록 관찰하기 미루었다 계산하며 복원되는 물었다 광고했다 평가받고 조립한다',
  ),
  adjective: words(
    '조용한 연간 북쪽의 믿을만한 비싼 전기 깨지기 이전 상당한 나무로 투명한 긴급한 임시 화학적인 뜻밖의 산업용 좁은 늙은 상업적 가상의',
  ),
  adverb: words('매우 이미 다시 함께 그러나 또한 따라서 한편 특히 가끔 조금씩 오랫동안 결국 아직 거의'),
  name: words('김민수 이서연 박지훈 최영희 정하윤 강동원 윤보라 임채원 홍길동 스미스 알렉산더 히로시'),
  title: words('장관 대표이사 교수 의원 연구원 위원장 시장 감독 변호사 대변인'),
  place: words('서울 부산광역시 강원도 대전 제주특별자치도 경기도 전라남도 인천국제공항 뉴욕 도쿄'),
  particle: words('은 는 이 가 을 를 에 에서 으로 와 의 도 만 부터 까지 에게 보다 처럼'),
};

function pick(random: SeededRandom, list: readonly string[]): string {
  return random.pick(list);
}

function integer(random: SeededRandom, from: number, to: number): number {
  return from + random.int(to - from + 1);
}

function koPhrase(random: SeededRandom): string {
  return pick(random, KO.noun) + pick(random, KO.particle);
}

function koClause(random: SeededRandom): string {
  const parts = [pick(random, KO.adjective), koPhrase(random), koPhrase(random)];
  if (random.real() < 0.4) parts.unshift(pick(random, KO.adverb));
  return [...parts, pick(random, KO.verb)].join(' ');
}

function enClause(random: SeededRandom): string {
  const ending = pick(random, ['s', 'd', '']);
  return `the ${pick(random, EN.adjective)} ${pick(random, EN.noun)} ${pick(random, EN.verb)}${ending} ${pick(random, ['a', 'the', 'every', 'its'])} ${pick(random, EN.noun)} ${pick(random, ['of', 'near', 'without', 'because of', 'after'])} ${pick(random, ['the', 'our', 'an earlier'])} ${pick(random, EN.noun)}`;
}

const upperFirst = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const camel = (random: SeededRandom) => pick(random, EN.verb) + upperFirst(pick(random, EN.noun));

/** Generators of one sentence, line or row of each register. */
const REGISTERS: Readonly<Record<string, (random: SeededRandom) => string>> = {
  'English prose': (random) =>
    `${upperFirst(enClause(random))}, ${pick(random, ['and', 'but', 'although', 'so that'])} ${enClause(random)}. `,
  'English news': (random) =>
    `${pick(random, EN.name)} ${pick(random, EN.name)}, ${integer(random, 19, 84)}, told reporters in ${pick(random, EN.place)} on ${pick(random, EN.month)} ${integer(random, 1, 28)}, ${integer(random, 1950, 2025)} that ${enClause(random)} for $${integer(random, 1, 900)}.${integer(random, 1, 9)} million, up ${integer(random, 1, 40)} percent. `,
  'English code comments': (random) =>
    `  // ${upperFirst(enClause(random))}, see ${camel(random)}() and the ${pick(random, EN.noun)} above\n  const ${camel(random)} = await ${pick(random, EN.noun)}.${camel(random)}(${pick(random, EN.noun)}, ${integer(random, 0, 512)});\n`,
  'English table': (random) =>
    `| ${pick(random, EN.noun)} | ${pick(random, EN.adjective)} ${pick(random, EN.noun)} | ${integer(random, 1, 9999)} | ${random.real().toFixed(2)} | 20${integer(random, 10, 25)}-0${integer(random, 1, 9)}-${integer(random, 10, 28)} |\n`,
  'English list of dates and names': (random) =>
    `- ${pick(random, EN.month)} ${integer(random, 1, 28)}: ${pick(random, EN.name)} ${pick(random, EN.name)} (${pick(random, EN.place)}) ${pick(random, EN.verb)}d the ${pick(random, EN.noun)}\n`,
  'Korean prose': (random) => `${koClause(random)}. `,
  'Korean news': (random) =>
    `${pick(random, KO.name)} ${pick(random, KO.title)}${pick(random, ['은', '는', '이'])} ${integer(random, 1950, 2025)}년 ${integer(random, 1, 12)}월 ${integer(random, 1, 28)}일 ${pick(random, KO.place)}에서 열린 ${pick(random, KO.noun)} 회의에서 “${koClause(random)}”라며 ${koPhrase(random)} ${integer(random, 2, 90)}.${integer(random, 1, 9)}% 늘었다고 밝혔다. `,
  'Korean office': (random) =>
    `제${integer(random, 1, 90)}조(${pick(random, KO.noun)}의 관리) ① 신청인은 ${koPhrase(random)} 첨부하여 「${pick(random, KO.noun)} 보호법」 제${integer(random, 1, 30)}항에 따라 ${integer(random, 3, 60)}일 이내에 ${koPhrase(random)} 제출하여야 한다. `,
  'Korean table': (random) =>
    `| ${pick(random, KO.noun)} | ${pick(random, KO.place)} ${pick(random, KO.noun)} | ${integer(random, 1, 999)},${integer(random, 100, 999)}원 | ${integer(random, 1, 99)}% | 20${integer(random, 10, 25)}.${integer(random, 1, 12)}.${integer(random, 1, 28)} |\n`,
  'Korean list of names': (random) => `${pick(random, KO.name)} ${pick(random, KO.title)}(${pick(random, KO.place)}), `,
  'Korean code comments': (random) =>
    `  // ${koClause(random)}\n  const ${camel(random)} = ${pick(random, EN.noun)}.${camel(random)}(${integer(random, 0, 99)}); // ${koPhrase(random)} ${pick(random, KO.verb)}\n`,
  'Korean and English mixed': (random) =>
    `${pick(random, EN.noun)} ${upperFirst(pick(random, EN.noun))}의 ${koPhrase(random)} ${pick(random, ['API', 'JSON', 'GPU', 'Samsung Galaxy', 'Kubernetes', 'README'])} ${koClause(random)} (${pick(random, EN.adjective)} ${pick(random, EN.noun)}). `,
};

export const REGISTER_NAMES: readonly string[] = Object.keys(REGISTERS);

/** Generate paragraphs of 50 to 200 words in one register; a seed always gives the same ones. */
export function paragraphs(register: string, count: number, seed: number): string[] {
  const random = createRandom(seed);
  const next = REGISTERS[register];
  if (!next) throw new Error(`no register ${register}`);
  return Array.from({ length: count }, () => {
    const wanted = integer(random, 50, 200);
    let text = '';
    while (text.split(/\s+/).length <= wanted) text += next(random);
    return text;
  });
}
