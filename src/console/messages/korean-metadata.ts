/** Texts of the statement editor. */
export const KOREAN_METADATA = {
  'Find and change documents by a statement. Every change is shown before it is made.':
    '명령문으로 문서를 찾고 변경합니다. 모든 변경은 실행 전에 미리 보여 줍니다.',
  Statement: '명령문',
  'Make the vectors of changed documents anew': '변경된 문서의 벡터 다시 만들기',
  Run: '실행',
  'Show what it would change': '변경 내용 미리 보기',
  Execute: '적용',
  'What it would change': '변경될 내용',
  'Execute this statement?': '이 명령문을 적용할까요?',
  '{count|document is|documents are} removed for good.': '문서 {count}개가 영구히 삭제됩니다.',
  '{count|document is|documents are} changed.': '문서 {count}개가 변경됩니다.',
  'The statement was executed': '명령문을 적용했습니다',
  'A job removes {count|document|documents}.': '작업이 문서 {count}개를 삭제합니다.',
  '{updated|document was|documents were} changed, {skipped} were left as they are.':
    '문서 {updated}개를 변경했고 {skipped}개는 그대로입니다.',
  Result: '결과',
  keyword: '키워드',
  field: '필드',
  key: '키',
  value: '값',
  'Ctrl+Enter runs it. Arrow keys and Tab choose a suggestion.':
    'Ctrl+Enter로 실행합니다. 화살표 키와 Tab으로 제안을 선택합니다.',
  Suggestions: '제안',
  'Line {line}, column {column}': '{line}번째 줄, {column}번째 칸',
  'No document matches': '일치하는 문서가 없습니다',
  'Change the condition and try again.': '조건을 바꾸어 다시 시도하세요.',
  '{count|document matches|documents match}.': '문서 {count}개가 일치합니다.',
  'The vectors of {count} are made anew.': '{count}개의 벡터를 다시 만듭니다.',
  'The first {count} of the documents that match.': '일치하는 문서 중 처음 {count}개입니다.',
  Searchable: '검색 가능',
  Note: '비고',
} as const;
