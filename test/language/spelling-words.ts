/**
 * Words for the evaluation of corrected spelling, chosen for this project. Each set has 250 words that a bucket has,
 * whose misspellings a search must correct, and 250 other words, many of them near the first ones, that a search must
 * leave as they are. `misspell` makes the misspellings.
 */
import { codeOf, isSyllable, jamoOf } from '../../src/language/hangul.ts';
import { randomFrom } from '../index/draw-rows.ts';

export interface SpellingSet {
  readonly language: 'English' | 'Korean';
  readonly indexed: readonly string[];
  readonly others: readonly string[];
  /** Make a usual mistake in a word. */
  readonly misspell: (word: string) => string;
}

const words = (text: string) => text.trim().split(/\s+/);
const random = randomFrom(55);
const draw = (below: number) => Math.floor(random() * below);

/** Double or drop a letter, swap two letters, or replace a vowel by another. The first letter stays. */
function misspellEnglish(word: string): string {
  const at = 1 + draw(word.length - 2);
  const [before, letter, after] = [word.slice(0, at), word.charAt(at), word.slice(at + 1)];
  const vowelAt = [...word].findIndex((each, place) => place >= at && 'aeiou'.includes(each));
  const made = [
    before + letter + letter + after,
    before + after,
    before + after.charAt(0) + letter + after.slice(1),
    vowelAt < 0
      ? word
      : `${word.slice(0, vowelAt)}${'eaoiu'['aeiou'.indexOf(word.charAt(vowelAt))]}${word.slice(vowelAt + 1)}`,
  ][draw(4)] as string;
  return made === word ? before + after : made;
}

/** Vowels that sound alike, and consonants of one place of articulation, by their numbers in Unicode. */
const ALIKE_VOWELS = new Map([
  [1, 5],
  [5, 1],
  [10, 15],
  [15, 10],
  [11, 15],
]);
const ALIKE_INITIALS = new Map([
  [0, 15],
  [15, 0],
  [3, 16],
  [16, 3],
  [7, 17],
  [17, 7],
  [12, 14],
  [14, 12],
  [9, 10],
  [10, 9],
]);

/**
 * Replace a vowel by one that sounds alike. If there is none, replace a consonant within the word, or swap syllables.
 */
function misspellKorean(word: string): string {
  const codes = [...word].map((syllable) => syllable.charCodeAt(0));
  const replace = (at: number, change: object) =>
    String.fromCharCode(...codes.map((code, place) => (place === at ? codeOf({ ...jamoOf(code), ...change }) : code)));
  const vowelAt = codes.findIndex((code) => isSyllable(code) && ALIKE_VOWELS.has(jamoOf(code).vowel));
  if (vowelAt >= 0) return replace(vowelAt, { vowel: ALIKE_VOWELS.get(jamoOf(codes[vowelAt] as number).vowel) });
  const initialAt = codes.findIndex(
    (code, at) => at > 0 && at < codes.length - 1 && ALIKE_INITIALS.has(jamoOf(code).initial),
  );
  if (initialAt >= 0)
    return replace(initialAt, { initial: ALIKE_INITIALS.get(jamoOf(codes[initialAt] as number).initial) });
  return word.charAt(1) + word.charAt(0) + word.slice(2);
}

