import type { DomainWords } from '../domain-words.ts';

export const agriculture: DomainWords = {
  name: 'agriculture',
  en: {
    who: `farmer, beekeeper, dairy cooperative, agronomist, shepherd, grain trader, orchard owner, veterinarian, seed company, farmhand,
      fruit picker, vineyard manager, rice grower`,
    thing: `tractor, wheat field, greenhouse, plough, barn, irrigation channel, beehive, seedling, pesticide, combine harvester, dairy cow,
      apple orchard, compost heap, scarecrow, rice paddy, silo, fertiliser bag, fence, hay bale, pumpkin patch, weed, hoe, soil sample,
      goat, chicken coop, vineyard, potato crop, sprinkler, cabbage, milking machine, horse, olive grove, furrow, sheep, aphid, tobacco
      leaf, pasture, wheelbarrow, sickle, fish pond`,
    topic: `crop rotation, soil erosion, drought resistance, organic farming, harvest losses, pollination, animal welfare, livestock
      feed, water rights, no-till farming, late frost, grain prices, pest control, land leases, seed saving, vertical farming, fungal
      disease, soil fertility, rural labour, farm subsidies`,
    act: `plough the lower field, harvest the barley, milk the cows, prune the apple trees, sow winter wheat, spread manure, irrigate the
      rice paddies, shear the sheep, spray against aphids, store grain in a silo, rotate the crops, mow the meadow, thresh the oats,
      transplant the seedlings, feed the hens, mend a fence, vaccinate the calves, pick the grapes, weed the onions, plant a hedge`,
    adj: `fertile, organic, drought-tolerant, ripe, free-range, muddy, arable, blighted, seasonal, irrigated, barren, fallow, hardy,
      grass-fed, rural, stony`,
    unit: `2-900 hectares, 3-60 tonnes, 5-90 head of cattle, 10-400 litres of milk`,
    frame: `Heavy rain in {month} delayed the harvest, and {percent} of the {thing} was lost.
      A field of {quantity} near {city} yields about {number} tonnes of barley.
      {country} exports {big} tonnes of soybeans and imports most of its rice.
      The {who} keeps {number} goats and sells {adj} cheese at the market.
      Sow the seeds {number} centimetres deep, as soon as the soil is warm.
      Without {topic}, the {adj} fields by the river would not feed the village.
      {a} {thing} costs {money}, more than a small farm earns in a year.`,
  },
  ko: {
    who: `농부, 양봉가, 낙농 조합, 농학자, 목동, 곡물 상인, 과수원 주인, 수의사, 종자 회사, 농장 일꾼, 포도밭 관리인, 귀농인, 어부`,
    thing: `트랙터, 밀밭, 온실, 쟁기, 헛간, 관개 수로, 벌통, 모종, 농약, 콤바인, 젖소, 사과 과수원, 퇴비, 허수아비, 논, 곡물 창고, 비료, 울타리, 건초, 잡초,
      호미, 토양 시료, 염소, 닭장, 포도밭, 감자, 물뿌리개, 배추, 착유기, 고추, 진딧물, 목초지, 손수레, 낫, 양어장, 인삼밭, 비닐하우스, 보리, 콩`,
    topic: `돌려짓기, 토양 침식, 가뭄, 유기 농업, 수확량, 꽃가루받이, 동물 복지, 사료 가격, 물 이용권, 늦서리, 쌀값, 병해충 방제, 농지 임대, 씨앗 보존,
      수직 농장, 곰팡이병, 지력, 농촌 인력, 직불금`,
    act: `밭을 갈/갈아, 보리를 수확, 젖을 짜/짜, 사과나무를 가지치기, 밀을 심/심어, 거름을 뿌리/뿌려, 논에 물을 대/대, 양털을 깎/깎아, 진딧물을 방제,
      곡식을 저장, 풀을 베/베어, 콩을 타작, 모종을 옮겨 심/심어, 닭에게 모이를 주/줘, 울타리를 고치/고쳐, 송아지를 키우/키워, 포도를 따/따, 김을 매/매,
      모내기를 마치/마쳐, 고추를 말리/말려`,
    adj: `비옥, 건조, 잘 익/익어, 싱싱, 메마르/메말라, 질/질어, 풍성, 척박, 튼튼, 푸르/푸르러, 무르/물러, 촉촉`,
    unit: `2-900헥타르, 3-60톤, 5-90마리`,
    frame: `{month}에 내린 폭우로 수확이 늦어져 {thing} 피해가 {percent}에 달했다.
      {city} 근처의 {quantity} 밭에서는 보리가 {number}톤쯤 난다.
      {country}{은} 콩 {big}톤을 수출하고 쌀은 대부분 수입한다.
      {who}{은} 염소 {number}마리를 길러 시장에 치즈를 내다 판다.
      씨앗은 땅이 따뜻해지면 {number}센티미터 깊이로 심으세요.
      {topic}{이} 없다면 강가의 밭은 마을을 먹여 살리지 못할 것이다.
      새 {thing} 값은 {money}{으로} 작은 농가의 한 해 수입보다 많다.`,
  },
};
