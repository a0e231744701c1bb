import type { DomainWords } from '../domain-words.ts';

export const insurance: DomainWords = {
  name: 'insurance',
  en: {
    who: `policyholder, claims adjuster, actuary, insurer, beneficiary, underwriter, broker, loss assessor, reinsurer, injured driver,
      homeowner, call centre agent`,
    thing: `policy, deductible, claim form, premium, accident report, life insurance policy, rider, no-claims bonus, car insurance
      quote, damage estimate, payout, renewal notice, insurance card, medical certificate, police report, household inventory, coverage
      limit, annuity, write-off, waiting period, surcharge, burst pipe, stolen bicycle, cracked windscreen, dental plan, liability
      cover, travel policy, exclusion clause, surveyor visit, roof repair, legal expenses cover, crop policy, pet policy, fire alarm,
      co-payment, grace period, mileage limit, dashcam video`,
    topic: `whiplash injuries, flood damage, identity theft cover, third-party liability, preexisting conditions, insurance fraud, risk
      pooling, disability benefits, hail damage, underinsurance, accident forgiveness, policy cancellation, moral hazard, wear and
      tear, personal liability, long-term care, business interruption, mortality tables, theft abroad, natural disasters`,
    act: `file a claim, renew the policy, pay the premium, assess the damage, reject a claim, name a beneficiary, cancel the cover,
      raise the deductible, investigate a fraud, settle the case, compare quotes, report an accident, insure the jewellery, exclude
      flood damage, reimburse the hospital, calculate the risk, send photos of the dent, appeal the decision, waive the excess,
      underwrite the building`,
    adj: `covered, uninsured, comprehensive, at-fault, reimbursable, lapsed, excluded, supplementary, accidental, covered-in-full,
      high-risk, retroactive, mandatory, waterlogged, voluntary, joint`,
    unit: `2-30 years of cover, 100-900 euros of excess, 5-60 claims, 14-90 days`,
    frame: `Policy {code} covers {topic} up to {money}, less the deductible.
      The {who} must report the {thing} within {number} days of the accident.
      Your premium rises by {percent} because of two claims in {year}.
      Damage from {topic} is not {adj} unless you added the optional rider.
      After the storm, the insurer paid {money} for {a} {adj} {thing}.
      Drivers under {number} pay more, since their accident rate is higher.
      Please send the {thing} and {number} photos to {email}.`,
  },
  ko: {
    who: `보험 가입자, 손해 사정사, 계리사, 보험사, 수익자, 심사역, 보험 설계사, 재보험사, 사고 운전자, 집주인, 상담원, 피해자`,
    thing: `보험 증권, 자기 부담금, 청구서, 보험료, 사고 보고서, 종신 보험, 특약, 무사고 할인, 견적, 손해액, 보험금, 갱신 안내문, 보험 카드, 진단서, 경찰 확인서,
      보장 한도, 연금, 대기 기간, 할증, 누수, 도난 자전거, 깨진 유리창, 치아 보험, 책임 보험, 여행자 보험, 면책 조항, 현장 조사, 지붕 수리, 농작물 보험,
      반려동물 보험, 화재 경보기, 유예 기간, 블랙박스 영상, 실손 보험, 운전자 보험`,
    topic: `목 부상, 침수 피해, 명의 도용, 제삼자 배상, 기왕증, 보험 사기, 위험 분산, 장해 급여, 우박 피해, 과실 비율, 계약 해지, 도덕적 해이, 자연 마모,
      일상 배상 책임, 장기 요양, 영업 중단, 사망률, 해외 도난`,
    act: `보험금을 청구, 계약을 갱신, 보험료를 납부, 피해를 조사, 청구를 거절, 수익자를 지정, 계약을 해지, 특약을 추가, 사기를 적발, 합의금을 지급,
      견적을 비교, 사고를 신고, 귀금속을 보험에 들/들어, 병원비를 환급, 위험을 계산, 사진을 보내/보내, 결정에 이의를 제기, 자기 부담금을 내/내,
      과실을 따지/따져, 서류를 챙기/챙겨`,
    adj: `포괄적이/포괄적이어, 필수적이/필수적이어, 충분, 부족, 까다롭/까다로워, 억울, 정당, 저렴, 복잡, 신속, 유리, 불리`,
    unit: `2-30년, 5-60건, 14-90일`,
    frame: `증권 번호 {code} 계약은 {topic}{을} {money}까지 보장합니다.
      {who}{은} 사고가 난 날부터 {number}일 안에 {thing}{을} 내야 한다.
      {year}년에 사고가 두 번 있어 보험료가 {percent} 오릅니다.
      특약에 가입하지 않으면 {topic}{은} 보상되지 않는다.
      폭풍이 지나간 뒤 보험사는 {thing} 비용으로 {money}{을} 지급했다.
      {number}세 미만 운전자는 사고율이 높아 보험료를 더 낸다.
      {thing}{과} 사진 {number}장을 {email}{으로} 보내 주세요.`,
  },
};
