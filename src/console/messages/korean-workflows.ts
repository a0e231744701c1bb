export const KOREAN_WORKFLOWS = {
  'The block {id} failed.': '{id} 블록이 실패했습니다.',
  'The run ended before all its blocks were done.': '모든 블록을 마치기 전에 실행이 끝났습니다.',
  'Picture of the workflow': '워크플로 그림',
  'As JSON': 'JSON으로 보기',
  Workflows: '워크플로',
  Workflow: '워크플로',
  'New workflow': '새 워크플로',
  'Steps that search, write and notify; each change needs an approval.':
    '검색, 기록, 알림 단계를 잇습니다. 모든 변경에는 승인이 필요합니다.',
  'There are no workflows yet': '아직 워크플로가 없습니다',
  'A workflow is a graph of blocks in JSON.': '워크플로는 JSON으로 쓴 블록 그래프입니다.',
  'Published version': '게시된 버전',
  'Latest version': '최신 버전',
  'Definition as JSON': 'JSON 정의',
  'This is no JSON: {fault}': 'JSON이 아닙니다: {fault}',
  Runs: '실행 기록',
  'Version {number} is published': '버전 {number}을(를) 게시했습니다',
  'Publish version {number}': '버전 {number} 게시',
  'Delete the workflow {name}?': '워크플로 {name}을(를) 삭제할까요?',
  'Its versions and the history of its runs are removed too.': '모든 버전과 실행 기록도 삭제됩니다.',
  Blocks: '블록',
  'Definition, version {number}': '정의 (버전 {number})',
  'It is stored as a new version, which is a draft until it is published.':
    '새 버전으로 저장되며 게시하기 전까지는 초안입니다.',
  'It has not run yet': '아직 실행하지 않았습니다',
  Mode: '모드',
  Version: '버전',
  By: '실행자',
  'Add a block': '블록 추가',
  'Id of the block': '블록 ID',
  'Lower-case letters, digits, - and _. Other blocks refer to it.':
    '영문 소문자, 숫자, -, _ 를 쓸 수 있으며 다른 블록이 참조합니다.',
  'A text may hold {{inputs.name}} or {{blocks.id.output}}.':
    '텍스트에 {{inputs.name}} 또는 {{blocks.id.output}}을 쓸 수 있습니다.',
  'It changes or sends something, so each run asks for an approval.':
    '변경하거나 전송하므로 실행할 때마다 승인이 필요합니다.',
  'Try without side effects': '부작용 없이 시험',
  'Run the published version': '게시된 버전 실행',
  Output: '출력',
  'Somebody with the scope workflows:approve must approve these changes.':
    'workflows:approve 권한이 있는 사람이 승인해야 합니다.',
  'Approve what may be done': '실행할 변경 승인',
  'What {name} would do': '{name}의 예정 동작',
  'Run with {count|approval|approvals}': '승인 {count}개로 실행',
  'Waits for an approval': '승인을 기다립니다',
  'Show what waits': '대기 중인 변경 보기',
  'This run has not made the changes below. They are made only if somebody approves them.':
    '이 실행은 아래 변경을 하지 않았습니다. 누군가 승인해야만 변경합니다.',
  'Somebody with the scopes workflows:run and workflows:approve must approve these changes.':
    'workflows:run 및 workflows:approve 권한이 있는 사람이 승인해야 합니다.',
  'Another version was published since. Run it on the page of the workflow, and approve its changes there.':
    '그 뒤로 다른 버전이 게시되었습니다. 워크플로 페이지에서 실행하고 변경을 승인하세요.',
  'Show that run': '그 실행 보기',
  '{actor} has decided, and the run went on: {state}': '{actor}이(가) 결정하여 실행이 이어졌습니다: {state}',
  'Decided by {actor}': '{actor}이(가) 결정함',
  'The run went on: {state}': '실행이 이어졌습니다: {state}',
  'Approve and continue': '승인하고 계속',
  Decline: '거절',
  Continues: '이어진 실행',
  'Approve {blocks}?': '{blocks}을(를) 승인할까요?',
  'Decline {blocks}?': '{blocks}을(를) 거절할까요?',
  'The run goes on from here with your rights, and makes what is approved with the values shown. What it has done is not done again.':
    '현재 사용자의 권한으로 여기서부터 이어서 실행하며, 승인한 변경을 표시된 값으로 합니다. 이미 한 일은 다시 하지 않습니다.',
  'The run goes on without what is declined. It cannot be approved later.':
    '거절한 변경 없이 이어서 실행합니다. 나중에 승인할 수 없습니다.',
  'Inputs and output': '입력과 출력',
} as const;
