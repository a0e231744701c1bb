/** Texts of the pages of channels. */
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
  'The message is signed with it in this browser. It is not stored.':
    '이 브라우저에서 메시지에 서명하는 데만 쓰고 저장하지 않습니다.',
  Messages: '메시지',
  Message: '메시지',
  Send: '보내기',
  'Open the console by https or on this machine to sign messages.':
    '메시지에 서명하려면 https로, 또는 이 컴퓨터에서 콘솔을 여세요.',
} as const;
