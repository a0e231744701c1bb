import type { DomainWords } from '../domain-words.ts';

export const manufacturing: DomainWords = {
  name: 'manufacturing',
  en: {
    who: `machinist, assembly worker, plant manager, quality inspector, welder, supplier, maintenance crew, shift supervisor, toolmaker,
      process engineer, steelworks, foundry, subcontractor`,
    thing: `lathe, assembly line, gearbox, drill bit, prototype, robot arm, furnace, mould, conveyor, ball bearing, hydraulic press,
      spare part, gasket, blueprint, welding torch, sheet of steel, injection nozzle, valve, workpiece, packaging machine, rivet,
      calliper, boiler, circuit board, safety guard, milling cutter, casting, batch, pump, bolt, coolant tank, hopper, screw thread,
      crankshaft, pressure gauge, 3D printer, paint booth, control panel, extruder, sensor`,
    topic: `lean production, quality control, tool wear, preventive maintenance, work safety, tolerances, surface finish, downtime, raw
      material shortages, just-in-time delivery, scrap rate, noise protection, injection moulding, heat treatment, corrosion, metal
      fatigue, labour costs, additive manufacturing, energy use, batch traceability`,
    act: `weld the frame, calibrate the sensor, assemble the gearbox, drill a pilot hole, polish the casing, stop the assembly line,
      replace the bearing, inspect the seam, melt the scrap, cut the steel to size, grind the edge, lubricate the chain, tighten the
      bolts, reject a batch, coat the surface with zinc, press the sheet metal, test a prototype, retool the plant, harden the blade,
      solder the contacts`,
    adj: `stainless, defective, precision-made, automated, hydraulic, rust-proof, machined, welded, galvanised, worn-out, heat-resistant,
      modular, mass-produced, pneumatic, brittle, corroded`,
    unit: `2-90 millimetres, 100-9000 units a day, 5-60 bar, 20-900 revolutions a minute`,
    frame: `Line {number} was stopped at {time} because {a} {adj} {thing} blocked the feeder.
      Tighten the {thing} to {quantity}, then check it again after {number} hours.
      The plant in {city} makes {big} {thing.pl} a month with {number} workers.
      Each {thing} is measured twice, and {percent} are rejected.
      {company} moved the production of its {adj} {thing} to {country}.
      The {who} found that {topic} had doubled since {month}.
      Wear gloves when you remove the {thing}; the edges are sharp and hot.`,
  },
  ko: {
    who: `기계공, 조립 작업자, 공장장, 품질 검사원, 용접공, 납품 업체, 정비반, 교대 반장, 금형 기술자, 공정 기술자, 제철소, 주물 공장, 하청 업체`,
    thing: `선반, 조립 라인, 변속기, 드릴, 시제품, 로봇 팔, 용광로, 금형, 베어링, 유압 프레스, 예비 부품, 개스킷, 설계도, 용접기, 강판, 노즐, 밸브, 가공물,
      포장 기계, 리벳, 측정기, 보일러, 회로 기판, 안전 덮개, 절삭 공구, 주물, 펌프, 볼트, 냉각수 탱크, 나사, 크랭크축, 압력계, 3D 프린터, 도장 부스, 제어판,
      감지기, 톱니바퀴, 작업복`,
    topic: `린 생산, 품질 관리, 공구 마모, 예방 정비, 작업 안전, 허용 오차, 표면 처리, 가동 중단, 원자재 부족, 적시 납품, 불량률, 소음 방지, 사출 성형, 열처리,
      부식, 금속 피로, 인건비, 에너지 사용량`,
    act: `골조를 용접, 감지기를 보정, 변속기를 조립, 구멍을 뚫/뚫어, 표면을 연마, 라인을 멈추/멈춰, 베어링을 교체, 이음매를 검사, 고철을 녹이/녹여, 강판을 절단,
      모서리를 갈/갈아, 체인에 기름을 치/쳐, 볼트를 조이/조여, 불량품을 골라내/골라내, 아연으로 도금, 철판을 누르/눌러, 시제품을 시험, 공장을 증설, 칼날을 담금질,
      부품을 납땜`,
    adj: `정밀, 견고, 마모되/마모돼, 날카롭/날카로워, 단단, 녹슬/녹슬어, 매끄럽/매끄러워, 불량, 균일, 두껍/두꺼워, 얇/얇아, 자동화되/자동화돼`,
    unit: `2-90밀리미터, 100-9000개, 5-60바`,
    frame: `{thing}{이} 걸려 {number}번 라인이 {time}에 멈췄다.
      {thing}{을} {quantity}에 맞춘 뒤 {number}시간 후에 다시 확인하세요.
      {city} 공장은 직원 {number}명이 한 달에 {thing} {big}개를 만든다.
      모든 {thing}{은} 두 번 측정하며 {percent}{이} 불합격한다.
      {company}{은} {adj.ㄴ} {thing} 생산을 {country}{으로} 옮겼다.
      {who}{은} {month} 이후 {topic} 문제가 두 배로 늘었다고 보고했다.
      {thing}{을} 분리할 때는 뜨겁고 날카로우니 장갑을 끼세요.`,
  },
};
