export const KOREAN_HELP = {
  Help: '도움말',
  'Read the documentation': '설명서 읽기',
  'Open the API reference': 'API 레퍼런스 열기',
  'Buckets hold documents that are searched together. Upload a file, and it can be found as soon as its state is ready.':
    '버킷은 함께 검색하는 문서의 모음입니다. 파일을 올리고 상태가 완료가 되면 바로 검색할 수 있습니다.',
  'Programs sign in with keys, and people with their own account. A key has only the rights that you choose.':
    '프로그램은 키로, 사람은 자신의 계정으로 로그인합니다. 키에는 선택한 권한만 있습니다.',
  'This page shows how your documents and searches develop, and what needs a decision of yours.':
    '문서와 검색의 추이, 그리고 결정이 필요한 항목을 보여 줍니다.',
  'A search returns passages, best first. The line above them says whether they seem to answer the query.':
    '검색은 가장 알맞은 구절부터 보여 줍니다. 위의 문장은 결과가 질의에 답하는지 알려 줍니다.',
  'A statement finds or changes many documents by their metadata. You see every change before it is made.':
    '명령문으로 메타데이터에 따라 여러 문서를 찾거나 변경합니다. 변경하기 전에 내용을 확인할 수 있습니다.',
  'Each point is a passage of a document. Passages with a similar meaning are near each other.':
    '각 점은 문서의 구절입니다. 의미가 비슷한 구절이 가까이 있습니다.',
  'A job is work in the background, such as reading an uploaded file. A failed job shows its reason.':
    '작업은 업로드한 파일 읽기처럼 백그라운드에서 실행됩니다. 실패한 작업은 이유를 보여 줍니다.',
  'A channel answers the messages of a messenger with passages of a bucket.':
    '채널은 메신저의 메시지에 버킷의 구절로 답합니다.',
  'A source keeps documents here the same as a place outside, such as a folder, a website or a mailbox.':
    '소스는 폴더, 웹사이트, 메일함 같은 외부 위치와 이곳의 문서를 똑같이 유지합니다.',
  'A workflow is a chain of steps. A step that changes or sends something waits until a person approves it.':
    '워크플로는 단계의 연결입니다. 변경하거나 전송하는 단계는 사람이 승인할 때까지 기다립니다.',
  'A model turns a text into numbers, so that texts with a similar meaning are found.':
    '모델은 텍스트를 숫자로 바꾸어 의미가 비슷한 텍스트를 찾을 수 있게 합니다.',
  'This page shows the requests and tokens of a month, and what is left of your quota.':
    '한 달의 요청과 토큰, 남은 할당량을 보여 줍니다.',
  'This page shows the processes behind the service. It is for the operators of the installation.':
    '서비스를 움직이는 프로세스를 보여 줍니다. 설치 운영자를 위한 페이지입니다.',
} as const;
