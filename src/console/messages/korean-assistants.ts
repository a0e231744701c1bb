/** Texts of the access that people give to assistants. */
export const KOREAN_ASSISTANTS = {
  Assistants: '어시스턴트',
  'Applications that act for a person through the tool server, with the rights that the person gave.':
    '도구 서버를 통해 사용자를 대신해, 사용자가 허락한 권한으로 일하는 애플리케이션입니다.',
  'No assistant is connected': '연결된 어시스턴트가 없습니다',
  'Add the address of the tool server as a connector in your assistant, and sign in.':
    '어시스턴트의 커넥터에 도구 서버 주소를 추가하고 로그인하세요.',
  'End the access of {name}?': '{name}의 접근을 끝낼까요?',
  'End access': '접근 끝내기',
  'It is refused within a second. Its person can give it access again.':
    '1초 안에 거부됩니다. 해당 사용자가 다시 접근을 허락할 수 있습니다.',
  'The application asked for access in a wrong way': '애플리케이션의 접근 요청이 잘못되었습니다',
  'Back to {name}': '{name}(으)로 돌아가기',
  Access: '접근',
  'Give {name} access?': '{name}에 접근을 허락할까요?',
  'It acts for you at {address}, and never sees more than you.':
    '{address}에서 나를 대신해 일하며, 내가 볼 수 있는 것보다 더 보지 못합니다.',
  'It may': '허용할 일',
  'Search and read the documents that you may read': '내가 읽을 수 있는 문서를 검색하고 읽기',
  'Add documents': '문서 추가',
  'Run workflows, whose steps with effects still ask a person':
    '워크플로 실행(변경이 생기는 단계는 계속 사람에게 묻습니다)',
  '{right} (you do not have this right)': '{right} (내게 없는 권한입니다)',
  'For how long': '기간',
  '1 day': '1일',
  '{count} days': '{count}일',
  'Give access': '접근 허락',
  'It returns to {host}': '{host}(으)로 돌아갑니다',
  'The name comes from the application itself. Nobody has checked it.':
    '이름은 애플리케이션이 스스로 밝힌 것이며, 아무도 확인하지 않았습니다.',
  '{host} vouches for the name.': '{host}에서 이름을 보증합니다.',
  'It runs on this device. Go on only if you have just started it yourself.':
    '이 기기에서 실행됩니다. 방금 직접 시작한 경우에만 계속하세요.',
  'You are {name} in {organization}.': '{organization}의 {name}(으)로 로그인되어 있습니다.',
  'Sign in as somebody else': '다른 사용자로 로그인',
} as const;
