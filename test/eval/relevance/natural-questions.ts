/**
 * Questions about the demonstration corpus (`src/demo/corpus`), as people ask them: they share few words with the
 * passage that answers them. Each has the file of its answer; null if no file answers it.
 */
export interface NaturalQuestion {
  readonly question: string;
  readonly file: string | null;
  /** `near`: the corpus treats the subject but does not answer. `off_topic`: another subject. */
  readonly kind: 'answered' | 'near' | 'off_topic';
}

const ANSWERED: readonly (readonly [file: string, question: string])[] = [
  ['english/annual-leave.md', 'how much vacation do employees get?'],
  ['english/returns.md', 'I changed my mind about a purchase, how long can I bring it back?'],
  ['english/ebike-battery.md', 'how should I store the power pack in winter?'],
  ['english/delivery.md', 'when will my parcel arrive?'],
  ['english/repairs-price-list.csv', 'what does it cost to fix a flat tyre?'],
  ['english/onboarding.md', 'what happens on the first day of a new hire?'],
  ['english/workshop-safety.md', 'do I have to protect my eyes when grinding?'],
  ['english/annual-leave.md', 'can I carry unused holidays over?'],
  ['english/returns.md', 'are safety helmets refundable?'],
  ['english/workshop-safety.md', 'what do I do if I get hurt at work?'],
  ['english/delivery.md', 'how much is shipping?'],
  ['english/workshop-safety.md', 'am I allowed to use machines by myself?'],
  ['korean/annual-leave.md', '휴가는 며칠이나 쓸 수 있어요?'],
  ['korean/battery.md', '전기자전거 배터리는 얼마나 오래 가요?'],
  ['korean/expenses.md', '출장 다녀와서 돈은 어떻게 돌려받나요?'],
  ['korean/opening-hours.md', '주말에도 문을 여나요?'],
  ['korean/warranty.md', '고장 나면 무료로 고쳐 주는 기간이 언제까지예요?'],
  ['korean/annual-leave.md', '쉬고 싶으면 누구한테 언제 말해야 해요?'],
  ['korean/expenses.md', '호텔비는 얼마까지 되나요?'],
  ['korean/opening-hours.md', '몇 시에 문 닫아요?'],
  ['korean/battery.md', '추운 계절에는 어디에 둬야 하나요?'],
  ['korean/warranty.md', '무상으로 고치려면 뭘 챙겨 가야 해요?'],
];

const NEAR: readonly string[] = [
  'how many weeks of parental leave does a mother get?',
  'is there a bonus at the end of the year?',
  'do you rent out electric bicycles for a day?',
  'which brand of chain do you install?',
  'can I pay for my bicycle in instalments?',
  'who is the managing director of the company?',
  'do you deliver abroad?',
  'how do I insure my bicycle against theft?',
  '육아휴직은 몇 달까지 쓸 수 있나요?',
  '중고 자전거도 파나요?',
  '주차장은 어디에 있어요?',
  '배터리를 비행기에 실을 수 있나요?',
  '직원 할인은 몇 퍼센트예요?',
  '자전거를 도난당하면 보상해 주나요?',
];

const OFF_TOPIC: readonly string[] = [
  'who painted the ceiling of the Sistine Chapel?',
  'what is the boiling point of nitrogen?',
  'how do I sort a list in Python?',
  'which planets have rings?',
  'when did the Roman Empire fall?',
  'how long do you cook lentils?',
  'what are the symptoms of measles?',
  'who won the world cup in 1998?',
  '조선의 첫 번째 왕은 누구인가요?',
  '김치찌개는 어떻게 끓여요?',
  '물은 몇 도에서 얼어요?',
  '주식 투자는 어떻게 시작하나요?',
  '고래는 왜 물고기가 아닌가요?',
  '프랑스의 수도는 어디예요?',
];

export const NATURAL_QUESTIONS: readonly NaturalQuestion[] = [
  ...ANSWERED.map(([file, question]) => ({ question, file, kind: 'answered' as const })),
  ...NEAR.map((question) => ({ question, file: null, kind: 'near' as const })),
  ...OFF_TOPIC.map((question) => ({ question, file: null, kind: 'off_topic' as const })),
];
