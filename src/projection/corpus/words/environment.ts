import type { DomainWords } from '../domain-words.ts';

export const environment: DomainWords = {
  name: 'environment',
  en: {
    who: `park ranger, environmental agency, conservationist, hiker, logging company, water authority, recycling firm, geologist, island
      community, activist, cartographer, forester, diver`,
    thing: `rainforest, river delta, landfill, national park, plastic bag, volcano, glacier, wetland, oil spill, recycling bin, desert,
      mangrove, sewage plant, nature reserve, peninsula, waterfall, compost bin, sand dune, earthquake, mountain range, bird sanctuary,
      lake, wildfire, valley, fishing net, cave, peat bog, fjord, tree line, canyon, aquifer, island, hedgerow, microplastic particle,
      beach clean-up, plateau, geyser, estuary, meadow, hot spring`,
    topic: `deforestation, greenhouse gases, noise pollution, sustainable fishing, habitat loss, carbon footprints, soil contamination,
      rising sea levels, wildlife trade, ocean acidification, desertification, water scarcity, waste sorting, rewilding, plate
      tectonics, coral bleaching, groundwater, urban green spaces, population density, coastal erosion`,
    act: `protect the wetland, plant a thousand trees, recycle the glass, pollute the river, reduce emissions, ban plastic straws, restore
      a peat bog, clear the forest, map the coastline, erupt without warning, monitor the air quality, clean the beach, save a turtle,
      flow into the sea, dump toxic waste, cross the equator, reintroduce the lynx, drain the marsh, climb the volcano, sort the rubbish`,
    adj: `biodegradable, polluted, endangered, volcanic, carbon-neutral, untouched, mountainous, recyclable, toxic, coastal, protected,
      arid, forested, eco-friendly, uninhabited, brackish`,
    unit: `2-900 square kilometres, 100-8000 metres above sea level, 3-60 tonnes of waste, 2-90 species`,
    frame: `The {thing} covers {quantity} in the north of {country} and is home to {number} rare birds.
      By {year}, emissions in {city} should fall by {percent}.
      The river rises at {number} metres, flows past {city} and ends in {a} {adj} {thing}.
      Volunteers collected {number} bags of rubbish from {a} {adj} beach.
      Because of {topic}, the {thing} has lost {percent} of its area since {year}.
      {country} has {a} {adj} coast, two large lakes and {a} {thing} in the east.
      Throw {adj} packaging into the yellow bin and glass into the green one.`,
  },
  ko: {
    who: `국립공원 관리인, 환경청, 환경 운동가, 등산객, 벌목 회사, 수자원 공사, 재활용 업체, 지질학자, 섬 주민, 지도 제작자, 산림 감시원, 잠수부`,
    thing: `열대 우림, 삼각주, 매립지, 국립공원, 비닐봉지, 화산, 빙하, 습지, 기름 유출, 분리수거함, 사막, 맹그로브 숲, 하수 처리장, 자연 보호 구역, 반도, 폭포,
      퇴비 통, 모래 언덕, 지진, 산맥, 철새 도래지, 호수, 산불, 계곡, 어망, 동굴, 갯벌, 협곡, 지하수층, 섬, 미세 플라스틱, 해변 청소, 고원, 간헐천, 강어귀, 초원,
      온천, 분지`,
    topic: `삼림 벌채, 온실가스, 소음 공해, 지속 가능한 어업, 서식지 파괴, 탄소 발자국, 토양 오염, 해수면 상승, 야생 동물 거래, 해양 산성화, 사막화, 물 부족,
      쓰레기 분리배출, 판구조론, 산호 백화, 지하수, 도시 녹지, 인구 밀도`,
    act: `습지를 보호, 나무를 심/심어, 유리를 재활용, 강을 오염시키/오염시켜, 배출량을 줄이/줄여, 빨대를 금지, 갯벌을 복원, 숲을 베/베어, 해안선을 측량,
      갑자기 분화, 대기 질을 감시, 바닷가를 청소, 거북을 구조, 바다로 흘러가/흘러가, 폐기물을 버리/버려, 적도를 지나/지나, 늑대를 방사, 늪을 메우/메워,
      화산에 오르/올라, 쓰레기를 분류`,
    adj: `오염되/오염돼, 울창, 메마르/메말라, 험준, 깨끗, 희귀, 황량, 푸르/푸르러, 깊/깊어, 광활, 평평, 해롭/해로워`,
    unit: `2-900제곱킬로미터, 3-60톤, 2-90종`,
    frame: `{country} 북쪽의 {thing}{은} 넓이가 {quantity}에 이르고 희귀한 새 {number}종이 산다.
      {city}의 배출량은 {year}년까지 {percent} 줄어야 한다.
      강은 해발 {number}미터에서 시작해 {city}{을} 지나 {thing}{으로} 흘러든다.
      자원봉사자들이 바닷가에서 쓰레기 {number}자루를 모았다.
      {topic} 때문에 {thing} 면적이 {year}년 이후 {percent} 줄었다.
      {country}에는 긴 해안과 큰 호수 두 개, 그리고 동쪽의 {thing}{이} 있다.
      포장재는 노란 통에, 유리는 초록 통에 넣으세요.`,
  },
};
