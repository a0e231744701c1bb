export const KOREAN_WEBHOOKS = {
  Webhooks: '웹훅',
  Webhook: '웹훅',
  'New webhook': '새 웹훅',
  'Addresses to which the service posts signed events: jobs, documents, sources, workflows and quotas.':
    '작업, 문서, 소스, 워크플로, 할당량의 이벤트를 서명해서 보내는 주소입니다.',
  'There are no webhooks yet': '아직 웹훅이 없습니다',
  'A webhook tells your program what happens, so that it need not ask.':
    '웹훅은 프로그램이 묻지 않아도 일어난 일을 알려 줍니다.',
  Events: '이벤트',
  Event: '이벤트',
  'Address to which events are posted.': '이벤트를 보낼 주소입니다.',
  'Types such as job.failed, with commas between them; empty: all.':
    'job.failed 같은 형식을 쉼표로 구분해 입력하세요. 비워 두면 모두 보냅니다.',
  'The secret of {name}': '{name}의 비밀 값',
  'Copy the secret now': '지금 비밀 값을 복사하세요',
  'Next try': '다음 시도',
  Reason: '이유',
  'A test event is on its way': '시험 이벤트를 보내는 중입니다',
  'Send a test event': '시험 이벤트 보내기',
  'Switch off': '끄기',
  'Switch on': '켜기',
  'New secret': '새 비밀 값',
  'Make a new secret of {name}?': '{name}의 비밀 값을 새로 만들까요?',
  'For 24 hours, events are signed with the old secret, too.': '24시간 동안은 이전 비밀 값으로도 서명합니다.',
  'Delete the webhook {name}?': '웹훅 {name}을(를) 삭제할까요?',
  'Events that wait are not sent.': '기다리는 이벤트는 보내지 않습니다.',
  'Sent events': '보낸 이벤트',
  'No events yet': '아직 이벤트가 없습니다',
  'Events of the last seven days appear here.': '최근 7일의 이벤트가 여기에 표시됩니다.',
  'Send again': '다시 보내기',
  'The service posts events to addresses of yours. Each request is signed, and repeated until your program has taken it.':
    '서비스가 지정한 주소로 이벤트를 보냅니다. 요청마다 서명하고, 프로그램이 받을 때까지 다시 보냅니다.',
} as const;
