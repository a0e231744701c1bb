import type { DomainWords } from '../domain-words.ts';

export const vehicles: DomainWords = {
  name: 'vehicles',
  en: {
    who: `mechanic, test driver, cyclist, carmaker, motorcyclist, pedestrian, used-car dealer, bus driver, pilot, train conductor,
      traffic police officer, driving instructor, aircraft engineer, tram operator`,
    thing: `engine, brake pad, electric car, gear lever, tyre, spark plug, bicycle, traffic light, helicopter, car park, motorway exit,
      headlight, motorcycle, jet engine, windscreen wiper, runway, airbag, fuel tank, charging station, roundabout, exhaust pipe,
      driving licence, clutch, minibus, wing flap, level crossing, hubcap, steering wheel, railway bridge, propeller blade, tunnel,
      number plate, wing, cockpit, cargo bike, seat belt, tow truck, speed camera, tram stop, landing gear`,
    topic: `fuel consumption, road safety, self-driving cars, traffic jams, aerodynamics, engine noise, parking fees, bike lanes, exhaust
      fumes, lift and drag, oil changes, drink-driving, car sharing, braking distance, airworthiness, range anxiety, rush hour, tyre
      pressure, high-speed rail, road tolls`,
    act: `change the oil, overtake a lorry, fasten the seat belt, park the van, test the airbag, repair the gearbox, land the plane, brake
      on wet asphalt, charge the car, inflate the tyres, reverse into the garage, fail the inspection, stall at the crossing, pedal
      uphill, refuel the helicopter, swerve to the left, lower the landing gear, tow the wreck, board the tram, lose control in a bend`,
    adj: `diesel, four-wheel-drive, supersonic, rear-mounted, second-hand, driverless, streamlined, overheated, roadworthy, turbocharged,
      noisy, airborne, rusty, fuel-efficient, hybrid, bumpy`,
    unit: `20-900 kilometres an hour, 40-600 horsepower, 3-14 litres of petrol, 1000-9000 metres of altitude`,
    frame: `The new {adj} model from {company} reaches {quantity} and costs {money}.
      At {quantity}, the air flow over the {thing} becomes unsteady and the drag rises.
      Check the {thing} every {number} kilometres and replace it when it is worn.
      Trains between {city} and {city} are replaced by buses until {date}.
      My car is {adj} and makes a grinding sound when I touch the {thing}.
      A lorry overturned near {city} at {time} and blocked the road for {number} hours.
      In {country} you must carry {a} {thing} and a warning triangle.`,
  },
  ko: {
    who: `정비사, 시험 운전자, 자전거 이용자, 자동차 회사, 오토바이 운전자, 보행자, 중고차 상인, 버스 기사, 조종사, 기관사, 교통경찰, 운전 강사, 항공 기술자`,
    thing: `엔진, 브레이크, 전기차, 변속 레버, 타이어, 점화 플러그, 자전거, 신호등, 헬리콥터, 주차장, 고속도로 출구, 전조등, 오토바이, 제트 엔진, 와이퍼, 활주로,
      에어백, 연료 탱크, 충전소, 회전 교차로, 배기관, 운전면허증, 승합차, 보조 날개, 철도 건널목, 운전대, 철교, 터널, 번호판, 날개, 조종석, 화물 자전거, 안전띠,
      견인차, 과속 단속기, 정류장, 착륙 장치, 하이브리드 차`,
    topic: `연비, 도로 안전, 자율 주행, 교통 체증, 공기 역학, 엔진 소음, 주차 요금, 자전거 도로, 배기가스, 양력과 항력, 음주 운전, 차량 공유, 제동 거리,
      감항성, 출퇴근 시간, 타이어 압력, 고속 철도, 통행료`,
    act: `엔진 오일을 갈/갈아, 화물차를 추월, 안전띠를 매/매, 차를 주차, 에어백을 시험, 변속기를 수리, 비행기를 착륙시키/착륙시켜, 빗길에서 제동, 전기차를 충전,
      타이어에 바람을 넣/넣어, 차고로 후진, 검사에서 떨어지/떨어져, 교차로에서 멈추/멈춰, 오르막을 오르/올라, 헬리콥터에 급유, 왼쪽으로 방향을 틀/틀어,
      착륙 장치를 내리/내려, 사고 차를 견인, 전차를 타/타, 굽은 길에서 미끄러지/미끄러져`,
    adj: `빠르/빨라, 느리/느려, 날렵, 튼튼, 시끄럽/시끄러워, 낡/낡아, 조용, 위험, 과열되/과열돼, 경제적이/경제적이어, 널찍, 매끈`,
    unit: `20-900킬로미터, 40-600마력, 3-14리터`,
    frame: `{company}의 새 차는 {number}마력이고 값은 {money}{이다}.
      속도가 {quantity}{을} 넘으면 {thing} 위의 공기 흐름이 불안정해지고 항력이 커진다.
      {number}킬로미터마다 {thing}{을} 점검하고 닳으면 바꾸세요.
      {city}{과} {city} 사이 열차는 {date}까지 버스로 대체됩니다.
      {thing}{을} 건드리면 차에서 긁히는 소리가 나요.
      {time}쯤 {city} 근처에서 화물차가 뒤집혀 길이 {number}시간 동안 막혔다.
      {country}에서는 {thing}{과} 삼각대를 꼭 싣고 다녀야 한다.`,
  },
};
