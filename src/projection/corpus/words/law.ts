import type { DomainWords } from '../domain-words.ts';

export const law: DomainWords = {
  name: 'law',
  en: {
    who: `judge, defendant, plaintiff, notary, prosecutor, public defender, tenant, landlord, bailiff, juror, appeals court, law
      clerk, regulator, trustee, arbitrator`,
    thing: `contract, subpoena, verdict, lawsuit, clause, will, affidavit, patent, warrant, trademark, statute, witness statement,
      settlement, injunction, power of attorney, deed, court order, plea bargain, lease agreement, hearing, appeal, legal precedent,
      confidentiality agreement, summons, custody ruling, bylaw, testimony, fine, restraining order, objection, cross-examination,
      indictment, charter, loophole, licence, acquittal, ordinance, treaty, court docket, bail bond`,
    topic: `breach of contract, burden of proof, due process, copyright infringement, small claims, statutory limitation, consumer
      protection, negligence, intellectual property, inheritance law, unfair dismissal, data protection, freedom of speech,
      antitrust law, divorce proceedings, product liability, perjury, eviction, libel, presumption of innocence`,
    act: `sign a contract, file an appeal, dismiss the charges, cross-examine a witness, draft a will, enforce a court order, breach a
      confidentiality clause, sue for damages, plead not guilty, seize the evidence, overturn a conviction, register a trademark,
      settle out of court, issue a search warrant, waive a right, testify under oath, amend the statute, evict a tenant, grant
      probation, challenge the jurisdiction`,
    adj: `binding, null and void, unlawful, admissible, liable, criminal, contractual, retroactive, enforceable, unconstitutional,
      pending, fraudulent, statutory, judicial, negligent, reasonable`,
    unit: `2-30 years in prison, 14-90 days of notice, 3-40 pages of pleadings, 2-12 counts`,
    frame: `The court held that the {thing} was {adj} because it was signed under duress.
      Under section {number}, a tenant may end the lease with {number} days of written notice.
      The {who} argued that {topic} does not apply where both parties act in good faith.
      In {name} v. {company}, the judge awarded {money} in damages for {topic}.
      Any dispute arising from this {thing} shall be settled by the courts of {city}.
      The jury deliberated for {number} hours before it returned {a} {thing}.
      A {thing} that was obtained without a warrant is not admissible as evidence.`,
  },
  ko: {
    who: `판사, 피고인, 원고, 공증인, 검사, 국선 변호인, 임차인, 임대인, 배심원, 항소 법원, 로펌, 수사관, 증인, 헌법재판소`,
    thing: `계약서, 소환장, 판결, 소송, 조항, 유언장, 진술서, 특허, 영장, 상표, 법률, 합의서, 가처분, 위임장, 등기, 법원 명령, 임대차 계약, 공판, 항소,
      판례, 비밀 유지 약정, 고소장, 양육권, 벌금, 접근 금지 명령, 기소장, 조례, 면허, 무죄 판결, 조약, 보석금, 증거물, 공소 시효, 헌법, 시행령, 과태료`,
    topic: `계약 위반, 입증 책임, 적법 절차, 저작권 침해, 소액 사건, 소멸 시효, 소비자 보호, 과실, 지식 재산권, 상속법, 부당 해고, 개인정보 보호,
      표현의 자유, 독점 규제, 이혼 절차, 제조물 책임, 위증, 명예 훼손, 무죄 추정`,
    act: `계약서에 서명, 항소를 제기, 공소를 취소, 증인을 신문, 유언장을 작성, 명령을 집행, 손해 배상을 청구, 무죄를 주장, 증거를 압수, 원심을 파기, 상표를 등록,
      합의로 마무리, 영장을 발부, 권리를 포기, 법정에서 증언, 법률을 개정, 세입자를 내보내/내보내, 집행 유예를 선고, 관할을 다투/다퉈, 혐의를 부인`,
    adj: `적법, 무효이/무효여, 불법적이/불법적이어, 타당, 부당, 모호, 명백, 엄격, 공정, 가혹, 합리적이/합리적이어, 유효`,
    unit: `2-30년의 징역, 14-90일의 통지 기간, 3-40쪽의 준비 서면`,
    frame: `법원은 강박 상태에서 서명한 {thing}{은} 효력이 없다고 보았다.
      제{number}조에 따라 임차인은 {number}일 전에 서면으로 계약을 해지할 수 있다.
      {who}{은} 양쪽이 선의로 행동했다면 {topic}{이} 문제 되지 않는다고 주장했다.
      재판부는 {company}에 {topic}에 대한 배상금 {money}{을} 지급하라고 명령했다.
      이 {thing}{과} 관련된 분쟁은 {city} 지방법원을 관할로 한다.
      영장 없이 얻은 {thing}{은} 증거로 쓸 수 없다.
      {person} 변호사는 {topic}에 관한 사건을 {number}년째 맡고 있다.`,
  },
};
