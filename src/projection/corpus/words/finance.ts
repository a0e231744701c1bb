import type { DomainWords } from '../domain-words.ts';

export const finance: DomainWords = {
  name: 'finance',
  en: {
    who: `investor, central bank, accountant, broker, hedge fund, auditor, borrower, pension fund, treasurer, credit union, shareholder,
      tax adviser, market analyst, lender`,
    thing: `savings account, dividend, stock option, balance sheet, bond, mortgage, credit card, tax return, invoice, exchange rate,
      interest payment, portfolio, loan, startup, cash flow statement, debit note, index fund, overdraft, budget, bank transfer,
      share price, annual report, merger, deposit, derivative, audit report, pension plan, currency peg, ledger, margin call, rating,
      commodity, quarterly forecast, default, asset, receipt, wallet, subsidy, venture fund, payslip`,
    topic: `inflation, compound interest, capital gains tax, market volatility, quantitative easing, credit risk, working capital,
      foreign exchange, insider trading, retirement savings, fiscal deficit, liquidity, depreciation, money laundering, asset
      allocation, corporate governance, short selling, tax evasion, financial literacy, deflation`,
    act: `open a savings account, raise interest rates, hedge the currency risk, repay a loan early, diversify the portfolio, issue
      government bonds, file a tax return, transfer money abroad, write off a bad debt, buy back shares, cut the dividend, audit the
      books, underwrite an offering, default on a bond, balance the budget, charge an overdraft fee, forecast earnings, freeze the
      account, refinance the mortgage, lend at a fixed rate`,
    adj: `bullish, overvalued, liquid, solvent, taxable, fixed-rate, speculative, unsecured, bankrupt, quarterly, low-risk, fiscal,
      undervalued, volatile, tax-free, audited`,
    unit: `5-900 basis points, 2-30 years to maturity, 100-9000 shares, 3-60 monthly instalments`,
    frame: `Net profit of {company} rose by {percent} to {money} in the third quarter.
      The {who} expects inflation of {percent} and {a} {adj} market until {month}.
      A loan of {money} over {quantity} costs more than it seems at first.
      Shares of {company} fell {percent} after {a} {adj} {thing} was published.
      The central bank of {country} raised its rate by {quantity} on {weekday}.
      Anyone who sold {a} {thing} before {year} pays no tax on the gain.
      Keep {number} months of expenses in cash before you buy {a} {adj} {thing}.`,
  },
  ko: {
    who: `투자자, 중앙은행, 회계사, 증권사, 헤지 펀드, 감사인, 채무자, 연기금, 재무 담당자, 신용 협동조합, 주주, 세무사, 시장 분석가, 은행원`,
    thing: `적금, 배당금, 스톡옵션, 재무제표, 채권, 주택 담보 대출, 신용카드, 소득세 신고서, 청구서, 이자, 포트폴리오, 신생 기업, 지수 펀드, 마이너스 통장, 예산,
      계좌 이체, 주가, 연간 보고서, 합병, 예금, 파생 상품, 감사 보고서, 퇴직 연금, 장부, 신용 등급, 원자재, 분기 전망, 부도, 자산, 영수증, 보조금, 벤처 펀드,
      급여 명세서, 어음, 공모주, 현금`,
    topic: `물가 상승, 복리, 양도 소득세, 시장 변동성, 양적 완화, 신용 위험, 운전 자본, 외환, 내부자 거래, 노후 준비, 재정 적자, 유동성, 감가상각, 자금 세탁,
      자산 배분, 기업 지배 구조, 공매도, 탈세, 금융 교육`,
    act: `통장을 개설, 금리를 인상, 환율 위험을 회피, 대출을 상환, 자산을 분산, 국채를 발행, 세금을 신고, 해외로 송금, 부실 채권을 정리, 자사주를 매입,
      배당을 줄이/줄여, 장부를 감사, 예산을 편성, 수수료를 부과, 실적을 예측, 계좌를 동결, 주식을 팔/팔아, 보증을 서/서, 손실을 메우/메워, 원금을 갚/갚아`,
    adj: `안정적이/안정적이어, 과도, 투명, 건전, 불확실, 공격적이/공격적이어, 낮/낮아, 높/높아, 위험, 장기적이/장기적이어, 부실, 유망`,
    unit: `5-90베이시스포인트, 2-30년 만기, 100-9000주`,
    frame: `{company}의 3분기 순이익은 {percent} 늘어난 {money}{으로} 집계됐다.
      {who}{은} 올해 물가가 {percent} 오를 것으로 내다보았다.
      {money}{을} {number}년 동안 빌리면 이자 부담이 생각보다 크다.
      {adj.ㄴ} {thing}{이} 공개되자 {company} 주가가 {percent} 떨어졌다.
      {country} 중앙은행은 {weekday} 기준 금리를 동결하기로 했다.
      {year}년 이전에 산 {thing}에는 세금이 붙지 않는다.
      {thing}에 투자하기 전에 {number}개월 치 생활비를 현금으로 남겨 두세요.`,
  },
};
