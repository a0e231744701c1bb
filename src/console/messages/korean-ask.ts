/** Texts of the page that answers questions. */
export const KOREAN_ASK = {
  Ask: '질문',
  'Ask a question, and get an answer with the passages that it rests on.':
    '질문하면 근거가 되는 구절과 함께 답변을 받습니다.',
  'No chat model is set': '대화 모델이 설정되지 않았습니다',
  'The operator sets one by the command “service init answers”. Until then, search for passages.':
    '운영자가 “service init answers” 명령으로 설정합니다. 그때까지는 구절을 검색하세요.',
  Conversation: '대화',
  'Answer from': '답변 출처',
  Stop: '중지',
  Stopped: '중지됨',
  'New conversation': '새 대화',
  'Searched for: {question}': '검색한 질문: {question}',
  'Searching…': '검색 중…',
  'Reading…': '읽는 중…',
  'Writing…': '작성 중…',
  'Source {number}: {name}': '출처 {number}: {name}',
  'Passages that were found': '찾은 구절',
  'This answer helped': '도움이 된 답변',
  'This answer did not help': '도움이 되지 않은 답변',
  'What was wrong or missing?': '무엇이 틀렸거나 빠졌나요?',
  'Thank you.': '감사합니다.',
  'Read the passage': '구절 읽기',
  'The model declined to answer.': '모델이 답변을 거부했습니다.',
  'The answer was cut off, because it is too long.': '답변이 너무 길어 잘렸습니다.',
  'The answer was cut off, because the model took too long.': '모델이 너무 오래 걸려 답변이 잘렸습니다.',
  'The model broke off. Ask again.': '모델의 답변이 중단되었습니다. 다시 질문하세요.',
  'An answer cites the passages that it rests on. Open a citation to check it.':
    '답변은 근거가 되는 구절을 인용합니다. 인용을 열어 확인하세요.',
} as const;
