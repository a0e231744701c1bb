import type { DomainWords } from '../domain-words.ts';

export const humanResources: DomainWords = {
  name: 'human-resources',
  en: {
    who: `recruiter, line manager, job applicant, trade union, payroll clerk, team leader, works council, trainee, freelancer, mentor,
      chief executive, receptionist, contractor, career coach`,
    thing: `job interview, employment contract, pay rise, performance review, sick note, job advert, cover letter, payslip, holiday
      request, onboarding plan, reference letter, probation period, shift schedule, retirement party, training course, dismissal
      letter, promotion, open position, company car, pension plan, team meeting, time sheet, exit interview, desk, salary band, work
      permit, staff canteen, bonus, organisation chart, internship, background check, feedback form, coffee break, headset, strike vote,
      job title, resignation, childcare voucher, skills matrix, talent pool`,
    topic: `parental leave, remote work, equal pay, burnout, workplace diversity, overtime rules, staff turnover, minimum wage, team
      building, sick leave, flexible hours, harassment, collective bargaining, job sharing, absenteeism, employee motivation, career
      breaks, unpaid leave, skills shortage, work-life balance`,
    act: `hire a trainee, conduct an interview, promote an assistant, resign from a post, approve the holiday request, negotiate a
      salary, fill a vacancy, dismiss an employee, write a reference, attend a training course, report sick, lead a team, extend the
      probation, screen the applications, sign the employment contract, work overtime, mentor a newcomer, cut forty jobs, survey the
      staff, retire early`,
    adj: `full-time, underpaid, qualified, self-employed, overworked, permanent, unpaid, motivated, senior, temporary, on-site,
      redundant, punctual, salaried, multilingual, retired`,
    unit: `20-40 hours a week, 2-30 days of leave, 3-24 months, 2-20 years of experience`,
    frame: `{company} is looking for {a} {adj} {who} with {quantity} in {city}.
      Every employee has {number} days of paid leave, plus one after {number} years.
      Please send your cover letter and {a} {thing} by {date} to {email}.
      The {who} raised {topic} at the {thing} on {weekday}.
      {person} joined as {a} {adj} {who} and was promoted after {number} months.
      Staff at {company} will get {percent} more pay from {month}.
      We regret that we filled the position with {a} more {adj} candidate.`,
  },
  ko: {
    who: `채용 담당자, 팀장, 지원자, 노동조합, 급여 담당자, 신입 사원, 노사 협의회, 수습 직원, 프리랜서, 멘토, 대표 이사, 안내 직원, 계약직 직원, 임원`,
    thing: `면접, 근로 계약서, 연봉 인상, 인사 평가, 진단서, 채용 공고, 자기소개서, 급여 명세서, 휴가 신청서, 입사 교육, 추천서, 수습 기간, 근무표, 송별회,
      연수 과정, 해고 통지서, 승진, 공석, 법인 차량, 퇴직금, 팀 회의, 출근부, 퇴직 면담, 책상, 직급, 취업 비자, 구내식당, 성과급, 조직도, 인턴십, 신원 조회,
      사직서, 건강 검진, 사원증, 회식, 복지 포인트`,
    topic: `육아 휴직, 재택근무, 동일 임금, 번아웃, 직장 내 다양성, 초과 근무, 이직률, 최저 임금, 조직 문화, 병가, 유연 근무, 직장 내 괴롭힘, 단체 교섭,
      결근, 동기 부여, 경력 단절, 무급 휴가, 인력난, 일과 삶의 균형`,
    act: `신입 사원을 채용, 면접을 진행, 직원을 승진시키/승진시켜, 회사를 그만두/그만둬, 휴가를 승인, 연봉을 협상, 공석을 채우/채워, 직원을 해고, 추천서를 작성,
      교육에 참석, 병가를 내/내, 팀을 이끌/이끌어, 수습 기간을 연장, 지원서를 검토, 계약서에 서명, 야근, 후배를 돕/도와, 인력을 감축, 설문을 실시, 조기 퇴직`,
    adj: `성실, 유능, 과중, 공정, 피곤, 자유롭/자유로워, 엄격, 적극적이/적극적이어, 불안정, 원만, 책임감 있/있어, 능숙`,
    unit: `20-40시간, 2-30일의 휴가, 3-24개월`,
    frame: `{company}에서 {city} 지사에서 일할 {adj.ㄴ} {who}{을} 찾습니다.
      모든 직원은 해마다 {number}일의 유급 휴가를 쓸 수 있다.
      {date}까지 {thing}{과} 이력서를 {email}{으로} 보내 주세요.
      {who}{은} {weekday} 회의에서 {topic} 문제를 꺼냈다.
      {person} 씨는 입사한 지 {number}개월 만에 승진했다.
      {company} 직원의 급여는 {month}부터 {percent} 오른다.
      아쉽지만 이번 {thing}에서는 다른 지원자를 뽑았습니다.`,
  },
};
