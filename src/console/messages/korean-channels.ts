export const KOREAN_CHANNELS = {
  Channels: '채널',
  Channel: '채널',
  Configurations: '설정',
  Deliveries: '수신 메시지',
  Outbox: '발신함',
  'Try one': '시험 대화',
  'New channel': '새 채널',
  'Messengers that are answered from a bucket, and notifications.': '버킷의 문서로 답하는 메신저와 알림입니다.',
  'There are no channels yet': '아직 채널이 없습니다',
  'A channel connects a bot of a messenger to a bucket.': '채널은 메신저 봇을 버킷에 연결합니다.',
  'Delete the channel {name}?': '채널 {name}을(를) 삭제할까요?',
  'Its messages are not answered any more.': '이 채널의 메시지에 더 이상 답하지 않습니다.',
  'Answered from': '답변에 쓰는 버킷',
  'Id of the bot': '봇 ID',
  'Id of the channel': '채널 ID',
  'API key of the provider': '제공자 API 키',
  Messenger: '메신저',
  'Messenger with signed deliveries': '서명해서 보내는 메신저',
  'KakaoTalk chatbot': '카카오톡 챗봇',
  'Telegram bot': '텔레그램 봇',
  'Microsoft Teams outgoing webhook': 'Microsoft Teams 발신 웹후크',
  'Secret token of setWebhook': 'setWebhook의 secret_token',
  'Security token of Teams': 'Teams 보안 토큰',
  'Slack app': 'Slack 앱',
  'LINE channel': 'LINE 채널',
  'Signing secret of the app': '앱의 서명 비밀 값(Signing Secret)',
  'Bot user OAuth token': '봇 사용자 OAuth 토큰',
  'Channel secret': '채널 시크릿',
  'Channel access token': '채널 액세스 토큰',
  'Chatbot admin center → Skill → Create: enter the address as the URL.':
    '챗봇 관리자센터 → 스킬 → 생성: 이 주소를 URL로 입력하세요.',
  'Choose the skill in a block, and use the skill data as its response.':
    '블록에서 이 스킬을 고르고 응답으로 스킬데이터를 사용하세요.',
  'For long answers, apply for callbacks under Settings → AI chatbot, and switch them on in the block.':
    '답변이 오래 걸리면 설정 → AI 챗봇 관리에서 콜백을 신청하고 블록에서 켜세요.',
  'Deploy the chatbot.': '챗봇을 배포하세요.',
  'Call setWebhook of the Bot API with the address as url and the secret as secret_token.':
    'Bot API의 setWebhook을 호출해 url에 이 주소를, secret_token에 비밀 값을 넣으세요.',
  'Manage team → Apps → Create an outgoing webhook: enter the address as the callback URL.':
    '팀 관리 → 앱 → 발신 웹후크 만들기: 이 주소를 콜백 URL로 입력하세요.',
  'OAuth & Permissions: add the scopes app_mentions:read, im:history and chat:write, and install the app.':
    'OAuth & Permissions: app_mentions:read, im:history, chat:write 권한을 추가하고 앱을 설치하세요.',
  'Event Subscriptions: enter the address, and subscribe to app_mention and message.im.':
    'Event Subscriptions: 이 주소를 입력하고 app_mention과 message.im을 구독하세요.',
  'App Home: allow messages. In channels, invite the app and mention it.':
    'App Home: 메시지를 허용하세요. 채널에서는 앱을 초대하고 멘션하세요.',
  'Messaging API tab: enter the address as the Webhook URL, and switch on Use webhook and Webhook redelivery.':
    'Messaging API 탭: 이 주소를 Webhook URL로 입력하고 Use webhook과 Webhook redelivery를 켜세요.',
  'LINE Official Account Manager → Response settings: switch off auto-response messages.':
    'LINE Official Account Manager → 응답 설정: 자동 응답 메시지를 끄세요.',
  'Then try the channel with a question, and see what arrives under Deliveries.':
    '그런 다음 질문으로 채널을 시험하고, 도착한 메시지를 수신 메시지에서 확인하세요.',
  'The platform refuses the token of the channel: {reason}': '플랫폼이 채널의 토큰을 거부합니다: {reason}',
  'Register this address at the platform': '이 주소를 플랫폼에 등록하세요',
  'It may hold a secret, so it is shown only once. The platform must reach it by https.':
    '비밀 값이 들어 있을 수 있어 한 번만 표시합니다. 플랫폼이 https로 접속할 수 있어야 합니다.',
  'I have registered it': '등록했습니다',
  'Secret of the webhook': '웹훅 비밀 값',
  'It is stored encrypted and never shown again.': '암호화해 저장하며 다시 표시하지 않습니다.',
  'Answer from public documents only': '공개 문서로만 답하기',
  'No messages were received': '받은 메시지가 없습니다',
  'What people write is not kept; the replies are kept for ten minutes.':
    '사용자가 쓴 내용은 보관하지 않으며 답변은 10분 동안 보관합니다.',
  Received: '수신',
  Reply: '답변',
  'Nothing was sent yet': '아직 보낸 알림이 없습니다',
  'Notifications appear here, also those that are only recorded.':
    '기록만 한 알림을 포함해 모든 알림이 여기에 나타납니다.',
  Template: '템플릿',
  Requested: '요청',
  Messages: '메시지',
  Message: '메시지',
  Send: '보내기',
} as const;
