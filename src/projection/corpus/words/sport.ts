import type { DomainWords } from '../domain-words.ts';

export const sport: DomainWords = {
  name: 'sport',
  en: {
    who: `goalkeeper, referee, sprinter, coach, striker, cyclist, gymnast, swimmer, tennis player, rookie, captain, defender, marathon
      runner, boxer, fan club, visiting team`,
    thing: `penalty kick, trophy, relay race, stadium, yellow card, scoreboard, racket, world record, semi-final, skateboard, medal,
      helmet, tackle, home run, free throw, transfer window, locker room, starting block, mountain stage, hurdle, net, sprint finish,
      surfboard, hat-trick, corner kick, jersey, tournament bracket, doping test, league table, rowing boat, punching bag, dumbbell,
      rebound, tiebreak, offside trap, bicycle, ski jump, whistle, fixture, pitch`,
    topic: `extra time, team spirit, strength training, injury prevention, video refereeing, youth academies, ticket prices, altitude
      training, fair play, match fixing, home advantage, relegation, stretching, sports nutrition, amateur football, endurance,
      winter sports, figure skating, ball possession, press coverage`,
    act: `score a late equaliser, win the relay, break a world record, save a penalty, train at altitude, pull a hamstring, serve an ace,
      lift the trophy, swim four lengths, receive a red card, retire from racing, lose on goal difference, dive for the ball, lead the
      breakaway, sign a new striker, warm up before the match, throw the javelin, coach the junior squad, ride without a helmet, jump
      the last hurdle`,
    adj: `undefeated, offside, injured, competitive, athletic, unbeaten, veteran, left-footed, rain-soaked, exhausted, promoted, agile,
      defensive, qualifying, sold-out, amateur`,
    unit: `2-42 kilometres, 3-90 minutes, 5-60 points, 2-12 goals`,
    frame: `{city} beat {city} {number} to {number} in front of {big} spectators.
      {person} won the {adj} final after a tiebreak that lasted {quantity}.
      The {who} was sent off in minute {number} for a foul near the {thing}.
      With {number} games to go, {company} sits at the top of the table.
      She ran {quantity} in the rain and missed the record by a second.
      The club from {country} paid {money} for {a} {adj} {who}.
      Coaches say that {topic} matters more than talent in the last lap.`,
  },
  ko: {
    who: `골키퍼, 심판, 단거리 선수, 감독, 공격수, 사이클 선수, 체조 선수, 수영 선수, 테니스 선수, 신인, 주장, 수비수, 마라토너, 권투 선수, 응원단, 원정팀`,
    thing: `승부차기, 우승컵, 계주, 경기장, 경고 카드, 전광판, 라켓, 세계 기록, 준결승, 메달, 헬멧, 태클, 홈런, 자유투, 이적 시장, 탈의실, 출발선, 허들, 골대,
      서핑 보드, 해트 트릭, 유니폼, 대진표, 도핑 검사, 순위표, 조정 경기, 아령, 리바운드, 연장전, 자전거, 스키 점프, 호루라기, 잔디, 결승선, 씨름판, 활`,
    topic: `연장 승부, 팀워크, 근력 운동, 부상 예방, 비디오 판독, 유소년 육성, 입장료, 고지대 훈련, 공정한 경기, 승부 조작, 홈 이점, 강등, 준비 운동, 식단 관리,
      생활 체육, 지구력, 겨울 스포츠, 피겨 스케이팅, 점유율`,
    act: `동점 골을 넣/넣어, 계주에서 우승, 세계 기록을 깨/깨, 승부차기를 막/막아, 고지대에서 훈련, 허벅지를 다치/다쳐, 강한 서브를 때리/때려,
      우승컵을 들/들어, 네 바퀴를 헤엄치/헤엄쳐, 퇴장을 당, 현역에서 은퇴, 골득실에서 밀리/밀려, 공을 향해 몸을 던지/던져, 선두를 달리/달려, 공격수를 영입,
      몸을 풀/풀어, 창을 던지/던져, 후배를 지도, 반칙을 범, 결승에 진출`,
    adj: `치열, 강, 노련, 날렵, 지치/지쳐, 부진, 완벽, 아쉽/아쉬워, 극적이/극적이어, 거칠/거칠어, 탄탄, 짜릿`,
    unit: `2-42킬로미터, 3-90분, 5-60점`,
    frame: `{city}{은} 관중 {big}명 앞에서 {city}{을} {number} 대 {number}{으로} 꺾었다.
      {person} 선수는 {adj.ㄴ} 결승에서 접전 끝에 금메달을 땄다.
      {who}{은} 후반 {number}분에 거친 반칙으로 퇴장당했다.
      {number}경기를 남겨 두고 {company}{이} 선두에 올라 있다.
      그는 빗속에서 {quantity}{을} 달렸지만 기록을 깨지 못했다.
      {country} 구단은 {who} 영입에 {money}{을} 썼다.
      감독은 마지막 순간에 {topic}{이} 승패를 가른다고 말했다.`,
  },
};
