/** Texts of signing in, invitations and the own account. */
export const KOREAN_ACCOUNT = {
  Password: '비밀번호',
  'Use an email address and a password': '이메일 주소와 비밀번호로 로그인',
  'Use an API key or a user token': 'API 키나 사용자 토큰으로 로그인',
  'The address or the password is not right. An administrator can reset the password.':
    '이메일 주소나 비밀번호가 올바르지 않습니다. 관리자가 비밀번호를 재설정할 수 있습니다.',
  'Sign in with a passkey': '패스키로 로그인',
  'New password': '새 비밀번호',
  'At least {count} characters.': '{count}자 이상 입력하세요.',
  'Choose more different characters, and not your email address.':
    '서로 다른 문자를 더 사용하고, 이메일 주소는 쓰지 마세요.',
  'Show the password': '비밀번호 표시',
  'Choose a new password': '새 비밀번호 설정',
  'Your other browsers are signed out, and your passkeys are removed.':
    '다른 브라우저는 모두 로그아웃되고, 등록한 패스키는 삭제됩니다.',
  'Save and sign in': '저장하고 로그인',
  'The link is not valid any more': '링크가 더 이상 유효하지 않습니다',
  'A link for a new password works once, for a day. Ask an administrator for another one.':
    '비밀번호 재설정 링크는 하루 동안 한 번만 쓸 수 있습니다. 관리자에게 새 링크를 요청하세요.',
  '{name} invites {email}.': '{name} 님이 {email} 님을 초대했습니다.',
  'Choose a password instead': '비밀번호를 새로 설정',
  'I already have an account here': '이미 계정이 있습니다',
  Join: '참여',
  'You are signed in as {email}.': '{email}(으)로 로그인되어 있습니다.',
  'Your account': '내 계정',
  'Change the password': '비밀번호 변경',
  'Current password': '현재 비밀번호',
  'The password was changed. Your other browsers are signed out.':
    '비밀번호를 변경했습니다. 다른 브라우저는 로그아웃되었습니다.',
  Passkeys: '패스키',
  'Add a passkey': '패스키 추가',
  'Delete the passkey {name}?': '패스키 {name}을(를) 삭제할까요?',
  'It does not sign in any more. Delete it on the device, too.':
    '이 패스키로는 더 이상 로그인할 수 없습니다. 기기에서도 삭제하세요.',
  'There are no passkeys yet': '아직 패스키가 없습니다',
  'A passkey signs in with the lock of your device in place of a password.':
    '패스키를 쓰면 비밀번호 대신 기기의 잠금 해제로 로그인합니다.',
  'Passkeys need a host name and https. Ask an administrator for that address.':
    '패스키를 쓰려면 호스트 이름과 https가 필요합니다. 관리자에게 그 주소를 문의하세요.',
  'For example the name of this device.': '예: 이 기기의 이름',
  Organization: '조직',
  'You are here': '현재 조직',
  'Go there': '이동',
  'Invite a person by a link. The person signs in with a password, a passkey or the identity provider.':
    '링크로 사용자를 초대하세요. 사용자는 비밀번호, 패스키 또는 인증 제공자로 로그인합니다.',
  'Reset the password': '비밀번호 재설정',
  'Reset the password of {name}': '{name}의 비밀번호 재설정',
  'The person chooses a new password by a link. Until then nothing changes.':
    '사용자가 링크에서 새 비밀번호를 정합니다. 그 전까지는 아무것도 바뀌지 않습니다.',
  'The person opens a link, and chooses a password or signs in with the identity provider.':
    '사용자가 링크를 열어 비밀번호를 정하거나 인증 제공자로 로그인합니다.',
  'It works once, for a day. Send it to this person only.':
    '하루 동안 한 번만 쓸 수 있습니다. 이 사용자에게만 보내세요.',
  'It works once, for 7 days. Send it to this person only.':
    '7일 동안 한 번만 쓸 수 있습니다. 이 사용자에게만 보내세요.',
} as const;
