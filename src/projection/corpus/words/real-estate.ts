import type { DomainWords } from '../domain-words.ts';

export const realEstate: DomainWords = {
  name: 'real-estate',
  en: {
    who: `estate agent, tenant, landlord, architect, home buyer, property developer, surveyor, housing association, neighbour, caretaker,
      building contractor, interior designer, town planner`,
    thing: `apartment, studio flat, mortgage offer, floor plan, balcony, basement, garage, lease, open house, kitchen counter, detached
      house, skylight, attic, parking space, housing estate, brick wall, bathroom, staircase, building permit, security deposit, cottage,
      radiator, land register entry, roof terrace, driveway, penthouse, wooden floor, chimney, fireplace, mould stain, office block,
      warehouse conversion, plot of land, doorbell, lift, window frame, garden shed, utility bill, furnished room, viewing`,
    topic: `rent control, home staging, property tax, underfloor heating, zoning rules, damp walls, service charges, energy ratings,
      affordable housing, gentrification, noise from neighbours, subletting, moving costs, soundproofing, notice periods, house prices,
      planning permission, ground rent, co-ownership, interior design`,
    act: `sign the lease, view an apartment, renovate the kitchen, raise the rent, insulate the roof, knock down a wall, buy a plot of
      land, paint the ceiling, return the deposit, sublet a room, inherit a farmhouse, refuse the offer, move into a bungalow, fix the
      leaking tap, hand over the keys, bid on a townhouse, value the property, furnish the living room, build an extension, demolish
      the old mill`,
    adj: `furnished, spacious, sunny, damp, two-bedroom, refurbished, vacant, high-ceilinged, suburban, noisy, overpriced, detached,
      energy-efficient, rent-controlled, draughty, south-facing`,
    unit: `20-240 square metres, 2-6 bedrooms, 3-24 months of lease, 2-30 storeys`,
    frame: `For rent: {adj} flat of {quantity} in {city}, {money} a month, no pets.
      The house has {a} {adj} {thing} and lies {number} minutes from the station.
      House prices in {city} fell by {percent} between {month} and {month}.
      The {who} kept {money} of the deposit because of {a} damaged {thing}.
      Before you sign, check the {thing} for damp and ask about {topic}.
      {company} plans {number} flats, {a} {thing} and a playground by the canal.
      The sellers want {money}, which is too much for {a} {adj} house of that age.`,
  },
  ko: {
    who: `공인 중개사, 세입자, 집주인, 건축가, 매수인, 시행사, 감정 평가사, 주택 공사, 이웃, 관리인, 시공사, 실내 디자이너, 도시 계획가`,
    thing: `아파트, 원룸, 평면도, 발코니, 지하실, 차고, 임대차 계약서, 모델 하우스, 부엌, 단독 주택, 다락방, 주차장, 주택 단지, 벽돌담, 욕실, 계단, 건축 허가,
      보증금, 오두막, 난방기, 등기부, 옥상, 진입로, 마룻바닥, 굴뚝, 벽난로, 곰팡이, 사무실 건물, 토지, 초인종, 승강기, 창틀, 관리비 고지서, 오피스텔, 전셋집,
      재건축 단지, 빌라, 상가`,
    topic: `임대료 규제, 집 꾸미기, 재산세, 바닥 난방, 용도 지역, 결로, 관리비, 에너지 등급, 공공 임대, 도심 재개발, 층간 소음, 전대, 이사 비용, 방음,
      전세 사기, 집값, 건축 허가 절차, 공동 소유`,
    act: `계약서에 서명, 집을 보러 가/가, 부엌을 수리, 월세를 올리/올려, 지붕을 단열, 벽을 허물/허물어, 땅을 사/사, 천장을 칠, 보증금을 돌려주/돌려줘,
      방을 세놓/세놓아, 농가를 상속, 제안을 거절, 주택으로 이사, 새는 수도를 고치/고쳐, 열쇠를 넘기/넘겨, 경매에 참여, 부동산을 감정, 거실을 꾸미/꾸며,
      건물을 증축, 낡은 집을 철거`,
    adj: `넓/넓어, 좁/좁아, 아늑, 채광이 좋/좋아, 조용, 낡/낡아, 비어 있/있어, 시끄럽/시끄러워, 역에서 가깝/가까워, 쾌적, 눅눅, 깔끔`,
    unit: `20-240제곱미터, 3-24개월, 2-30층`,
    frame: `{city}에 있는 {quantity} {thing}{을} 월 {money}에 빌려 드립니다.
      이 집은 {thing}{이} {adj.고} 역에서 걸어서 {number}분 걸린다.
      {city} 집값은 {month}부터 {percent} 떨어졌다.
      {who}{은} {thing}{이} 망가졌다며 보증금에서 {money}{을} 뺐다.
      계약하기 전에 {thing}{을} 살피고 {topic}에 대해 물어보세요.
      {company}{은} 강가에 {number}가구와 {thing}{을} 지을 계획이다.
      {adj.ㄴ} 집치고 {money}{은} 너무 비싸다.`,
  },
};
