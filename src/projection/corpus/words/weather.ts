import type { DomainWords } from '../domain-words.ts';

export const weather: DomainWords = {
  name: 'weather',
  en: {
    who: `meteorologist, weather service, storm chaser, fisherman, climate scientist, pilot, harbour master, mountain rescue team,
      forecaster, gardener, road crew`,
    thing: `cold front, thunderstorm, rain gauge, hurricane, snowdrift, weather balloon, heat wave, barometer, tornado, umbrella, ice
      sheet, flood warning, cloud, lightning strike, monsoon, sea breeze, typhoon, rainbow, weather station, hailstone, dust storm,
      blizzard, jet stream, drought, satellite image, thaw, puddle, wind turbine, avalanche, pressure map, cloudburst, snowplough,
      anemometer, sandbag, ozone layer, dew point, forecast model, glacier, squall, raincoat`,
    topic: `air humidity, wind chill, freezing fog, seasonal forecasts, climate change, black ice, storm surge, ultraviolet radiation,
      air pollution, rainfall records, sea surface temperature, pollen counts, flash floods, cloud formation, spring frost, sunshine
      hours, urban heat, snow cover, visibility, tropical cyclones`,
    act: `forecast heavy snow, issue a flood warning, measure the rainfall, launch a weather balloon, evacuate the coastal villages,
      close the mountain pass, salt the roads, cancel the ferry, shelter from the hail, clear the snow, record the highest temperature,
      knock down power lines, freeze overnight, move inland, weaken over land, flood the cellars, carry an umbrella, melt the glacier,
      read the barometer, delay the flights`,
    adj: `humid, overcast, stormy, freezing, mild, gusty, drizzly, sunny, foggy, unseasonal, torrential, muggy, icy, sub-zero,
      windswept, scorching`,
    unit: `2-90 millimetres of rain, 5-160 kilometres an hour, 3-60 centimetres of snow, 2-40 degrees`,
    frame: `Tomorrow will be {adj} in {city}, with up to {quantity} and gusts from the west.
      A {adj} {weekday} in the north is followed by sunshine and {number} degrees in the south.
      The {thing} reached {country} at {time} and cut power to {big} homes.
      It was the {adj} {month} with the least rain since {year}.
      Drivers should expect {topic} on roads above {number} metres.
      Warm air from the sea rises, cools, and forms {a} {adj} {thing}.
      {who.pl} warn of {topic} in the valleys around {city}.`,
  },
  ko: {
    who: `기상학자, 기상청, 어민, 기후 과학자, 조종사, 항만 관리자, 산악 구조대, 예보관, 제설 작업반, 농민`,
    thing: `한랭 전선, 뇌우, 우량계, 태풍, 눈 더미, 기상 관측 기구, 폭염, 기압계, 회오리바람, 우산, 빙하, 홍수 경보, 먹구름, 번개, 장마, 해풍, 무지개,
      기상 관측소, 우박, 황사, 눈보라, 제트 기류, 가뭄, 위성 사진, 웅덩이, 풍력 발전기, 눈사태, 일기도, 소나기, 제설차, 풍속계, 모래주머니, 오존층, 이슬점,
      열대야, 비옷`,
    topic: `습도, 체감 온도, 짙은 안개, 장기 예보, 기후 변화, 빙판길, 해일, 자외선, 미세먼지, 강수량 기록, 해수면 온도, 꽃가루 농도, 돌발 홍수, 구름의 생성,
      봄 서리, 일조 시간, 도시 열섬, 적설량`,
    act: `폭설을 예보, 홍수 경보를 발령, 강수량을 측정, 관측 기구를 띄우/띄워, 해안 주민을 대피시키/대피시켜, 산길을 통제, 도로에 염화칼슘을 뿌리/뿌려,
      배편을 취소, 우박을 피, 눈을 치우/치워, 최고 기온을 기록, 밤새 얼/얼어, 내륙으로 이동, 육지에서 약해지/약해져, 우산을 챙기/챙겨, 비바람을 몰고 오/와,
      항공편이 늦어지/늦어져, 기압을 재/재, 창문을 닫/닫아, 가뭄을 견디/견뎌`,
    adj: `습, 흐리/흐려, 춥/추워, 포근, 쌀쌀, 화창, 덥/더워, 강, 건조, 맑/맑아, 세차/세차, 변덕스럽/변덕스러워`,
    unit: `2-90밀리미터, 3-60센티미터, 2-40도`,
    frame: `내일 {city}{은} 흐리고 비가 {number}밀리미터쯤 내리겠습니다.
      북쪽은 {adj.고} 남쪽은 {number}도까지 올라 따뜻하겠습니다.
      {thing}{이} {time}에 {country}{을} 덮쳐 {big}가구가 정전됐다.
      {year}년 이후 비가 가장 적게 온 {month}{이었다}.
      해발 {number}미터가 넘는 도로에서는 {topic}에 주의해야 한다.
      바다에서 온 따뜻한 공기가 올라가 식으면서 {thing}{을} 만든다.
      {who}{은} {city} 일대의 {topic}{을} 경고했다.`,
  },
};