const ENGLISH: SpellingSet = {
  language: 'English',
  misspell: misspellEnglish,
  indexed: words(`
    account address advice agenda airport allergy amount anchor annual answer archive arrival article assembly asset
    attempt attitude audience auditor authority available average backup balance banner barrier battery bearing
    behaviour benefit biology border bottle branch breakfast bridge broker budget building button cabinet calendar
    camera campaign candidate capacity captain carbon careful carrier category ceiling certificate chamber channel
    chapter charger chemical circuit citizen climate coffee collection college column comfort command commerce
    committee compare complaint computer concert condition conference connect consent contact content contract
    controller corner correct council counter coupon course credit critical culture currency current customer
    cylinder damage database deadline decision default defect delivery department deposit design device diagram
    digital dinner director discount discovery display district document domain download drawer driver economy
    edition editor education effect electric element elevator emergency employee energy engine entrance envelope
    equipment estimate evening evidence example exchange exercise expense experience export factory failure feature
    festival filter finance finger firmware flight folder forecast foreign formula foundation frequency furniture
    garden gateway general grammar greenhouse ground guarantee handle harbour hardware health heating highway
    history holiday hospital household identity illness import incident income industry inspector install instrument
    insurance internal interview inventory invoice journal journey kitchen knowledge laboratory language laundry
    lawyer leather lecture library licence lighthouse liquid location machine maintenance manager manual market
    material maximum meadow measure medicine meeting member memory merchant message method minister mirror mobile
    monitor mountain museum neighbour network notebook number object occasion office operator opinion orchard
    orchestra organise origin package painting parcel parking partner passage passport password patient payment
    pension
  `),
  others: words(`
    accent addressee adverse agency airplane alleged amounts anchovy annoy ancient arrive arrow artist assemble
    assert attend altitude audible auction author avoid beverage backlog ballot banker batter bedding behave beneath
    biography boarder battle brunch breakfasts fridge broken gadget buildup butter cabin colander caramel champagne
    candid capable curtain cargo cheerful courier catalogue sealing certify chimney charcoal charter change chorus
    circus citizenship climax coffin collective collage volume comfy companies commence commit compass complain
    compute concept tradition conflict concern consist contrast continent contrary contribute corridor corrupt
    counsel country couple coarse creditor crystal cultural curious currant costume cyclone manage dataset headline
    division defend detect deliver departure despite resign devise diary dignity dinosaur direction dismount
    discover dismay distract argument remain downtown drawing diver astronomy addition edible educate affect
    electron elegant elephant emerging employer enemy engineer entrant envoy equip esteem evenings evident ample
    exclusive exorcise expanse expedition expert fabric future feather fertile filler financial finder fright fodder
    forest foreigner format fountain frequent furnace garment getaway generous glamour greenery grounds guardian
    candle labour softwares wealth heaven hallway historic holidays hostile househunt identify ideal impart accident
    incoming internet inspect instant instinct insulate interval invention invoke journalist journalism kitten
    acknowledge languish laundered layer lectern liberal license lightning liquor locate magazine maintain manger
    manually marked maternal minimum shadow treasure medical melting remember memorial merchandise massage methane
    minus error noble motor fountains museums neigh newborn nobody numeral abject occupy officer operate opening
    orchid organic orange organism orient pointing partial barking pattern massive passive keyword patience pavement
    tension remission plane elastic plateau packet
  `),
};

