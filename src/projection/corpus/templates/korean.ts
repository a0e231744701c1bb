/**
 * Korean templates by task, one a line; `↵` is a line break, `q>` marks a query where a task has both. `{은}`, `{이}`, `{을}`
 * and the like take the form that the sound before them asks for. The language is described in `grammar.ts`.
 */
export const KOREAN_TEMPLATES = {
  question: `
    {thing}{과} {thing}의 차이는 무엇인가요?
    {country}에서 {adj.ㄴ} {thing}{은} 얼마나 하나요?
    {who}{은} 왜 {when} {act.었나요}?
    언제 {act.야} 하나요?
    {country}에서는 누가 {act.ㄹ} 수 있습니까?
    {thing} 없이 {act.도} <괜찮을까요|안전한가요|법에 걸리지 않나요>?
    {act.는} {who}에게는 어떤 {thing}{이} 가장 좋을까?
    {topic}{이} {topic}에 영향을 주나요?
    {topic}의 주요 원인은 무엇인가?
    {quantity}에 {thing}{이} 몇 개나 필요한가요?
    너무 늦게 {act.면} 어떻게 되나요?
    {where} {adj.ㄴ} {thing}{을} 찾을 수 있을까요?
    {asker}{이} {topic}{이} 무엇이냐고 묻는데 어떻게 설명하면 좋을까요?
    {thing}{이} {adj.면} 검사를 통과하지 못하나요?
    {act.는} 데 얼마나 걸리고 무엇부터 해야 하나요?
    {person}{이} {act.ㄴ} 해는 언제인가?
    {country}의 {thing} 가운데 {adj.ㄴ} 것은 몇 퍼센트인가요?
    {thing}{이} {adj.ㄴ가요}, 아니면 원래 그런 건가요?
    {thing}{이} 생기기 전에 {who}{은} 어떻게 살았을까?
    {adverb} {act.ㄴ} 적이 있는 분 계신가요?
    {creature}도 {concept}{을} 느낄까?
    {act.려면} 몇 살이어야 하나요`,
  howto: `
    {act.는} 방법
    {where} {act.려면} 어떻게 해야 하나요?
    {thing} 없이 {act.는} 순서
    {who}{은} {topic} 문제를 어떻게 다루어야 할까?
    {adverb} {act.는} 가장 좋은 방법
    {topic}에 맞는 {adj.ㄴ} {thing} 고르는 법
    {act.려면} 먼저 {act.고}, 그다음에 {act.ㄴ} 뒤 마지막으로 {everyday.면} 됩니다.
    {act.기} 전에 {thing}{이} {adj.ㄴ}지 꼭 확인하세요.
    {act.기} 전에는 반드시 {act.야} 합니다. 그러지 않으면 {thing}{이} {adj.게} 됩니다.
    하루 만에 {act.고} {act.려면} 무엇이 필요한가요?
    초보자를 위한 안내: {number}분 만에 {act.기}`,
  keywords: `
    {topic} {thing} {country}
    {adj.ㄴ} {thing} 가격 {year}년
    {topic} {topic} 차이
    {who} {topic} 통계 {year}
    {thing} {thing} {thing}
    {city} 근처 {adj.ㄴ} {thing} 추천
    {act.기} 비용 {quantity}
    {topic} 뜻과 예
    {thing} 고장 {code} 해결
    {city} {thing} {weekday} 할인
    {concept} 명언 {topic}
    {company} {thing} 후기
    {creature} {object} 꿈 해몽
    {who} {topic} 증상`,
  statement: `
    {frame}
    {frame}
    {frame}
    {frame}
    {frame}
    {frame}
    {who}{은} {when} {act.었지만} {result}.
    {adj.ㄴ} {thing}{은} {adj.ㄴ} {thing}보다 쓸모가 많다.
    {person}{은} {reason} {act.려고} 한다.
    {country}의 {who}{은} {thing}{이} {adj.면} {adverb} {act.는다}.
    {topic}{과} {topic}{은} 서로 깊이 이어져 있다.
    {who}{이} 미리 {act.었다면} {thing}{이} 그렇게 {adj.지는} 않았을 것이다.
    {thing}{은} {adj.게} 보이지만 {who}{이} {act.는} 데 도움이 된다.
    모든 {who}{은} {act.는} 데 시간이 걸린다는 것을 안다.
    {person}{이} {where} 산 {thing}{은} 알고 보니 {adj.었다}.
    {who}도 {who}도 {when} {act.지} 못했다.
    모든 {thing}{이} {adj.ㄴ} 것은 아니며, 어떤 것은 {quality.고} 어떤 것은 {quality.다}.
    {who} {number}명 가운데 {digit}명은 {topic}{이} {quality.ㄴ} 문제라고 {said}.
    {act.기} 전에 {who}에게 가장 필요한 것은 {concept}{이다}.
    {adj.ㄴ} {thing} 위에 {object}{이} 있었고 {where} {creature}{이} 자고 있었다.
    {person}{은} {reason} {when} {everyday.었다}.
    {who}{이} {act.는} 데 {quantity}{이} 들었지만 {result}.
    {who}{은} {act.는} 대신 {adverb} {act.기로} 했다.`,
  passage: `
    {frame} {frame}
    {frame} {sentence}
    {sentence} {frame}
    {frame} {frame} {sentence}
    {sentence} {sentence} {sentence}
    {frame} {frame} {frame} {frame}
    {frame} {sentence} {frame} {link} {clause.다}. {frame} {sentence}
    {frame} {frame} {sentence} {frame} {sentence} {frame}
    {frame} {link} {clause.다}.
    {sentence} {link} {clause.다}.
    {topic}{은} {when} 자주 입에 올랐다. {frame} {link} {clause.다}.`,
  sentence: `
    {who}{이} {act.었고} {result}.
    {adj.ㄴ} {who} {person}{은} {adverb} {act.었다}.
    {clause.다}.
    {when} {act.는} 것은 {quality.ㄴ} 일이다.
    많은 {who}{이} {act.ㄹ} 때 {adj.ㄴ} {thing}{을} 고른다.
    전문가들은 {topic}{이} {year}년까지 {percent} {change} 것으로 본다.
    {thing} {number}개 가운데 하나는 {adj.다}.
    {topic} 때문에 {who}{은} {feeling.었다}.
    우리는 {everyday.면서} {topic}에 대해 이야기했다.`,
  clause: `
    {who}{이} {act.었}
    {adj.ㄴ} {thing}{은} {quality.ㄴ} 것을 대신할 수 없
    {topic}{은} {topic}보다 설명하기 어렵
    모든 {who}{은} 언젠가 {act.게} 되어 있
    {thing}{은} {adj.었고} {who}{은} {feeling.었}
    {reason} 아무도 {act.지} 않았
    전체 {thing}의 {percent}{이} {adj.었}
    {person}{이} {when} {act.었}`,
  definition: `
    {thing}{이란} {who}{이} {act.ㄹ} 수 있도록 돕는 {quality.ㄴ} 도구나 장치를 말한다.
    {topic}{이란} {reason} {act.야} 하는 것을 뜻한다.
    {topic}: {adverb} {act.는} 일. 비슷한 말로 {topic}{이} 있다.
    {who}{은} {act.고} {act.는} 일을 맡은 사람이나 단체이다.
    쉽게 말해 {topic}{은} {thing}{이} {adj.ㄹ} 때 생기는 일이다.
    {thing}(명사): {act.ㄹ} 때 쓰는 {quality.ㄴ} 것.
    {thing}{이} {adj.다는} 말은 혼자서 {act.지} 못한다는 뜻이다.
    {thing}{은} {adj.고} {quality.다는} 점에서 {thing}{과} 다르다.
    {topic}{은} 특히 {country}에서 {who} 사이에 나타나는 {topic}{을} 가리킨다.`,
  review: `
    {thing}{이} 정말 {good.어요}! {who}도 {good.었습니다}.
    {bad.ㄴ} 경험이었어요. {thing}{은} {adj.고} {act.ㄹ} 수도 없었습니다.
    {when} 산 {thing}인데 {feeling.네요}. {good.지만} 조금 {adj.네요}.
    별점 다섯 개 중 {digit}개. {thing}{은} {good.지만} {object}{이} {bad.었다}.
    {company}{은} 추천하지 않습니다. {bad.ㄴ} 서비스에 {thing}{은} {adj.고} {who}{은} {bad.었어요}.
    최고예요! {quantity} 만에 {act.ㄹ} 수 있었습니다.
    솔직히 {thing}{은} {bad.다}. {adverb} {act.야} 했고 환불도 못 받았다.
    {adj.고} {good.ㄴ} {thing}, {who}에게 딱 맞습니다.
    {good.ㄴ} 것을 기대했는데 받은 것은 {bad.ㄴ} {thing}{과} {topic}뿐이었다.
    나쁘지도 좋지도 않아요. {thing}{이} 제 할 일은 합니다.
    {quantity} 만에 {thing}{이} 고장 났어요. 설계도 {bad.고} 지원도 {bad.습니다}.
    {good.ㄴ} {who}{이에요}! {act.었고} {everyday.기}까지 했답니다.`,
  headline: `
    {country}, {topic} 우려에 {act.기로}
    {company} "{thing}, {year}년까지 바꾼다"
    {who}{이} {when} {act.어}… 경찰 조사
    {who} {percent} "{topic}{이} 두렵다"
    {topic}보다 {topic}{이} 중요한 까닭
    {city}, {topic}{으로} {thing} {number}개 잃어
    {person} "지금 {act.야} 한다"
    이번 {month}에 {act.야} 할 {number}가지 이유
    [사설] {concept}{은} {topic}의 답이 아니다
    {company}, {adj.ㄴ} {thing}에 {money} 투자
    [해설] {thing}{은} 어떻게 {adj.게} 되었나
    {city} {who}{이} 전하는 {topic} 현장`,
  title: `
    {concept}{과} {topic}의 역사
    {adj.ㄴ} {thing}
    {who}{을} 위한 {topic} 입문
    {year}년부터 {year}년까지 {country}의 {topic}
    {who}{과} {creature}
    {topic}{과} {concept}에 관한 수필
    {act.기}: 실용 안내서
    {topic}{이} {adj.ㄴ} {thing}에 미치는 영향
    {quality.ㄴ} {thing}{을} 이용한 {topic} 모형
    {city}의 {object}
    {act.는} 일에 대한 짧은 기록
    {year}년 연차 보고서: {topic}{과} {topic}`,
  row: `
    {thing} | {adj.ㅁ} | {quantity} | {money}
    {code},{thing},{number},{money},{city}
    이름: {person}; 역할: {who}; 시작: {year}년; 지역: {city}
    {date} {time} {city} {thing} 점검
    품목 {code}: {adj.ㄴ} {thing}, {quantity}, 재고 {number}개
    {thing} {percent}, {thing} {percent}, {thing} {percent}
    월요일: {act.기}; 화요일: {act.기}; 금요일: {everyday.기}
    장보기 목록: {object}, {thing}, {object}, 달걀 {number}개
    {company}, {city}, {email}, {year}년 설립, 직원 {big}명
    {year}년 {digit}분기 | {topic} | {percent}
    {who}: {number} | {who}: {number} | 합계: {number}
    {thing} 무게 {number}kg, 크기 {number} x {number}cm`,
  dialogue: `
    "혹시 {act.었어요}?" "아니요, 대신 {everyday.었어요}."
    가: {thing}{이} 어디 있나요? 나: {where} {object} 옆을 보세요.
    "{clause.다}." {person}{은} {feeling.ㄴ} 얼굴로 {said}.
    {time} 전까지 {act.면} 안 될까요? 저는 {everyday.야} 해요.
    늦어서 미안해요. {who}{이} {act.는} 바람에 {everyday.야} 했어요.
    "왜 그렇게 {feeling.ㄴ} 얼굴이에요?" "{thing}{이} 또 {adj.어서요}."
    {time}에 {where} 만나서 {topic} 이야기를 하자.
    {person}: {weekday}까지 {adj.ㄴ} {thing}{이} 필요해요. {person}: {who}에게 물어볼게요.
    {object} 고마워요! 다음에는 제가 직접 {act.ㄹ}게요.
    {clause.다는} 말은 믿을 수 없어. 누가 그래? {who}{이}?
    {given}{아}, 생일 축하해! 다시는 {act.지} 않기를 바랄게.
    {person} 님, {date} {thing} 자료를 보내 주실 수 있을까요?`,
  claim: `
    q> {city}에는 {adj.ㄴ} {thing#1}{이} {number#2}개 있다. || {city}의 {#1}{은} 모두 없어졌으며 마지막 것은 {year}년에 문을 닫았다.
    q> {who#1}{이} {act#2.는} 가장 흔한 이유는 {topic#3}{이다}. || 조사에 따르면 {#3} 때문에 {#2.는} {#1}{은} 거의 없다.
    q> {thing#1}{이} 있으면 {quantity} 만에 {act#2.ㄹ} 수 있다. || {#1}{이} 있어도 그렇게 빨리 {#2.지}는 못한다.
    q> {person}{은} 처음으로 {act#1.ㄴ} {who#2}{이다}. || {year}년 이전에 다른 {#2}{이} 먼저 {#1.었다}.
    q> {country#1}의 {who#2}{은} 대부분 {adj#3.다}. || {year}년 조사에서 {#3.ㄴ} {#1} {#2}{은} {percent}뿐이었다.
    q> {who#1}{은} {date#2}에 {act#3.었다}. || {#1}{은} {#3.지} 않았고 {#2} 보도는 거짓이었다.
    q> {act#1.면} {thing#2}{이} {adj#3.게} 된다. || {#1.는} 것은 {#2}에 아무 영향도 주지 않는다.`,
  answered: `
    q> {who#1}{은} {thing#2}{을} 어디에 쓰나요? || {#1}{은} 주로 {where} {act.ㄹ} 때 {#2}{을} 씁니다.
    q> {act#1.는} 데 얼마나 걸리나요? || {#1.는} 데는 {quantity}쯤 필요하고 {thing}{이} {adj.면} 더 걸립니다.
    q> {year#1}년에 {act#2.ㄴ} 사람은 누구인가? || {#1}년에 {#2.ㄴ} 사람은 {country} 출신의 {who} {person}{이다}.
    q> {who#1}{은} 왜 {topic#2}{을} 걱정하나요? || {#2} 때문에 {act.기} 어려워져서 {#1}{이} 걱정합니다.
    q> 어디에서 {act#1.ㄹ} 수 있나요? || {where} {#1.ㄹ} 수 있는데 {thing}{과} {money}{이} 필요합니다.
    q> {topic#1}{은} 위험한가요? || {#1}{은} 대부분 {quality.지만} {adj.ㄴ} {thing}{이라}면 조심해야 합니다.
    q> {adj#1.ㄴ} {thing#2}{이란} 무엇인가요? || {who}{이} {act.ㄹ} 수 있을 만큼 {quality.ㄴ} {#2}{을} {#1.다고} 말합니다.`,
  paraphrase: `
    {who#1}{은} {reason} {act#2.야} 했다. || 다른 길이 없어서 {#1}{은} 결국 {#2.었다}.
    {thing#1} 없이 {act#2.기}는 어렵다. || {#1}{이} 없는 사람은 {#2.기} 힘들 것이다.
    {country#1}에서 {topic#2} 문제가 심해지고 있다. || {#1}의 {#2} 상황이 나빠졌다.
    이 {thing#1}{은} 정말 {good.다}. || 이렇게 {good.ㄴ} {#1}{은} 처음이라 아주 기쁘다!
    {person#1}{은} {when} {act#2.려고} 한다. || {#1}{은} {act.는} 일을 미루고 {#2.ㄹ} 생각이다.`,
  instruction: `
    {who}{을} 위해 {topic}의 핵심을 요약해 주세요.
    다음 문장을 영어로 옮기세요. {who}{이} {act.어서} {thing}{이} {adj.었다}.
    {thing}{과} {concept}에 관한 {quality.ㄴ} 시를 써 주세요.
    다음 글이 {topic}에 관한 것인지 {topic}에 관한 것인지 분류하세요. "{clause.다}."
    {adj.ㄴ} {thing} {number}가지를 들고 쓰임새를 말해 주세요.
    {age}살 아이에게 {creature}{을} 예로 들어 {topic}{을} 설명해 주세요.
    {country}에서 {year}년 이전에 나온 {topic} 관련 문서 찾기
    {topic}{과} {topic}{을} 비교하고 예를 {digit}개 들어 주세요.
    {quality.게} 들리도록 문장을 다시 쓰세요. {clause.다}.
    {act.고} 싶은 {who}의 {weekday} 일정을 짜 주세요.
    {where} {act.는} 것에 대한 찬성과 반대 의견을 써 주세요.`,
  opinion: `
    {who}{은} {reason} 더 {adverb} {act.야} 한다고 생각해요.
    요즘 {adj.ㄴ} {thing}{을} 쓰는 사람은 없다. {quality.ㄴ} 것이면 충분하다.
    내 생각에 {topic}{은} 과대평가되었고 중요한 것은 {concept}{이다}.
    {act.느니} 차라리 {everyday.겠다}.
    남들은 싫어하겠지만 {topic}{은} {who}에게 좋다.
    {number}년째 {act.고} 있지만 아직도 {feeling.다}.
    {adverb} {act.는} 사람은 {topic}{을} 이해하지 못한다.
    {where} {thing} 옆에 있는 {creature}{을} 보고 기분이 좋아졌다
    오늘 {who}{이} {act.어서} 우리 모두 {feeling.었어요}!`,
} as const;
