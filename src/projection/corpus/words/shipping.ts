import type { DomainWords } from '../domain-words.ts';

export const shipping: DomainWords = {
  name: 'shipping',
  en: {
    who: `freight forwarder, courier, dock worker, customs broker, warehouse manager, ship owner, lorry driver, consignee, pilot boat,
      port authority, forklift operator, dispatcher, charterer`,
    thing: `container, pallet, bill of lading, cargo ship, forklift, warehouse, parcel, tracking number, crane, delivery van, customs
      declaration, conveyor belt, oil tanker, loading dock, freight train, barcode, tugboat, anchor, shipping label, lighthouse,
      packing list, gangway, ballast tank, refrigerated truck, hull, letterbox, barge, propeller, return slip, cargo hold, weighbridge,
      bulk carrier, mooring line, drawbridge, seal, lorry, quay, airway bill, crate, delivery slot`,
    topic: `last-mile delivery, port congestion, customs clearance, fuel surcharges, piracy, demurrage, supply chain delays, cold chain
      logistics, dangerous goods, cash on delivery, route planning, stock levels, free-trade zones, salvage, import duty, damaged
      goods, maritime law, canal tolls, cross-docking, same-day shipping`,
    act: `load a container, clear customs, deliver a parcel, track a shipment, weigh the cargo, charter a vessel, stack the pallets, sign
      for a delivery, reroute the convoy, anchor outside the port, inspect the hull, insure the freight, label the crates, unload a
      barge, dispatch a courier, tow a tanker, lose a consignment, scan the barcode, return an item, cross the canal`,
    adj: `fragile, overdue, duty-free, perishable, seaworthy, bulky, oversized, inbound, refrigerated, uninsured, flammable, prepaid,
      waterproof, undeliverable, misrouted, seagoing`,
    unit: `2-900 containers, 3-60 tonnes of cargo, 4-22 knots, 2-40 days at sea`,
    frame: `Parcel {code} left {city} on {date} and should arrive within {number} working days.
      The {adj} vessel waited {quantity} outside {city} because of {topic}.
      Please put the {thing} next to the door and ring twice.
      A storm broke the {thing}, and {number} containers fell into the sea.
      Goods worth more than {money} need {a} {thing} and an invoice in English.
      The freight rate from {country} to {country} rose by {percent} in {month}.
      Your {adj} order {code} was returned, because nobody signed for it.`,
  },
  ko: {
    who: `운송 주선인, 택배 기사, 부두 노동자, 관세사, 창고 관리자, 선주, 화물차 기사, 수취인, 도선사, 항만 공사, 지게차 기사, 배차 담당자, 선원`,
    thing: `컨테이너, 화물 운반대, 선하 증권, 화물선, 지게차, 창고, 소포, 운송장 번호, 크레인, 배송 차량, 수입 신고서, 컨베이어, 유조선, 하역장, 화물 열차,
      바코드, 예인선, 닻, 배송 라벨, 포장 명세서, 냉동차, 선체, 우편함, 바지선, 프로펠러, 반품 전표, 화물칸, 계량대, 도개교, 봉인, 나무 상자, 항구, 물류 센터,
      완충재, 택배함, 선착장`,
    topic: `당일 배송, 항만 정체, 통관, 유류 할증료, 해적, 체선료, 공급망 지연, 저온 유통, 위험물, 착불, 경로 계획, 재고 수준, 자유 무역 지대, 해난 구조,
      관세, 파손, 해상법, 운하 통행료`,
    act: `컨테이너를 적재, 세관을 통과, 소포를 배달, 화물을 추적, 무게를 재/재, 선박을 용선, 상자를 쌓/쌓아, 물건을 받고 서명, 항로를 변경, 닻을 내리/내려,
      선체를 점검, 화물을 보험에 들/들어, 상자에 라벨을 붙이/붙여, 짐을 내리/내려, 기사를 보내/보내, 유조선을 예인, 물건을 분실, 바코드를 스캔, 상품을 반품,
      운하를 지나/지나`,
    adj: `깨지기 쉽/쉬워, 늦/늦어, 신속, 무겁/무거워, 거대, 안전, 정확, 빠듯, 눅눅, 단단, 혼잡, 꼼꼼`,
    unit: `2-900개의 컨테이너, 3-60톤, 2-40일`,
    frame: `{code} 소포는 {date}에 {city}에서 출발했고 {number}일 안에 도착할 예정입니다.
      {topic} 때문에 배가 {city} 앞바다에서 {number}일 동안 기다렸다.
      {thing}{은} 문 옆에 두고 초인종을 두 번 눌러 주세요.
      폭풍으로 {thing}{이} 부서져 컨테이너 {number}개가 바다에 빠졌다.
      {money}{이} 넘는 물품에는 영문 송장과 {thing}{이} 필요하다.
      {country}에서 {country}까지 가는 운임이 {month}에 {percent} 올랐다.
      받는 사람이 없어 주문 {code}{이} 반송되었습니다.`,
  },
};
