import type { DomainWords } from '../domain-words.ts';

export const biology: DomainWords = {
  name: 'biology',
  en: {
    who: `biologist, zookeeper, botanist, predator, marine biologist, geneticist, birdwatcher, ecologist, microbiologist, wolf pack,
      entomologist, breeder, zoologist`,
    thing: `cell membrane, protein, beetle, chromosome, enzyme, mammal, coral reef, fungus, virus, leaf, whale, neuron, food chain, egg,
      butterfly, fossil, bacterium, gene, antibody, frog, moss, tadpole, root, mitochondrion, hawk, spider web, seed, squirrel, mutation,
      jellyfish, nest, stem cell, hormone, octopus, orchid, lizard, parasite, bat, salmon, pigment`,
    topic: `photosynthesis, natural selection, cell division, animal migration, gene editing, hibernation, symbiosis, camouflage, protein
      folding, biodiversity, the immune response, mating behaviour, metamorphosis, plant reproduction, bird song, endangered species,
      genetic drift, gut bacteria, deep-sea life, DNA repair`,
    act: `shed its skin, lay eggs in the sand, sequence a genome, bind to the receptor, pollinate the flowers, hunt at night, digest
      cellulose, grow in the shade, replicate its DNA, build a nest, migrate to the south, infect the host, store fat for the winter,
      release a hormone, culture the cells, breathe through gills, mimic a wasp, feed on plankton, hatch in spring, classify a new
      species`,
    adj: `nocturnal, venomous, carnivorous, microscopic, warm-blooded, aquatic, extinct, edible, hairy, parasitic, photosynthetic,
      invasive, feathered, unicellular, dominant, migratory`,
    unit: `2-900 micrometres, 3-60 offspring, 5-90 grams, 2-40 metres below the surface`,
    frame: `The {adj} {thing} lives in rivers of {country} and weighs up to {quantity}.
      Inside the {thing}, sugar is broken down and energy is released.
      A female lays {number} eggs, which hatch after {number} days in warm water.
      Without {topic}, the {thing} could not survive the winter.
      Researchers in {city} found {a} {adj} {thing} that was thought extinct since {year}.
      The gene is switched on when {a} {adj} {thing} reaches the cell.
      About {percent} of known insects depend on {topic} in some way.`,
  },
  ko: {
    who: `생물학자, 사육사, 식물학자, 포식자, 해양 생물학자, 유전학자, 조류 관찰자, 생태학자, 미생물학자, 늑대 무리, 곤충학자, 육종가`,
    thing: `세포막, 단백질, 딱정벌레, 염색체, 효소, 포유류, 산호초, 곰팡이, 바이러스, 잎, 고래, 신경 세포, 먹이 사슬, 알, 나비, 화석, 세균, 유전자, 항체, 개구리,
      이끼, 올챙이, 뿌리, 미토콘드리아, 매, 거미줄, 씨앗, 다람쥐, 돌연변이, 해파리, 둥지, 줄기세포, 호르몬, 문어, 난초, 도마뱀, 기생충, 박쥐, 연어, 두루미`,
    topic: `광합성, 자연 선택, 세포 분열, 철새의 이동, 유전자 편집, 겨울잠, 공생, 보호색, 단백질 접힘, 생물 다양성, 면역 반응, 짝짓기 행동, 탈바꿈, 식물의 번식,
      새의 노래, 멸종 위기종, 장내 세균, 심해 생물`,
    act: `허물을 벗/벗어, 모래에 알을 낳/낳아, 유전체를 해독, 수용체에 결합, 꽃가루를 옮기/옮겨, 밤에 사냥, 섬유소를 소화, 그늘에서 자라/자라, 유전자를 복제,
      둥지를 짓/지어, 남쪽으로 이동, 숙주를 감염시키/감염시켜, 겨울을 위해 지방을 저장, 호르몬을 분비, 세포를 배양, 아가미로 숨을 쉬/쉬어, 벌을 흉내 내/내,
      플랑크톤을 먹/먹어, 봄에 부화, 새로운 종을 분류`,
    adj: `야행성이/야행성이어, 독이 있/있어, 작/작아, 거대, 희귀, 민감, 온순, 사납/사나워, 축축, 화려, 튼튼, 느리/느려`,
    unit: `2-900마이크로미터, 3-60마리, 5-90그램`,
    frame: `{country}의 강에 사는 {thing}{은} 무게가 {quantity}에 이른다.
      {thing} 안에서는 당이 분해되어 에너지가 나온다.
      암컷은 알을 {number}개 낳고, 알은 {number}일 뒤에 깨어난다.
      {topic}{이} 없다면 {thing}{은} 겨울을 넘기지 못한다.
      {city} 연구진은 {year}년 이후 사라진 줄 알았던 {adj.ㄴ} {thing}{을} 찾아냈다.
      {thing}{이} 세포에 닿으면 이 유전자가 작동한다.
      알려진 곤충의 {percent}{은} 어떤 식으로든 {topic}에 기대어 산다.`,
  },
};
