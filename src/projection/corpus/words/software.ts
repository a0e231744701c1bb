import type { DomainWords } from '../domain-words.ts';

export const software: DomainWords = {
  name: 'software',
  en: {
    who: `backend developer, site reliability engineer, maintainer, product manager, database administrator, tester, intern, frontend
      team, scrum master, contributor, architect, release manager`,
    thing: `pull request, unit test, stack trace, database index, container image, message queue, load balancer, API key, compiler,
      hash map, memory leak, config file, race condition, build pipeline, feature flag, cache, webhook, linked list, regular
      expression, commit, feature branch, deadlock, iterator, log line, cron job, schema migration, thread pool, type error, package
      manager, endpoint, code review, garbage collector, dashboard, null pointer, shell script, search index, timeout, mutex,
      pagination token, vector store`,
    topic: `dependency injection, technical debt, continuous integration, version control, eventual consistency, code coverage,
      backward compatibility, observability, static typing, rate limiting, unicode normalisation, connection pooling, test-driven
      development, semantic versioning, lazy loading, error handling, legacy code, functional programming, API design, capacity
      planning`,
    act: `refactor a legacy module, merge a pull request, roll back a release, parse a JSON file, write an integration test, debug a
      race condition, deploy to production, cache the response, retry a failed request, split the monolith, index a large table,
      deprecate an endpoint, sanitise user input, profile the hot loop, rename a column without downtime, rotate the logs, mock a
      network call, pin a dependency, serialise an object, review the changes`,
    adj: `asynchronous, idempotent, deprecated, open-source, stateless, thread-safe, flaky, scalable, immutable, verbose, recursive,
      type-safe, backward-compatible, distributed, undocumented, lightweight`,
    unit: `5-900 milliseconds, 2-64 gigabytes of memory, 3-40 replicas, 100-9000 requests a second`,
    frame: `Since version {version} the {thing} is {adj}, so old plugins no longer compile.
      After the deploy at {time}, latency rose to {quantity} and {a} {thing} was to blame.
      Use {a} {adj} {thing} when several workers write to the same table.
      The {who} closed issue {number} as a duplicate and asked for {a} {thing}.
      We replaced the {thing} with {a} {adj} one and cut memory use by {percent}.
      If the request fails with status {status}, wait {quantity} and try again.
      Do not call the {thing} inside a transaction; it blocks every other writer.`,
  },
  ko: {
    who: `백엔드 개발자, 운영 엔지니어, 유지 관리자, 제품 책임자, 데이터베이스 관리자, 테스터, 인턴, 프런트엔드 팀, 기여자, 설계자, 배포 담당자`,
    thing: `풀 리퀘스트, 단위 테스트, 스택 트레이스, 인덱스, 컨테이너 이미지, 메시지 큐, 로드 밸런서, API 키, 컴파일러, 해시 맵, 메모리 누수, 설정 파일, 경쟁 상태,
      빌드 파이프라인, 기능 플래그, 캐시, 웹훅, 연결 리스트, 정규식, 커밋, 브랜치, 교착 상태, 반복자, 로그, 예약 작업, 스키마 마이그레이션, 스레드 풀, 타입 오류,
      패키지 관리자, 엔드포인트, 코드 리뷰, 가비지 컬렉터, 대시보드, 셸 스크립트, 검색 색인, 타임아웃`,
    topic: `의존성 주입, 기술 부채, 지속적 통합, 버전 관리, 최종 일관성, 테스트 커버리지, 하위 호환성, 관측 가능성, 정적 타입, 요청 제한, 문자 정규화, 연결 풀,
      테스트 주도 개발, 지연 로딩, 예외 처리, 레거시 코드, 함수형 프로그래밍, 용량 계획`,
    act: `모듈을 리팩터링, 풀 리퀘스트를 병합, 배포를 되돌리/되돌려, 파일을 파싱, 통합 테스트를 작성, 오류를 디버깅, 운영 환경에 배포, 응답을 캐시에 저장,
      실패한 요청을 재시도, 서비스를 분리, 큰 테이블에 색인을 추가, 오래된 기능을 제거, 입력값을 검증, 느린 반복문을 찾/찾아, 열 이름을 바꾸/바꿔, 로그를 정리,
      의존성 버전을 고정, 객체를 직렬화, 변경 사항을 검토, 메모리 사용량을 줄이/줄여`,
    adj: `비동기적이/비동기적이어, 느리/느려, 안정적이/안정적이어, 가볍/가벼워, 복잡, 간결, 유연, 견고, 불필요, 취약, 빠르/빨라, 투명`,
    unit: `5-900밀리초, 2-64기가바이트, 3-40개의 복제본`,
    frame: `{version} 버전부터 {thing} 동작이 바뀌어 예전 플러그인은 컴파일되지 않는다.
      {time} 배포 이후 지연 시간이 {quantity}까지 늘었는데 원인은 {thing}{이었다}.
      여러 작업자가 같은 테이블에 쓸 때는 {adj.ㄴ} {thing}{이} 필요하다.
      {who}{은} 이슈 {number}번을 중복으로 닫고 {thing}{을} 요청했다.
      {thing}{을} 바꾸었더니 메모리 사용량이 {percent} 줄었습니다.
      응답 코드가 {status}이면 {quantity} 기다렸다가 다시 시도하세요.
      트랜잭션 안에서 {thing}{을} 호출하면 다른 쓰기 작업이 모두 멈춘다.`,
  },
};
