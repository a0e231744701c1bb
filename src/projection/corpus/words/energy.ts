import type { DomainWords } from '../domain-words.ts';

export const energy: DomainWords = {
  name: 'energy',
  en: {
    who: `grid operator, electrician, utility, oil company, wind farm developer, energy regulator, miner, power plant operator, household,
      solar installer, drilling crew, meter reader`,
    thing: `power plant, transformer, solar cell, wind turbine, pipeline, coal mine, substation, smart meter, oil rig, fuse box, hydroelectric
      dam, reactor, power cable, heat pump, gas boiler, extension lead, pylon, battery pack, light bulb, generator, charging cable,
      refinery, uranium rod, electricity bill, cooling tower, blackout, barrel of oil, thermostat, socket, turbine blade, biogas
      digester, geothermal well, voltage regulator, storage tank, radiator valve, lamp post, district heating network, grid connection,
      inverter, petrol pump`,
    topic: `renewable energy, grid stability, peak demand, nuclear waste, feed-in tariffs, energy poverty, hydrogen storage, power outages,
      carbon capture, fuel prices, offshore wind, insulation, energy security, tidal power, peak oil, standby consumption, load
      shedding, natural gas imports, electric heating, efficiency standards`,
    act: `generate electricity, install solar panels, shut down a reactor, balance the grid, drill a well, burn coal, store heat in
      water, insulate the loft, read the meter, restore the power, lay a cable under the sea, flare the gas, wire a socket, cut the
      standby losses, refine crude oil, switch off the lights, turn down the thermostat, replace a fuse, dam the river, charge the
      battery overnight`,
    adj: `renewable, high-voltage, coal-fired, offshore, rechargeable, gas-powered, low-carbon, energy-saving, nuclear, geothermal,
      overloaded, solar-powered, combustible, earthed, wasteful, decommissioned`,
    unit: `2-900 megawatts, 3-60 kilowatt-hours, 5-90 volts, 10-400 barrels a day`,
    frame: `The {adj} plant near {city} supplies {big} homes with {number} megawatts of power.
      In {year}, {country} covered {percent} of its demand with wind and sun.
      A {thing} saves about {money} a year if it replaces an old boiler.
      Power was out for {number} hours after a tree fell on {a} {thing}.
      Never open the {thing} before the main switch is off.
      {company} will build {a} {adj} {thing} for {money} off the coast of {country}.
      Because of {topic}, electricity costs {percent} more in the evening.`,
  },
  ko: {
    who: `전력망 운영자, 전기 기사, 전력 회사, 정유사, 풍력 개발사, 에너지 규제 기관, 광부, 발전소 운영원, 가구, 태양광 설치 업체, 시추팀, 검침원`,
    thing: `발전소, 변압기, 태양 전지, 풍력 터빈, 송유관, 탄광, 변전소, 스마트 계량기, 시추선, 두꺼비집, 수력 댐, 원자로, 전선, 열펌프, 가스보일러, 멀티탭, 송전탑,
      배터리, 전구, 발전기, 충전 케이블, 정유 공장, 우라늄 연료, 전기 요금 고지서, 냉각탑, 정전, 원유, 온도 조절기, 콘센트, 터빈 날개, 바이오가스 시설,
      지열 우물, 전압 조정기, 저장 탱크, 가로등, 지역난방, 주유기, 연탄`,
    topic: `재생 에너지, 전력망 안정, 최대 수요, 방사성 폐기물, 고정 가격 매입, 에너지 빈곤, 수소 저장, 대규모 정전, 탄소 포집, 기름값, 해상 풍력, 단열,
      에너지 안보, 조력 발전, 대기 전력, 부하 차단, 천연가스 수입, 전기 난방, 효율 기준`,
    act: `전기를 생산, 태양광 패널을 설치, 원자로를 정지, 전력망을 조절, 유정을 뚫/뚫어, 석탄을 태우/태워, 열을 저장, 지붕을 단열, 계량기를 읽/읽어, 전력을 복구,
      해저에 전선을 깔/깔아, 콘센트를 배선, 대기 전력을 줄이/줄여, 원유를 정제, 불을 끄/꺼, 난방 온도를 낮추/낮춰, 퓨즈를 갈/갈아, 강에 댐을 쌓/쌓아, 밤새 충전,
      송전탑을 세우/세워`,
    adj: `친환경적이/친환경적이어, 고압이/고압이어, 효율적이/효율적이어, 낭비가 심, 안정적이/안정적이어, 과열되/과열돼, 값비싸/값비싸, 깨끗, 위험, 무한,
      노후, 강력`,
    unit: `2-900메가와트, 3-60킬로와트시, 5-90볼트`,
    frame: `{city} 근처 발전소는 {big}가구에 {quantity}의 전력을 보낸다.
      {year}년 {country}{은} 수요의 {percent}{을} 바람과 햇빛으로 채웠다.
      낡은 보일러를 {thing}{으로} 바꾸면 한 해에 {money}쯤 아낄 수 있다.
      나무가 {thing} 위로 쓰러져 {number}시간 동안 전기가 끊겼다.
      주 전원을 내리기 전에는 {thing}{을} 열지 마세요.
      {company}{은} {country} 앞바다에 {money}{을} 들여 {thing}{을} 짓는다.
      {topic} 때문에 저녁 전기 요금이 {percent} 더 비싸다.`,
  },
};
