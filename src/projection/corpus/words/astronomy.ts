import type { DomainWords } from '../domain-words.ts';

export const astronomy: DomainWords = {
  name: 'astronomy',
  en: {
    who: `astronomer, astronaut, space agency, mission controller, stargazer, observatory, rocket engineer, planetary scientist,
      cosmologist, amateur observer, crew member`,
    thing: `telescope, comet, galaxy, black hole, spacecraft, lunar crater, asteroid, space station, neutron star, rocket booster,
      supernova, exoplanet, solar panel, meteorite, orbit, rover, launch pad, spacesuit, red dwarf, nebula, eclipse, satellite, radio
      dish, moon, heat shield, star cluster, constellation, planetary ring, space probe, cosmic ray, sundial, airlock, ground station,
      ion thruster, meteor shower, quasar, payload, spectrograph, gas giant, docking port`,
    topic: `dark matter, solar wind, the expansion of the universe, zero gravity, light pollution, space debris, gravitational lensing,
      the cosmic microwave background, stellar evolution, planet formation, tidal forces, interstellar dust, water on Mars, space
      tourism, radio silence, celestial navigation, the habitable zone, sunspots, parallax, cosmic inflation`,
    act: `launch a satellite, observe a supernova, orbit the planet, land on the moon, point the telescope, repair the antenna, dock
      with the station, discover a comet, map the craters, enter the atmosphere, collect dust samples, lose radio contact, collapse
      into a black hole, fire the thrusters, photograph the rings, predict an eclipse, deploy the solar panels, measure the redshift,
      float in the cabin, count down to lift-off`,
    adj: `interstellar, lunar, cratered, luminous, unmanned, icy, distant, dusty, spinning, weightless, orbital, faint, cosmic,
      potentially habitable, reusable, burnt-out`,
    unit: `2-900 light-years, 3-60 orbits, 5-90 solar masses, 10-600 days in space`,
    frame: `The {adj} {thing} lies {quantity} away and can be seen in {month} without binoculars.
      Launch is planned for {date} at {time}, weather permitting.
      The {thing} takes {number} years to travel around its star.
      In {year}, {a} {adj} {thing} passed between the Earth and the Moon.
      Data from the {thing} show that {topic} is weaker than expected.
      After {quantity}, the crew returned and landed in {country}.
      {a} {adj} {thing} bends the light of galaxies behind it.`,
  },
  ko: {
    who: `천문학자, 우주 비행사, 우주국, 관제사, 별 관측가, 천문대, 로켓 공학자, 행성 과학자, 우주론 학자, 아마추어 관측자, 승무원`,
    thing: `망원경, 혜성, 은하, 블랙홀, 우주선, 달의 분화구, 소행성, 우주 정거장, 중성자별, 로켓, 초신성, 외계 행성, 태양 전지판, 운석, 궤도, 탐사차, 발사대,
      우주복, 적색 왜성, 성운, 일식, 인공위성, 전파 안테나, 달, 열 차폐막, 성단, 별자리, 행성 고리, 탐사선, 우주선 입자, 해시계, 지상국, 유성우, 퀘이사, 탑재체,
      분광기, 거대 가스 행성`,
    topic: `암흑 물질, 태양풍, 우주의 팽창, 무중력, 빛 공해, 우주 쓰레기, 중력 렌즈, 우주 배경 복사, 별의 진화, 행성의 형성, 조석력, 성간 먼지, 화성의 물,
      우주 관광, 천문 항법, 생명 가능 지대, 흑점, 시차`,
    act: `위성을 발사, 초신성을 관측, 행성을 공전, 달에 착륙, 망원경을 돌리/돌려, 안테나를 수리, 정거장에 도킹, 혜성을 발견, 지형을 지도로 만들/만들어,
      대기권에 진입, 먼지를 채집, 교신이 끊기/끊겨, 블랙홀로 붕괴, 추진기를 점화, 고리를 촬영, 일식을 예측, 전지판을 펼치/펼쳐, 적색 이동을 측정, 선실에 떠다니/떠다녀,
      지구로 귀환`,
    adj: `멀/멀어, 밝/밝아, 어둡/어두워, 차갑/차가워, 거대, 희미, 신비롭/신비로워, 뜨겁/뜨거워, 고요, 광대, 빠르/빨라, 둥글/둥글어`,
    unit: `2-900광년, 3-60바퀴, 10-600일`,
    frame: `{thing}{은} {quantity} 떨어져 있으며 {month}에는 맨눈으로도 볼 수 있다.
      날씨가 좋으면 {date} {time}에 발사할 예정입니다.
      이 {thing}{은} 별을 한 바퀴 도는 데 {number}년이 걸린다.
      {year}년에 {adj.ㄴ} {thing}{이} 지구와 달 사이를 지나갔다.
      {thing}에서 얻은 자료는 {topic}{이} 예상보다 약함을 보여 준다.
      승무원들은 {number}일 만에 {country}{으로} 돌아왔다.
      {adj.ㄴ} {thing}{은} 뒤쪽 은하의 빛을 휘게 한다.`,
  },
};
