/** Texts of the pages of keys and people. */
export const KOREAN_PEOPLE = {
  Keys: 'API 키',
  People: '사용자',
  Organizations: '조직',
  'Keys and people': '키와 사용자',
  'New key': '새 키',
  'A key lets a program call the API with the scopes that it has.':
    '키가 있으면 프로그램이 정해진 권한 범위에서 API를 호출할 수 있습니다.',
  'There are no keys yet': '아직 키가 없습니다',
  'Make one for each program, so that you can revoke it alone.':
    '프로그램마다 키를 따로 만들면 하나만 폐기할 수 있습니다.',
  'and {count} more': '외 {count}개',
  Rotate: '교체',
  Revoke: '폐기',
  Scopes: '권한 범위',
  Level: '등급',
  Expires: '만료',
  Never: '없음',
  'Last used': '마지막 사용',
  'Revoke the key {name}?': '키 {name}을(를) 폐기할까요?',
  'Programs that use it are refused at once. This cannot be undone.':
    '이 키를 쓰는 프로그램은 즉시 거부됩니다. 되돌릴 수 없습니다.',
  'You are signed in with this key': '지금 이 키로 로그인되어 있습니다',
  'This session ends too, and you need another key to sign in again.':
    '이 세션도 끝나며, 다시 로그인하려면 다른 키가 필요합니다.',
  'The key was revoked': '키를 폐기했습니다',
  'Rotate the key {name}?': '키 {name}을(를) 교체할까요?',
  'A new key with the same scopes is made. The old one works for one more hour.':
    '같은 권한의 새 키를 만듭니다. 기존 키는 한 시간 더 쓸 수 있습니다.',
  'The key {name}': '키 {name}',
  'Copy the key now': '지금 키를 복사하세요',
  'It is shown only here and only once.': '여기에서 한 번만 표시됩니다.',
  'I have stored it': '보관했습니다',
  'As it is': '그대로',
  'In {days} days': '{days}일 뒤',
  'Edit the key {name}': '키 {name} 편집',
  'Where the key is used.': '키를 쓰는 곳을 적으세요.',
  'Highest privacy level of documents that it sees, up to {level}.':
    '볼 수 있는 문서의 최고 보안 등급입니다. 최대 {level}.',
  'Add a person': '사용자 추가',
  'A person signs in with a token, or with the identity provider where one is configured.':
    '사용자는 토큰으로, 또는 설정된 인증 제공자를 통해 로그인합니다.',
  'There are no people yet': '아직 사용자가 없습니다',
  'Keys work without people. People have roles and departments.':
    '키는 사용자 없이도 쓸 수 있습니다. 사용자에게는 역할과 부서가 있습니다.',
  'Revoke tokens': '토큰 폐기',
  Invite: '초대',
  'Invite {name}': '{name} 초대',
  'The person signs in with the identity provider, and accepts the invitation.':
    '초대받은 사람이 인증 제공자로 로그인한 뒤 초대를 수락합니다.',
  'Copy the link now': '지금 링크를 복사하세요',
  'It works once, for 7 days, and replaces earlier ones.': '7일 동안 한 번만 사용할 수 있으며 이전 링크를 대신합니다.',
  'Make a link': '링크 만들기',
  Person: '사용자',
  Role: '역할',
  'E-mail address': '이메일 주소',
  'Empty for the level of the role.': '비워 두면 역할의 기본 등급입니다.',
  'Suspended: every request is refused': '정지: 모든 요청을 거부',
  Add: '추가',
  'The tokens were revoked': '토큰을 폐기했습니다',
  'Revoke all tokens of {name}?': '{name}의 모든 토큰을 폐기할까요?',
  'Every token of this person is refused at once, and every browser is signed out.':
    '이 사용자의 모든 토큰이 즉시 거부되고 모든 브라우저에서 로그아웃됩니다.',
  'New organization': '새 조직',
  'Each organization has its own documents, keys and people.': '조직마다 문서, 키, 사용자가 따로 있습니다.',
  'There are no organizations yet': '아직 조직이 없습니다',
  Plan: '요금제',
} as const;
