import type { DomainWords } from '../domain-words.ts';

export const history: DomainWords = {
  name: 'history',
  en: {
    who: `emperor, historian, peasant, archaeologist, queen, rebel army, monk, merchant, explorer, knight, colonial governor, scribe,
      dynasty, general, diplomat, chronicler`,
    thing: `battle, fortress, empire, manuscript, coin, siege, trade route, coronation, tomb, monastery, revolution, treaty, peace
      conference, uprising, inscription, pyramid, crusade, kingdom, plague, caravan, sword, aqueduct, royal decree, warship, excavation,
      burial mound, temple, colony, armistice, city wall, throne, pottery shard, feudal estate, census, guild, invasion, bronze mirror,
      chronicle, dagger, palace`,
    topic: `the industrial revolution, the slave trade, feudalism, oral tradition, ancient writing, colonial rule, the printing press,
      medieval towns, religious wars, women's suffrage, the silk trade, land reform, nationalism, royal succession, the bronze age,
      decolonisation, court ritual, naval warfare, military strategy, the fall of the old regime`,
    act: `besiege the capital, sign a peace treaty, conquer the northern provinces, excavate a burial mound, crown a new king, abolish
      serfdom, flee into exile, decipher the inscription, found a colony, burn the library, unite the clans, levy a salt tax,
      overthrow the monarchy, write a chronicle, defend the bridge, convert to a new faith, trade silk for horses, restore the palace,
      execute the conspirators, sail around the cape`,
    adj: `ancient, medieval, feudal, royal, colonial, prehistoric, imperial, bloody, short-lived, nomadic, legendary, wartime, exiled,
      decisive, bronze-age, dynastic`,
    unit: `2-90 years of rule, 200-9000 soldiers, 3-60 ships, 2-30 centuries`,
    frame: `In {year}, the {who} marched on {city} with {big} soldiers and took the {thing}.
      The {thing} of {city} was built under {person} and destroyed by fire in {year}.
      Few sources describe {topic} before {year}, and most were written by monks.
      After {number} years of war, {country} lost its {adj} provinces.
      The {adj} {thing}, found near {city}, is dated to about {year}.
      Historians disagree on whether {topic} caused the {thing} of {year}.
      {person} ruled for {number} years and is remembered for {topic}.`,
  },
  ko: {
    who: `황제, 역사학자, 농민, 고고학자, 왕비, 반란군, 승려, 상인, 탐험가, 장군, 총독, 사관, 왕조, 외교관, 의병, 선비`,
    thing: `전투, 성, 제국, 필사본, 동전, 포위전, 교역로, 즉위식, 무덤, 수도원, 혁명, 조약, 봉기, 비문, 탑, 왕국, 역병, 칼, 수로, 왕명, 군함, 발굴 현장,
      고분, 사찰, 식민지, 휴전, 성벽, 왕좌, 토기 조각, 장원, 호적, 길드, 청동 거울, 연대기, 궁궐, 족보, 봉수대, 서원, 과거 시험, 독립 선언서`,
    topic: `산업 혁명, 노예 무역, 봉건제, 구전 설화, 고대 문자, 식민 통치, 인쇄술, 중세 도시, 종교 전쟁, 여성 참정권, 비단 무역, 토지 개혁, 민족주의, 왕위 계승,
      청동기 시대, 독립운동, 궁중 의례, 신분 제도, 해전`,
    act: `수도를 포위, 강화 조약을 체결, 북방을 정복, 고분을 발굴, 왕으로 즉위, 노비제를 폐지, 망명길에 오르/올라, 비문을 해독, 나라를 세우/세워, 궁궐을 불태우/불태워,
      부족을 통일, 세금을 거두/거둬, 왕조를 무너뜨리/무너뜨려, 역사서를 편찬, 성을 지키/지켜, 불교를 받아들이/받아들여, 말과 비단을 교환, 궁을 복원,
      의병을 일으키/일으켜, 사신을 보내/보내`,
    adj: `화려, 참혹, 오래되/오래돼, 유명, 강력, 짧/짧아, 신성, 부패, 결정적이/결정적이어, 유구, 위대`,
    unit: `2-90년의 통치, 200-9000명의 군사, 3-60척의 배`,
    frame: `{year}년 {who}{은} 군사 {big}명을 이끌고 {city}{을} 공격했다.
      {city}의 {thing}{은} {person} 때 지어졌으나 {year}년 화재로 사라졌다.
      {year}년 이전의 {topic}{을} 다룬 기록은 거의 남아 있지 않다.
      {number}년에 걸친 전쟁 끝에 {country}{은} 남쪽 영토를 잃었다.
      {city} 근처에서 발견된 {thing}{은} {year}년 무렵의 것으로 추정된다.
      학자들은 {topic}{이} {thing}의 원인이었는지를 두고 의견이 갈린다.
      {person}{은} {number}년 동안 나라를 다스렸으며 {topic}{으로} 기억된다.`,
  },
};
