import type { DomainWords } from '../domain-words.ts';

export const physics: DomainWords = {
  name: 'physics',
  en: {
    who: `physicist, research group, laboratory, theorist, graduate student, engineer, accelerator team, lecturer, experimenter`,
    thing: `electron, magnetic field, pendulum, photon, laser beam, wave function, lens, spring, vacuum chamber, particle, semiconductor,
      superconductor, neutron, circuit, oscillator, diffraction pattern, quantum state, interferometer, gravitational wave, prism,
      electric charge, heat engine, nucleus, thermocouple, spectrometer, boundary layer, resonator, shock wave, capacitor, isotope,
      crystal lattice, fluid, detector, beam splitter, projectile, rigid body, transistor, plasma, solenoid, black body`,
    topic: `conservation of energy, thermal conductivity, entropy, wave interference, quantum entanglement, friction, special relativity,
      angular momentum, surface tension, radioactive decay, heat transfer, turbulence, refraction, electromagnetic induction, elastic
      collisions, viscosity, phase transitions, superposition, compressible flow, statistical mechanics`,
    act: `measure the wavelength, cool the sample to four kelvin, scatter the electrons, accelerate a proton, derive the equation of
      motion, calibrate the detector, polarise the light, ionise the gas, solve the boundary value problem, detect a weak signal,
      absorb a photon, increase the pressure, excite the resonance, neglect air resistance, heat the plate uniformly, trap a single
      ion, compute the drag coefficient, reflect the beam, shield the experiment from noise, integrate over the volume`,
    adj: `linear, adiabatic, transparent, charged, oscillating, viscous, isothermal, superconducting, magnetic, incompressible,
      relativistic, dimensionless, elastic, turbulent, radioactive, symmetric`,
    unit: `2-900 newtons, 5-80 kelvin, 3-400 hertz, 10-900 nanometres, 2-60 teslas`,
    frame: `When the temperature falls below {quantity}, the {thing} becomes {adj}.
      The force on {a} {adj} {thing} is proportional to the square of its speed.
      We measured the {thing} at {quantity} and found an error of {percent}.
      Theory predicts that {a} {adj} {thing} loses energy by radiation.
      At low pressure, {topic} can be neglected and the {thing} moves freely.
      The results agree with {topic} within {percent} for every {thing} tested.
      Suppose {a} {thing} of mass {number} kilograms slides without friction.`,
  },
  ko: {
    who: `물리학자, 연구진, 실험실, 이론가, 대학원생, 공학자, 가속기 연구소, 강사`,
    thing: `전자, 자기장, 진자, 광자, 레이저, 파동 함수, 렌즈, 용수철, 진공 용기, 입자, 반도체, 초전도체, 중성자, 회로, 진동자, 회절 무늬, 양자 상태, 간섭계,
      중력파, 프리즘, 전하, 열기관, 원자핵, 온도계, 분광기, 경계층, 공진기, 충격파, 축전기, 동위 원소, 결정격자, 유체, 검출기, 포물체, 강체, 플라스마`,
    topic: `에너지 보존, 열전도율, 엔트로피, 파동의 간섭, 양자 얽힘, 마찰, 상대성 이론, 각운동량, 표면 장력, 방사성 붕괴, 열전달, 난류, 굴절, 전자기 유도,
      탄성 충돌, 점성, 상전이, 통계 역학`,
    act: `파장을 측정, 시료를 냉각, 전자를 산란시키/산란시켜, 양성자를 가속, 운동 방정식을 유도, 검출기를 보정, 빛을 편광시키/편광시켜, 기체를 이온화,
      경곗값 문제를 풀/풀어, 약한 신호를 검출, 광자를 흡수, 압력을 높이/높여, 공기 저항을 무시, 판을 고르게 가열, 이온을 가두/가둬, 항력 계수를 계산,
      빛을 반사, 잡음을 차단, 부피에 대해 적분, 진동을 일으키/일으켜`,
    adj: `선형적이/선형적이어, 투명, 무겁/무거워, 빠르/빨라, 균일, 불안정, 대칭적이/대칭적이어, 미세, 뜨겁/뜨거워, 차갑/차가워, 정밀, 강력`,
    unit: `2-900뉴턴, 5-80켈빈, 3-400헤르츠, 10-900나노미터`,
    frame: `온도가 {quantity} 아래로 내려가면 {thing}의 성질이 바뀐다.
      {thing}에 작용하는 힘은 속도의 제곱에 비례한다.
      {quantity}에서 {thing}{을} 측정했더니 오차가 {percent}{이었다}.
      이론에 따르면 {adj.ㄴ} {thing}{은} 빛을 내며 에너지를 잃는다.
      압력이 낮으면 {topic}{을} 무시해도 된다.
      실험 결과는 {percent} 안에서 {topic}{과} 일치했다.
      질량이 {number}킬로그램인 {thing}{이} 마찰 없이 미끄러진다고 하자.`,
  },
};
