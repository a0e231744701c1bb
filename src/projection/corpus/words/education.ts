import type { DomainWords } from '../domain-words.ts';

export const education: DomainWords = {
  name: 'education',
  en: {
    who: `teacher, headmaster, exchange student, librarian, professor, school board, tutor, pupil, examiner, kindergarten, dean, parent
      council, language school, substitute teacher`,
    thing: `textbook, classroom, scholarship, lecture, essay, report card, blackboard, syllabus, dormitory, diploma, entrance exam, quiz,
      school bus, seminar, grade book, playground, reading list, thesis, semester, pencil case, laboratory course, tuition fee,
      worksheet, school uniform, flash card, curriculum, spelling test, lunch break, student loan, campus, debate club, internship,
      field trip, lesson plan, homework assignment, footnote, graduation ceremony, library card, elective, microscope`,
    topic: `distance learning, classroom discipline, early literacy, exam stress, special needs education, bilingual schooling, plagiarism,
      adult education, group work, school meals, mental arithmetic, teacher shortage, vocational training, bullying, student exchange,
      critical thinking, homeschooling, class size, learning disabilities, academic freedom`,
    act: `grade the essays, skip a lecture, memorise the vocabulary, apply for a scholarship, hand in the homework, teach fractions, fail
      the entrance exam, repeat a year, write a thesis, borrow a textbook, raise a hand, explain the theorem, supervise the exam, learn
      to read, plan a lesson, graduate with honours, correct the spelling, organise a field trip, revise for finals, drop out of school`,
    adj: `bilingual, gifted, compulsory, part-time, illiterate, tuition-free, vocational, attentive, undergraduate, academic,
      extracurricular, noisy, strict, interdisciplinary, postgraduate, well-prepared`,
    unit: `2-14 semesters, 12-40 pupils, 3-90 credits, 20-90 pages of reading`,
    frame: `Class {number} meets on {weekday} at {time} in room {number} of the old building.
      About {percent} of pupils in {country} leave school without a diploma.
      Students who miss more than {number} lessons must repeat the {thing}.
      Professor {name} asked for an essay of {number} pages on {topic}.
      The {who} handed out {a} {adj} {thing} and wrote the answers on the board.
      A scholarship of {money} covers fees and {a} {thing} for {quantity}.
      Children learn faster when {topic} is part of an ordinary school day.`,
  },
  ko: {
    who: `교사, 교장, 교환 학생, 사서, 교수, 교육청, 과외 선생님, 학생, 시험 감독관, 유치원, 학장, 학부모회, 어학원, 기간제 교사`,
    thing: `교과서, 교실, 장학금, 강의, 논술, 성적표, 칠판, 강의 계획서, 기숙사, 졸업장, 입학시험, 쪽지 시험, 통학 버스, 세미나, 운동장, 독서 목록, 학위 논문,
      학기, 필통, 실험 수업, 등록금, 학습지, 교복, 단어 카드, 교육 과정, 받아쓰기, 학자금 대출, 교정, 토론 동아리, 현장 학습, 수업 계획, 숙제, 각주, 졸업식,
      도서관 카드, 현미경`,
    topic: `원격 수업, 학급 규율, 문해력, 시험 불안, 특수 교육, 이중 언어 교육, 표절, 평생 교육, 모둠 활동, 학교 급식, 암산, 교원 부족, 직업 훈련, 학교 폭력,
      사교육, 비판적 사고, 진로 지도, 학습 장애`,
    act: `답안을 채점, 강의를 빠지/빠져, 단어를 암기, 장학금을 신청, 숙제를 제출, 분수를 가르치/가르쳐, 시험에서 떨어지/떨어져, 논문을 쓰/써, 교과서를 빌리/빌려,
      손을 들/들어, 정리를 설명, 시험을 감독, 글을 배우/배워, 수업을 준비, 학교를 졸업, 맞춤법을 고치/고쳐, 현장 학습을 떠나/떠나, 기말고사를 준비, 학교를 그만두/그만둬,
      질문에 대답`,
    adj: `성실, 엄격, 우수, 산만, 꼼꼼, 어렵/어려워, 쉽/쉬워, 지루, 창의적이/창의적이어, 친절, 부족, 유익`,
    unit: `2-14학기, 12-40명, 3-90학점`,
    frame: `{number}반 수업은 {weekday} {time}에 옛 건물 {number}호에서 열립니다.
      {country}에서는 학생의 {percent}{이} 졸업장 없이 학교를 떠난다.
      {number}번 넘게 결석하면 {thing}{을} 다시 들어야 한다.
      {person} 교수는 {topic}에 관한 {number}쪽짜리 보고서를 내라고 했다.
      {who}{은} {thing}{을} 나누어 주고 칠판에 답을 적었다.
      {money}의 장학금으로 {number}학기 동안 등록금을 낼 수 있다.
      {topic}{이} 평소 수업에 들어 있으면 아이들은 더 빨리 배운다.`,
  },
};