const KOREAN: SpellingSet = {
  language: 'Korean',
  misspell: misspellKorean,
  indexed: words(`
    데이터베이스 네트워크 클러스터 컴퓨터 프로그램 서비스 메시지 카메라 배터리 냉장고 세탁기 자동차 비행기 지하철 도서관 박물관 미술관 수영장 운동장 주차장 정류장 공항버스 여행사 계산기 계약서 영수증
    견적서 보증서 설명서 신청서 이력서 졸업장 자격증 인증서 면허증 주민등록 전화번호 우편번호 비밀번호 계좌번호 휴대전화 개인정보 고객센터 배송비용 환불규정 결제수단 세금계산 연말정산 급여명세 출장보고
    회의자료 사업계획 재무제표 손익계산 대차대조 현금흐름 투자유치 주식시장 부동산 아파트 엘리베이터 에스컬레이터 에어컨 텔레비전 라디오 모니터 키보드 프린터 스캐너 스피커 이어폰 마이크 케이블 콘센트
    플러그 스위치 세면대 싱크대 식기세척 전자레인지 가스레인지 청소기 선풍기 다리미 재봉틀 망치질 드라이버 사다리 페인트 시멘트 콘크리트 알루미늄 플라스틱 유리창 커튼 카펫 베개 담요 이불장 책꽂이 서랍장
    화장대 거울 액자 달력 시계탑 온도계 체중계 혈압계 청진기 주사기 처방전 진단서 예방접종 건강검진 응급실 중환자실 수술실 간호사 약제사 물리치료 영양제 비타민 단백질 탄수화물 지방산 콜레스테롤 당뇨병
    고혈압 감기약 진통제 소화제 반창고 해열제 태풍경보 홍수주의 지진대피 소방서 경찰서 우체국 구청장 시의회 국회의원 대통령 헌법재판 법원장 변호사 검찰청 판결문 증거물 용의자 피해자 목격자 보험회사
    은행원 대출금리 적금통장 예금주 환율표 수출입 관세청 물류창고 컨테이너 화물선 여객선 등대지기 항해사 어부들 그물망 낚시터 해수욕장 모래사장 갈매기 고래상어 해파리 문어발 조개구이 새우튀김 김치찌개
    된장찌개 비빔밥 불고기 떡볶이 순대국 냉면집 칼국수 만두피 호떡집 팥빙수 아이스크림 초콜릿 케이크 샌드위치 햄버거 피자집 스파게티 샐러드 오렌지 바나나 파인애플 복숭아 자두나무 사과나무 배추김치 시금치
    고구마 감자튀김 옥수수 토마토 양배추 당근즙 마늘쫑 생강차 녹차잎 커피콩 우유팩 요구르트 치즈볼 버터쿠키 꿀벌집 나비넥타이 잠자리채 메뚜기 개구리 거북이 도마뱀 악어가죽 코끼리 기린목 사자왕 호랑이
    얼룩말 원숭이 침팬지 고릴라 캥거루 코알라 펭귄 물개쇼 바다표범 독수리 부엉이 까마귀 비둘기 참새떼 제비집 오리배 백조의호수 올림픽 월드컵
  `),
  others: words(`
    결재 모레 개념 게재 제재 재물 매미 새집 세대 베틀 지게 그네 네모 내용 재능 제비 세모 새벽 배경 베일 메주 매주 체중 채점 배구 개미 대신 데이트 해변 헤엄 재료 대화 세계 배우 게시판 제목 계단
    비닐 주장 운송 반창 어깨 베다 세월 재산 제사 매점 메모 새싹 세금 인터넷 회사 가족 친구 사랑 행복 슬픔 기쁨 노래 음악 그림 영화 연극 소설 시인 작가 기자 신문 방송 뉴스 날씨 구름 하늘 바람
    안개 서리 이슬 햇빛 달빛 별자리 우주 지구 화성 목성 토성 은하수 망원경 현미경 실험실 연구소 대학교 고등학교 중학교 초등학교 유치원 어린이집 선생님 학생증 교과서 공책 연필 지우개 가위 풀밭 색종이
    물감 붓글씨 도화지 사진기 앨범 편지 봉투 우표 엽서 소포 택배 이사 집들이 결혼식 생일 잔치 선물 꽃다발 촛불 풍선 인형 장난감 블록 퍼즐 게임 바둑 장기 윷놀이 줄넘기 달리기 체조 무용 발레 합창단
    오케스트라 피아노 바이올린 첼로 기타 드럼 트럼펫 플루트 하모니카 가야금 거문고 장구 북소리 춤사위 한복 저고리 치마 바지 셔츠 양말 구두 운동화 장갑 목도리 모자 안경 시계 반지 목걸이 귀걸이 팔찌
    지갑 가방 우산 열쇠 자물쇠 문고리 창문 지붕 기둥 마루 부엌 화장실 욕실 침실 거실 현관 마당 정원 텃밭 울타리 대문 골목 도로 교차로 신호등 횡단보도 육교 터널 다리 강물 호수 연못 폭포 계곡 산맥
    봉우리 언덕 들판 논밭 과수원 목장 농부 어부 광부 목수 미용사 요리사 제빵사 운전사 조종사 승무원 소방관 경찰관 군인 장교 병사 훈련 전쟁 평화 조약 외교 대사관 영사관 여권 비자 국경 이민 난민
    인권 자유 평등 정의 민주주의 선거 투표 후보 공약 정당 국회 법률
  `),
};

export const SPELLING_SETS = [ENGLISH, KOREAN];
