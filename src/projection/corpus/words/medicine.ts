import type { DomainWords } from '../domain-words.ts';

export const medicine: DomainWords = {
  name: 'medicine',
  en: {
    who: `nurse, surgeon, patient, paediatrician, pharmacist, dentist, midwife, radiologist, paramedic, cardiologist, physiotherapist,
      dermatologist, general practitioner, anaesthetist, caregiver`,
    thing: `prescription, blood test, wheelchair, vaccine, stethoscope, X-ray image, painkiller, tumour, bandage, inhaler, thermometer,
      kidney stone, heart valve, hospital ward, antibiotic, allergy, ultrasound scan, waiting room, stroke, fracture, side effect,
      insulin pump, syringe, rash, hearing aid, hip replacement, blood vessel, infection, MRI scan, migraine, ambulance, dosage,
      diagnosis, transplant, pacemaker, fever, clinical trial, stretcher, surgical mask, ulcer`,
    topic: `high blood pressure, type 2 diabetes, chronic back pain, anaemia, asthma, postoperative care, hay fever, insomnia,
      pneumonia, arthritis, dehydration, high cholesterol, menopause, food poisoning, obesity, dementia, hand hygiene, wound healing,
      physical therapy, childhood immunisation`,
    act: `take a blood sample, prescribe an antibiotic, measure the blood pressure, stitch the wound, diagnose pneumonia, treat a burn,
      inject insulin, relieve the swelling, remove the appendix, monitor the heart rate, refer a patient to a specialist, sterilise
      the instruments, set a broken arm, vaccinate the children, swallow two tablets, discharge a patient, transplant a kidney,
      examine the throat, reduce the dose, screen for breast cancer`,
    adj: `chronic, acute, benign, contagious, painful, swollen, malignant, feverish, sterile, intravenous, hereditary, itchy,
      asymptomatic, congenital, inflamed, overweight`,
    unit: `5-500 milligrams, 2-14 days of treatment, 60-180 millilitres, 36-41 degrees of fever`,
    frame: `Take one tablet every {number} hours with food, and stop if {a} {adj} rash appears.
      The patient, aged {age}, was admitted with {topic} and {a} {adj} {thing}.
      In a trial of {big} adults, the new {thing} lowered the risk of {topic} by {percent}.
      See {a} {who} if the fever lasts longer than {number} days.
      Pregnant women should not receive this {thing} without asking {a} {who}.
      A dose of {quantity} is enough to relieve {adj} pain in most adults.
      Risk factors for {topic} include smoking, age and lack of exercise.`,
  },
  ko: {
    who: `간호사, 외과 의사, 환자, 소아과 의사, 약사, 치과 의사, 조산사, 응급 구조사, 물리치료사, 피부과 의사, 보호자, 마취과 의사, 주치의`,
    thing: `처방전, 혈액 검사, 휠체어, 백신, 청진기, 진통제, 종양, 붕대, 흡입기, 체온계, 신장 결석, 심장 판막, 병동, 항생제, 알레르기, 초음파 검사, 대기실,
      골절, 부작용, 인슐린, 주사기, 두드러기, 보청기, 인공 관절, 혈관, 감염, 편두통, 구급차, 진단서, 심박 조율기, 임상 시험, 들것, 마스크, 궤양, 응급실, 수술실`,
    topic: `고혈압, 당뇨병, 만성 요통, 빈혈, 천식, 수술 후 관리, 꽃가루 알레르기, 불면증, 폐렴, 관절염, 탈수, 고지혈증, 갱년기, 식중독, 비만, 치매, 손 씻기,
      상처 회복, 재활 치료`,
    act: `혈액을 채취, 항생제를 처방, 혈압을 측정, 상처를 봉합, 폐렴을 진단, 화상을 치료, 인슐린을 주사, 붓기를 가라앉히/가라앉혀, 맹장을 제거, 심박수를 관찰,
      전문의에게 의뢰, 기구를 소독, 부러진 팔을 고정, 아이에게 예방 접종, 알약을 삼키/삼켜, 환자를 퇴원시키/퇴원시켜, 신장을 이식, 목 안을 살피/살펴,
      용량을 줄이/줄여, 암을 조기에 발견`,
    adj: `만성적이/만성적이어, 급성이/급성이어, 심각, 가렵/가려워, 아프/아파, 위험, 창백, 건강, 어지럽/어지러워, 위독, 민감, 경미`,
    unit: `5-500밀리그램, 2-14일, 60-180밀리리터`,
    frame: `이 약은 식후 {number}시간마다 한 알씩 먹고, 발진이 생기면 바로 중단하세요.
      {age}세 환자가 {topic}{과} {adj.ㄴ} 통증으로 입원했다.
      성인 {big}명이 참여한 시험에서 새 {thing}{은} {topic} 위험을 {percent} 낮추었다.
      열이 {number}일 넘게 이어지면 {who}{을} 찾아가야 한다.
      임신 중에는 {who}{과} 상의하지 않고 {thing}{을} 쓰면 안 됩니다.
      {topic}의 위험 요인에는 흡연과 나이, 운동 부족이 있다.
      수술 뒤 {number}주 동안은 무거운 물건을 들지 않는 것이 좋다.`,
  },
};
