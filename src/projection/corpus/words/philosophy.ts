import type { DomainWords } from '../domain-words.ts';

export const philosophy: DomainWords = {
  name: 'philosophy',
  en: {
    who: `philosopher, priest, monk, logician, believer, theologian, ethicist, sceptic, linguist, pilgrim, rabbi, imam, anthropologist,
      folklorist, mathematician`,
    thing: `argument, paradox, moral dilemma, prayer, sacred text, proof, axiom, thought experiment, temple, proverb, language, myth,
      pilgrimage, virtue, dialect, prophecy, theorem, wedding ritual, soul, premise, hymn, sermon, funeral, shrine, grammar rule, prime
      number, metaphor, conjecture, festival, scripture, analogy, definition, vow, triangle, loanword, taboo, equation, candle, pantheon,
      fallacy`,
    topic: `free will, the meaning of life, moral relativism, logic, the problem of evil, animal rights, consciousness, number theory,
      language change, religious tolerance, the social contract, probability, utilitarian ethics, ancestor worship, truth and belief,
      the nature of time, reincarnation, set theory, translation, fasting`,
    act: `prove a theorem, question the premise, pray at sunrise, define justice, fast for a month, reject the argument, interpret the
      scripture, light a candle, solve the equation, meditate in silence, doubt the senses, worship the ancestors, learn a dead
      language, count the primes, refute the sceptic, doubt every certainty, bless the bread, translate the proverb, keep a vow, draw
      an analogy`,
    adj: `ethical, metaphysical, sacred, logical, contradictory, pious, irrational, moral, abstract, spiritual, provable, secular,
      self-evident, sceptical, ritual, infinite`,
    unit: `2-40 days of fasting, 3-60 followers, 2-14 proofs, 3-30 centuries of tradition`,
    frame: `If every {thing} is {adj}, then no {adj} claim can be false.
      The {who} holds that {topic} follows from reason alone.
      During the festival of {number} days, families in {city} light {a} {thing} at dusk.
      {person} gave {a} {adj} {thing} for the claim that there are infinitely many primes.
      In {country}, {percent} of people say that {topic} matters to them.
      The word comes from an old {thing} and once meant a narrow door.
      Whether {topic} can be known at all is {a} {adj} question.`,
  },
  ko: {
    who: `철학자, 신부, 승려, 논리학자, 신자, 신학자, 윤리학자, 회의론자, 언어학자, 순례자, 목사, 인류학자, 민속학자, 수학자`,
    thing: `논증, 역설, 도덕적 딜레마, 기도, 경전, 증명, 공리, 사고 실험, 사원, 속담, 언어, 신화, 순례, 덕목, 방언, 예언, 정리, 혼례, 영혼, 전제, 찬송가, 설교,
      장례식, 사당, 문법 규칙, 소수, 은유, 추측, 축제, 비유, 정의, 맹세, 삼각형, 외래어, 금기, 방정식, 촛불, 오류, 제사, 굿`,
    topic: `자유 의지, 삶의 의미, 도덕 상대주의, 논리, 악의 문제, 동물의 권리, 의식, 정수론, 언어의 변화, 종교적 관용, 사회 계약, 확률, 공리주의, 조상 숭배,
      진리와 믿음, 시간의 본질, 윤회, 집합론, 금식`,
    act: `정리를 증명, 전제를 의심, 새벽에 기도, 정의를 규정, 한 달 동안 금식, 논증을 반박, 경전을 해석, 촛불을 켜/켜, 방정식을 풀/풀어, 조용히 명상,
      감각을 의심, 조상을 모시/모셔, 고어를 배우/배워, 소수를 세/세, 회의론자를 설득, 진리를 찾/찾아, 떡을 나누/나눠, 속담을 번역, 맹세를 지키/지켜, 비유를 들/들어`,
    adj: `윤리적이/윤리적이어, 신성, 논리적이/논리적이어, 모순되/모순돼, 경건, 추상적이/추상적이어, 자명, 심오, 세속적이/세속적이어, 무한, 엄숙, 난해`,
    unit: `2-40일, 3-60명, 3-30세기`,
    frame: `모든 {thing}{이} {adj.다면} 거짓인 주장은 있을 수 없다.
      {who}{은} {topic}{이} 이성만으로 설명된다고 본다.
      {number}일 동안 이어지는 축제에 {city} 사람들은 해 질 녘 {thing}{을} 준비한다.
      {person}{은} 소수가 무한히 많다는 것을 {adj.ㄴ} 방법으로 증명했다.
      {country} 사람의 {percent}{은} {topic}{이} 중요하다고 답했다.
      이 낱말은 오래된 {thing}에서 왔으며 본래 좁은 문을 뜻했다.
      {topic}{을} 과연 알 수 있는지는 {adj.ㄴ} 물음이다.`,
  },
};
