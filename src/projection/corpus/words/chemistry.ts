import type { DomainWords } from '../domain-words.ts';

export const chemistry: DomainWords = {
  name: 'chemistry',
  en: {
    who: `chemist, lab technician, pharmaceutical company, catalyst researcher, chemical plant, toxicologist, doctoral student, polymer
      scientist, brewery lab, glassmaker, dye works`,
    thing: `molecule, test tube, catalyst, polymer, solvent, acid, crystal, pipette, chemical bond, alloy, reagent, beaker, titration
      curve, salt solution, battery cell, oxide, Bunsen burner, chain of carbon atoms, fume hood, ion, hydrocarbon, precipitate,
      centrifuge, electrode, distillation column, pigment, buffer, litmus strip, amino acid, resin, hazard label, flask, metal, filter
      paper, gas cylinder, detergent, fuel cell, stopcock, spectrum, membrane`,
    topic: `oxidation, organic synthesis, reaction kinetics, acid rain, electrolysis, chirality, water hardness, toxicity, combustion,
      gas chromatography, solubility, hydrogen bonding, surface chemistry, plastic recycling, corrosion of iron, green chemistry,
      fermentation of sugar, thermal decomposition, explosive mixtures, waste disposal`,
    act: `dissolve the salt, titrate the acid, distil the ethanol, heat the flask, neutralise the spill, filter the precipitate, balance
      the equation, synthesise a polymer, add a drop of indicator, evaporate the solvent, crystallise the product, reduce the copper
      oxide, wear safety goggles, dilute the sample, catalyse the reaction, store the acid in glass, electrolyse the water, weigh the
      powder, stir the mixture, label the bottle`,
    adj: `soluble, acidic, alkaline, volatile, corrosive, inert, flammable, crystalline, colourless, toxic, odourless, saturated,
      metallic, exothermic, porous, anhydrous`,
    unit: `2-900 millilitres, 3-60 moles, 20-900 degrees, 5-90 grams per litre`,
    frame: `Add {quantity} of the {adj} solution drop by drop and stir for {number} minutes.
      The {thing} melts at {number} degrees and is {adj} in water.
      When the {thing} is heated, {a} {adj} gas escapes and the liquid turns blue.
      The yield was {percent} after {number} hours at room temperature.
      Store the {thing} away from light; it is {adj} and attacks the skin.
      A {thing} with {number} carbon atoms boils higher than {a} {adj} one.
      {topic} explains why the {thing} loses mass in moist air.`,
  },
  ko: {
    who: `화학자, 실험실 기사, 제약 회사, 촉매 연구자, 화학 공장, 독성학자, 박사 과정 학생, 고분자 과학자, 유리 제조사, 염색 공장`,
    thing: `분자, 시험관, 촉매, 고분자, 용매, 산, 결정, 피펫, 화학 결합, 합금, 시약, 비커, 적정 곡선, 소금 용액, 전지, 산화물, 알코올램프, 탄소 사슬, 이온,
      탄화수소, 침전물, 원심 분리기, 전극, 증류탑, 안료, 완충 용액, 리트머스 종이, 아미노산, 수지, 위험 표지, 플라스크, 금속, 거름종이, 가스통, 세제, 연료 전지,
      분광 자료, 분리막`,
    topic: `산화, 유기 합성, 반응 속도, 산성비, 전기 분해, 거울상 이성질, 물의 경도, 독성, 연소, 크로마토그래피, 용해도, 수소 결합, 표면 화학, 플라스틱 재활용,
      철의 부식, 친환경 화학, 당의 발효, 열분해, 폐기물 처리`,
    act: `소금을 녹이/녹여, 산을 적정, 에탄올을 증류, 플라스크를 가열, 산을 중화, 침전물을 거르/걸러, 반응식을 맞추/맞춰, 고분자를 합성, 지시약을 넣/넣어,
      용매를 증발시키/증발시켜, 생성물을 결정화, 산화 구리를 환원, 보안경을 쓰/써, 시료를 희석, 반응을 촉진, 물을 전기 분해, 가루의 무게를 재/재, 혼합물을 젓/저어,
      병에 이름표를 붙이/붙여, 기체를 모으/모아`,
    adj: `산성이/산성이어, 투명, 유독, 휘발성이/휘발성이어, 안정, 끈적, 무르/물러, 단단, 불순, 순수, 위험, 묽/묽어`,
    unit: `2-900밀리리터, 3-60몰, 5-90그램`,
    frame: `용액 {quantity}{을} 한 방울씩 넣고 {number}분 동안 저어 주세요.
      이 {thing}{은} {number}도에서 녹으며 물에 잘 섞이지 않는다.
      {thing}{을} 가열하면 기체가 빠져나가고 액체가 푸르게 변한다.
      상온에서 {number}시간 뒤 수율은 {percent}{이었다}.
      {thing}{은} {adj.고} 피부를 상하게 하니 빛이 없는 곳에 보관하세요.
      탄소가 {number}개인 {thing}{은} 끓는점이 더 높다.
      {thing}{이} 습한 공기에서 가벼워지는 까닭은 {topic} 때문이다.`,
  },
};
