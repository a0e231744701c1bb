import type { DomainWords } from '../domain-words.ts';

export const psychology: DomainWords = {
  name: 'psychology',
  en: {
    who: `psychologist, therapist, toddler, teenager, counsellor, psychiatrist, twin, sibling, social worker, newborn, support group,
      introvert, stepmother, caregiver`,
    thing: `memory test, panic attack, personality trait, habit, phobia, therapy session, nightmare, questionnaire, coping strategy, mood
      swing, diary, placebo, daydream, bias, attachment figure, temper tantrum, childhood memory, friendship, stereotype, marriage,
      emotion, optical illusion, reward, self-help book, breathing exercise, conflict, tantrum, dream, first impression, attention span,
      intelligence test, white lie, apology, hobby, birthday party, peer group, role model, secret, bedtime story, grudge`,
    topic: `social anxiety, self-esteem, grief, sleep deprivation, sibling rivalry, procrastination, addiction, body language, parenting
      styles, decision making, loneliness, anger management, peer pressure, emotional intelligence, postnatal depression, cognitive
      dissonance, short-term memory, mindfulness, screen time, midlife crisis`,
    act: `overcome a phobia, comfort a crying child, keep a diary, recall a traumatic event, set boundaries, forgive an old friend,
      suppress the anger, imitate the parents, seek professional help, meditate before sleep, break a habit, hide the feelings, argue
      about chores, reward good behaviour, trust a stranger, avoid eye contact, praise the effort, talk about the loss, fall in love,
      misjudge the risk`,
    adj: `anxious, impulsive, introverted, jealous, empathetic, depressed, stubborn, confident, shy, irrational, affectionate, resilient,
      moody, absent-minded, traumatic, optimistic`,
    unit: `2-14 sessions, 3-60 participants, 10-90 minutes of sleep, 2-12 weeks of therapy`,
    frame: `In the study, {number} {adj} children were shown {a} {thing} and asked what they felt.
      People who suffer from {topic} often feel {adj} in the evening.
      After {quantity}, {percent} of the group reported fewer nightmares.
      My {age}-year-old is {adj} whenever {a} {thing} comes up; what should I do?
      A {thing} is not an illness, but it can become one if it lasts for months.
      {topic} is more common among the young than among {adj} adults.
      She told her {who} that the {thing} made her {adj}.`,
  },
  ko: {
    who: `심리학자, 상담사, 유아, 청소년, 정신과 의사, 쌍둥이, 형제, 사회 복지사, 신생아, 자조 모임, 시어머니, 부모, 내성적인 사람`,
    thing: `기억력 검사, 공황 발작, 성격, 습관, 공포증, 상담, 악몽, 설문지, 대처 방법, 일기, 위약, 몽상, 편견, 애착 대상, 떼쓰기, 어린 시절 기억, 우정, 고정 관념,
      결혼, 감정, 착시, 보상, 심리학 책, 호흡 운동, 갈등, 꿈, 첫인상, 집중 시간, 지능 검사, 거짓말, 사과, 취미, 생일잔치, 또래 집단, 본보기, 비밀, 잔소리, 눈물`,
    topic: `사회 불안, 자존감, 슬픔, 수면 부족, 형제 간 경쟁, 미루는 버릇, 중독, 몸짓 언어, 양육 방식, 의사 결정, 외로움, 분노 조절, 또래 압력, 정서 지능,
      산후 우울증, 인지 부조화, 단기 기억, 명상, 화면 보는 시간, 중년의 위기`,
    act: `공포증을 극복, 우는 아이를 달래/달래, 일기를 쓰/써, 옛일을 떠올리/떠올려, 선을 긋/그어, 친구를 용서, 화를 참/참아, 부모를 따라, 도움을 구, 자기 전에 명상,
      습관을 고치/고쳐, 감정을 숨기/숨겨, 집안일로 다투/다퉈, 착한 행동을 칭찬, 낯선 사람을 믿/믿어, 눈길을 피, 노력을 인정, 상실에 대해 이야기, 사랑에 빠지/빠져,
      위험을 오판`,
    adj: `불안, 충동적이/충동적이어, 내성적이/내성적이어, 우울, 고집스럽/고집스러워, 다정, 수줍/수줍어, 무기력, 예민, 외롭/외로워, 낙천적이/낙천적이어, 느긋`,
    unit: `2-14회, 3-60명, 2-12주`,
    frame: `연구에서는 아이 {number}명에게 {thing}{을} 보여 주고 무엇을 느꼈는지 물었다.
      {topic}{으로} 힘든 사람은 저녁에 더 {adj.ㄴ} 기분을 느낀다.
      {number}주 뒤 참가자의 {percent}{이} 악몽이 줄었다고 답했다.
      {age}살 아이가 {thing} 때문에 자꾸 우는데 어떻게 해야 하나요?
      {thing}{은} 병이 아니지만 몇 달 동안 이어지면 병이 될 수 있다.
      {topic}{은} 어른보다 젊은 사람에게 더 흔하다.
      그는 {thing} 때문에 {adj.었다고} {who}에게 털어놓았다.`,
  },
};
