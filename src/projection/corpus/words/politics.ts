import type { DomainWords } from '../domain-words.ts';

export const politics: DomainWords = {
  name: 'politics',
  en: {
    who: `prime minister, senator, mayor, opposition party, voter, ambassador, lobbyist, city council, spokesperson, protester, election
      observer, president, foreign minister, civil servant, campaign manager`,
    thing: `ballot box, parliament, election campaign, referendum, bill, press conference, coalition, budget proposal, polling station,
      petition, demonstration, summit, constitution, debate, veto, electoral district, manifesto, sanction, cabinet, embassy, border
      crossing, ceasefire, opinion poll, protest march, visa ban, scandal, committee, trade deal, inauguration, white paper, speech,
      refugee camp, runoff, motion of no confidence, campaign poster, caucus, decree, seat, town hall meeting, resolution`,
    topic: `foreign policy, voter turnout, corruption, tax reform, immigration, national security, press freedom, climate policy, housing
      policy, human rights, public debt, welfare spending, separation of powers, local government, gun control, defence spending,
      lobbying rules, pension reform, populism, child poverty`,
    act: `vote for the bill, win a majority, resign over a scandal, veto the budget, negotiate a ceasefire, call an early election, debate
      the reform, form a coalition, impose sanctions, recount the ballots, sign a trade deal, campaign in the suburbs, expel a
      diplomat, ratify the treaty, answer the press, raise the retirement age, hold a referendum, lead the opposition, dissolve
      parliament, cut public spending`,
    adj: `democratic, conservative, bipartisan, corrupt, liberal, controversial, elected, diplomatic, authoritarian, constitutional,
      left-wing, municipal, unpopular, federal, outgoing, grassroots`,
    unit: `2-90 seats, 3-12 weeks of campaigning, 100-9000 signatures, 2-6 years in office`,
    frame: `With {percent} of votes counted, {person} leads by {number} points in {city}.
      Parliament rejected the {thing} by {number} votes to {number} on {weekday}.
      The {who} of {country} arrived in {city} for talks about {topic}.
      Turnout was {percent}, the lowest in {a} {adj} election since {year}.
      Under the new law, {a} {thing} needs {big} signatures to go ahead.
      The {adj} government promised {money} for {topic} before the vote.
      Thousands marched through {city} to protest against the {thing}.`,
  },
  ko: {
    who: `국무총리, 국회의원, 시장, 야당, 유권자, 대사, 로비스트, 시의회, 대변인, 시위대, 선거 감시단, 대통령, 외교부 장관, 공무원, 선거 대책 본부`,
    thing: `투표함, 국회, 선거 운동, 국민 투표, 법안, 기자 회견, 연립 정부, 예산안, 투표소, 청원, 집회, 정상 회담, 헌법, 토론회, 거부권, 선거구, 공약, 제재,
      내각, 대사관, 국경 검문소, 휴전 협정, 여론 조사, 행진, 추문, 위원회, 무역 협정, 취임식, 백서, 연설, 난민촌, 결선 투표, 불신임안, 벽보, 시행령, 의석,
      결의안, 당 대표`,
    topic: `외교 정책, 투표율, 부패, 조세 개혁, 이민, 국가 안보, 언론 자유, 기후 정책, 주거 정책, 인권, 나랏빚, 복지 지출, 권력 분립, 지방 자치, 총기 규제,
      국방비, 연금 개혁, 아동 빈곤`,
    act: `법안에 찬성, 과반을 얻/얻어, 추문으로 사임, 예산안을 거부, 휴전을 협상, 조기 총선을 치르/치러, 개혁안을 토론, 연립 정부를 구성, 제재를 부과,
      표를 다시 세/세, 무역 협정에 서명, 거리에서 유세, 외교관을 추방, 조약을 비준, 기자의 질문에 답, 은퇴 나이를 높이/높여, 국민 투표를 실시, 야당을 이끌/이끌어,
      의회를 해산, 지출을 줄이/줄여`,
    adj: `민주적이/민주적이어, 보수적이/보수적이어, 부패, 진보적이/진보적이어, 강경, 온건, 투명, 권위적이/권위적이어, 시급, 무책임, 공정, 거세/거세`,
    unit: `2-90석, 3-12주, 100-9000명의 서명`,
    frame: `{percent}{이} 개표된 지금 {person} 후보가 {city}에서 {number}%포인트 앞선다.
      국회는 {weekday} {thing}{을} 찬성 {number}표, 반대 {number}표로 부결했다.
      {country} {who}{은} {topic}{을} 논의하러 {city}에 도착했다.
      투표율은 {percent}{으로} {year}년 이후 가장 낮았다.
      새 법에 따르면 {thing}에는 {big}명의 서명이 필요하다.
      정부는 선거를 앞두고 {topic}에 {money}{을} 쓰겠다고 약속했다.
      시민 수천 명이 {thing}에 반대하며 {city} 거리를 행진했다.`,
  },
};
