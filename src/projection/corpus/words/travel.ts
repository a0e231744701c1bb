import type { DomainWords } from '../domain-words.ts';

export const travel: DomainWords = {
  name: 'travel',
  en: {
    who: `tour guide, flight attendant, backpacker, hotel clerk, airline, travel agent, customs officer, hostel owner, taxi
      driver, cruise passenger, ranger, porter, concierge, honeymooner`,
    thing: `boarding pass, suitcase, passport, window seat, guidebook, hostel, train ticket, layover, ferry, souvenir, itinerary,
      beach resort, hiking trail, rental car, tent, backpack, museum pass, night bus, visa stamp, city map, minibar, balcony room,
      departure gate, luggage tag, mountain hut, sleeping bag, snorkel, harbour cruise, campsite, cable car, viewpoint, duty-free
      shop, embassy, phrasebook, power adapter, motel, check-in desk, castle tour, lagoon, platform`,
    topic: `jet lag, baggage rules, travel insurance, off-season discounts, airport security, lost luggage, overbooking, sunburn,
      altitude sickness, currency exchange, local customs, tipping, sightseeing, vaccination requirements, solo travel, packing
      light, visa-free entry, train strikes, family holidays, sustainable tourism`,
    act: `renew a passport, book a window seat, miss a connection, pack a suitcase, cancel a reservation, hire a scooter, exchange
      money at the airport, climb the bell tower, ask for a late checkout, cross the border on foot, upgrade to business class,
      haggle over a carpet, pitch a tent by the lake, swim in the bay, wander through the old town, photograph the waterfall, leave a
      bag at the station, share a taxi to the harbour, taste street food, apply for a tourist visa`,
    adj: `scenic, crowded, remote, touristy, all-inclusive, overpriced, breathtaking, exotic, cramped, sandy, picturesque,
      inexpensive, well-located, tropical, unspoilt, nonrefundable`,
    unit: `2-21 nights, 40-900 miles, 7-30 kilograms of baggage, 1-14 time zones`,
    frame: `The night train from {city} to {city} takes about {number} hours and has {adj} sleeping cars.
      Passengers who carry more than {quantity} must pay {money} at the desk.
      Our {thing} in {country} was {adj}, but the view over the bay made up for it.
      Flight {code} to {city} is delayed until {time} because of fog.
      In {month} the island is quiet, and {a} {thing} costs half as much as in August.
      Visitors from {country} need no visa for stays of up to {number} days.
      We walked along the coast for {quantity} and slept in {a} {adj} {thing}.`,
  },
  ko: {
    who: `여행사, 승무원, 가이드, 배낭여행객, 호텔 직원, 숙소 주인, 택시 기사, 관광객, 세관 직원, 신혼부부, 항공사, 선장`,
    thing: `여권, 항공권, 여행 가방, 창가 자리, 민박집, 게스트하우스, 환승편, 기념품, 전망대, 등산로, 렌터카, 텐트, 배낭, 안내서, 입장권, 야간 버스,
      해수욕장, 탑승구, 면세점, 유람선, 산장, 침낭, 케이블카, 온천, 야시장, 박물관, 폭포, 섬, 대사관, 환전소, 조식 뷔페, 수영장, 골목길, 성곽, 등대, 둘레길`,
    topic: `시차, 수하물 규정, 여행자 보험, 비수기 할인, 보안 검색, 분실물, 초과 예약, 고산병, 환율, 현지 풍습, 팁 문화, 예방 접종, 혼자 하는 여행, 짐 싸기,
      무비자 입국, 철도 파업, 가족 여행, 지속 가능한 관광`,
    act: `여권을 갱신, 좌석을 예약, 비자를 신청, 예약을 취소, 공항에서 환전, 국경을 통과, 짐을 싸/싸, 비행기를 놓치/놓쳐, 폭포를 구경, 숙소를 옮기/옮겨,
      스쿠터를 빌리/빌려, 바다에서 헤엄치/헤엄쳐, 시장에서 값을 깎/깎아, 사진을 찍/찍어, 해안 길을 걷/걸어, 호숫가에 텐트를 치/쳐, 현지 음식을 맛보/맛봐,
      가방을 역에 맡기/맡겨, 일정을 짜/짜, 노을을 감상`,
    adj: `한적, 복잡, 저렴, 이국적이/이국적이어, 쾌적, 불편, 멀/멀어, 가깝/가까워, 아름답/아름다워, 시끄럽/시끄러워, 안전, 비싸/비싸`,
    unit: `2-21박, 40-900킬로미터, 7-30킬로그램`,
    frame: `{city}에서 {city}까지 가는 야간 열차는 {number}시간쯤 걸린다.
      {country}에서 묵은 {thing}{은} {adj.었지만} 바다가 보여서 만족스러웠다.
      수하물이 {quantity}{을} 넘으면 창구에서 {money}{을} 더 내야 합니다.
      {city}행 {code}편은 안개 때문에 {time}까지 지연됩니다.
      {month}에는 섬이 조용하고 {thing} 요금도 절반으로 내려간다.
      {country} 국민은 {number}일까지 비자 없이 머무를 수 있다.
      우리는 해안을 따라 {quantity}{을} 걸은 뒤 {adj.ㄴ} {thing}에서 쉬었다.`,
  },
};
