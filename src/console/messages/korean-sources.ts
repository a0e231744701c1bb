export const KOREAN_SOURCES = {
  'The settings of the source or of its connection do not fit.': '소스나 연결의 설정이 맞지 않습니다.',
  'The folder, the bucket or the table of the source is not there.': '소스의 폴더나 버킷, 테이블이 없습니다.',
  'The service may not read the folder, the bucket or the table of the source.':
    '소스의 폴더나 버킷, 테이블을 읽을 권한이 없습니다.',
  'The store or the database of the source does not answer as it should.':
    '소스의 저장소나 데이터베이스가 제대로 응답하지 않습니다.',
  'The source has too many entries; narrow it, or split it into several.':
    '소스의 항목이 너무 많습니다. 범위를 줄이거나 여러 소스로 나누세요.',
  'The source has no entries now. Its documents were kept; check that it is mounted and complete.':
    '소스에 항목이 없습니다. 문서는 그대로 두었으니 소스가 연결되어 있고 온전한지 확인하세요.',
  'The source or its bucket was deleted, or a newer synchronisation has begun.':
    '소스나 그 버킷이 삭제되었거나 더 새로운 동기화가 시작되었습니다.',
  'Some entries could not be read. The others are up to date.': '일부 항목을 읽을 수 없습니다. 나머지는 최신입니다.',
  Sources: '소스',
  Source: '소스',
  'Connect a source': '소스 연결',
  'Folders, S3 buckets and tables whose contents are kept as documents.':
    '폴더, S3 버킷, 테이블의 내용을 문서로 유지합니다.',
  'There are no sources yet': '아직 소스가 없습니다',
  'An operator allows connections in service.yaml; then a source is connected here.':
    '운영자가 service.yaml에서 연결을 허용하면 여기에서 소스를 연결할 수 있습니다.',
  'Last synchronised': '마지막 동기화',
  Connection: '연결',
  'There is none yet; an operator adds it to the setting sources in service.yaml.':
    '아직 없습니다. 운영자가 service.yaml의 sources 설정에 추가합니다.',
  'The operator allows it in the setting sources.': '운영자가 sources 설정에서 허용합니다.',
  'Optional fields': '선택 항목',
  'Default: {value}': '기본값: {value}',
  'One on each line.': '한 줄에 하나씩 입력하세요.',
  'Text or JSON.': '텍스트 또는 JSON.',
  Tags: '태그',
  'key:value, with commas between them.': 'key:value 형식이며 쉼표로 구분합니다.',
  Schedule: '일정',
  'Cron expression of five fields in UTC; empty for none.': 'UTC 기준 다섯 필드의 cron 표현식입니다. 비워 두면 없음.',
  Connect: '연결',
  'The last synchronisation failed': '마지막 동기화에 실패했습니다',
  Next: '다음',
  'Earlier versions': '이전 버전',
  Kept: '보존',
  Replaced: '교체',
  Configuration: '설정',
  'The synchronisation was queued': '동기화를 대기열에 넣었습니다',
  '{name} was disconnected': '{name}의 연결을 해제했습니다',
  'Synchronise now': '지금 동기화',
  Disconnect: '연결 해제',
  'Disconnect {name}?': '{name}의 연결을 해제할까요?',
  '{count|document of this source is|documents of this source are} removed, unless they are to stay.':
    '보존하지 않으면 이 소스의 문서 {count}개가 삭제됩니다.',
  'Keep its documents in the bucket': '문서를 버킷에 남기기',
  Added: '추가',
  Removed: '삭제',
  Renamed: '이름 변경',
  Unchanged: '변경 없음',
} as const;
