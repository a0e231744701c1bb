/**
 * Code, in the middle of anybody's domain, and questions about code. One template a line; `↵` is a line break. Lists of
 * the other language are `{en-thing}` and `{ko-thing}`.
 */
export const ENGLISH_CODE = `
  def {act.snake}({thing#1.snake}, limit={number}):↵    if {#1.snake} is None:↵        raise ValueError("no {#1}")↵    return {#1.snake}[:limit]
  class {thing.pascal}:↵    """{a} {adj} {thing}."""↵↵    def __init__(self, {thing#1.snake}):↵        self.{#1.snake} = {#1.snake}
  for {thing#1.snake} in load_{#1.pl.snake}("{thing.pl.snake}.csv"):↵    print({#1.snake}.{topic.snake})
  total = sum(row["{thing.snake}"] for row in rows if row["{topic.snake}"] > {number})
  const {thing#1.camel} = await fetch('/api/{thing.pl.kebab}?limit={number}');↵if (!{#1.camel}.ok) throw new Error('{topic}');
  export function {act.camel}({thing#1.camel}: {#1.pascal}): boolean { return {#1.camel}.{topic.camel} > {number}; }
  interface {thing.pascal} { id: string; {topic.camel}: number; {thing.pl.camel}: string[]; }
  const {thing.pl.camel} = items.filter((item) => item.{topic.camel} && item.price < {number});
  SELECT {thing.snake}, COUNT(*) FROM {who.pl.snake} WHERE {topic.snake} > {number} GROUP BY {thing.snake};
  INSERT INTO {thing.pl.snake} (name, city, amount) VALUES ('{person}', '{city}', {number});
  UPDATE {who.pl.snake} SET {topic.snake} = TRUE WHERE id = {big#1} AND updated_at < '{year}-01-01';
  CREATE TABLE {thing.pl.snake} (id bigint PRIMARY KEY, {topic.snake} text NOT NULL, {thing.snake} integer);
  func {act.pascal}(ctx context.Context, id int) (*{thing#1.pascal}, error) { return store.Find{#1.pascal}(ctx, id) }
  fn {act.snake}(count: u32) -> Option<{thing.pascal}> { if count > {number} { None } else { Some(build(count)) } }
  public class {thing.pascal} extends {thing.pascal} { private final int {topic.camel} = {number}; }
  curl -X POST https://api.example.com/{thing.pl.kebab} -d '{ "{topic.snake}": {number}, "name": "{thing}" }'
  grep -rn "{topic}" ./{thing.pl.kebab} | sort | head -n {number}
  docker run --rm -v ./{thing.pl.kebab}:/data {thing.kebab}:{version} --{topic.kebab}={number}
  { "id": "{code}", "{thing.camel}": "{adj}", "{topic.camel}": [{number}, {number}], "city": "{city}" }
  {thing.kebab}:↵  image: {who.kebab}:{version}↵  replicas: {digit}↵  {topic.kebab}: true
  ERROR {date} {time} [{who.kebab}] could not {act}: {thing.snake} is {adj} (code {status})
  Traceback (most recent call last): File "{thing.snake}.py", line {number}, in {act.snake}↵KeyError: '{topic.snake}'
  <div class="{thing.kebab}"><h2>{topic.cap}</h2><p>{clause.cap}.</p></div>
  .{thing.kebab} { width: {number}px; margin: 0 auto; color: #{number}{number}ab; } /* {topic} */
  git commit -m "{act.cap}" && git push origin fix/{topic.kebab}
  ^{code}-[0-9]{2,{digit}}$ matches the {thing} number, for example {code}-{number}
  // TODO: {act} before we {act}, see issue {number}
  #[test] fn {thing.snake}_is_{adj.snake}() { assert_eq!({act.snake}({number}), {number}); }
`;

export const ENGLISH_CODE_QUESTIONS = `
  How do I sort a list of {thing.pl} by {topic} in Python?
  python function to {act}
  SQL query that returns every {who} without {a} {thing}
  Why do I get "KeyError: {topic.snake}" when I {act}?
  JavaScript: convert {a} {thing} into a map keyed by {topic}
  regex that matches {a} {thing} number such as {code}-{number}
  What is the time complexity of searching {big} {thing.pl} in a hash map?
  TypeScript type for {a} {thing} with an optional {thing} field
  Best way to cache {thing.pl} in memory for {number} seconds in Go?
  {thing.pascal} is not defined in {act.camel}, line {number}
  Write a unit test for the function {act.snake}, which rejects {a} {adj} {thing}.
  bash script that renames all {thing} files older than {number} days
  How can two threads update the same {thing} without a lock?
`;

export const KOREAN_CODE = `
  # {thing}{을} {act.는} 함수↵def {en-act.snake}({en-thing#1.snake}):↵    return {#1.snake} is not None
  # {topic} 값을 모두 더한다↵total = sum(row["{en-thing.snake}"] for row in rows)
  const {en-thing#1.camel} = load('{thing}'); // {thing}{이} 없으면 빈 값↵if (!{#1.camel}) throw new Error('{thing} 없음');
  SELECT {en-thing.snake} FROM {en-who.pl.snake} WHERE name = '{person}'; -- {topic} 조회
  INSERT INTO {en-thing.pl.snake} (이름, 지역, 금액) VALUES ('{person}', '{city}', {number});
  { "코드": "{code}", "{en-thing.camel}": "{thing}", "수량": {number}, "지역": "{city}" }
  ERROR {time} [{en-who.kebab}] {thing}{을} 찾을 수 없음 (코드 {status})
  // 할 일: {act.고} 나서 {act.기}, 이슈 {number} 참고
  function {en-act.camel}(값) { return 값 > {number}; } // {topic} 여부
  print("{thing}:", {en-thing.snake}, "{topic}:", {number})
  git commit -m "{act.기}" && git push origin {en-topic.kebab}
`;

export const KOREAN_CODE_QUESTIONS = `
  파이썬에서 {thing} 목록을 {topic} 순서로 정렬하는 방법
  {act.는} 함수를 자바스크립트로 작성해 주세요.
  {thing}{이} 없는 {who}{을} 모두 찾는 SQL 질의는 어떻게 쓰나요?
  "KeyError: {en-topic.snake}" 오류가 나는데 이유가 뭔가요?
  {thing} 번호 {code}{과} 맞는 정규식을 알려 주세요.
  {thing} {big}개를 해시 맵에서 찾을 때 시간 복잡도는 얼마인가요?
  TypeScript에서 {thing} 타입을 선언하려면 어떻게 하나요?
  {number}초 동안 {thing}{을} 메모리에 캐시하는 가장 좋은 방법은?
  {en-act.snake} 함수의 단위 테스트를 작성해 주세요.
  두 스레드가 같은 {thing}{을} 잠금 없이 고칠 수 있나요?
`;

/** Both languages in one text, as people write who live with both. */
export const KOREAN_MIXED = `
  {en-topic} 때문에 {thing}{이} {adj.었다}.
  {en-thing.cap} {thing} 비교 {year}
  {thing}({en-thing}){은} {act.는} 데 쓰인다.
  "{en-thing}"{은} 한국어로 뭐라고 하나요?
  {who} meeting은 {weekday} {time}, 주제는 {en-topic}
  이번 {en-thing} {good.었어요}! {thing}도 {adj.고} 만족합니다.
  {topic}{을} 영어로는 {en-topic} 같은 말로 설명할 수 있다.
  {company}의 새 {en-thing} 발표: {adj.ㄴ} {thing}{과} {en-topic}
  {en-act} 하는 방법을 {who}에게 물어보았다.
  다음 문장을 번역하세요: The {en-thing} is {en-adj}.
  {en-who.cap}: {en-frame} 이 말에 {who}{은} 고개를 끄덕였다.
  {frame} ({en-topic}, {en-topic})
  API 응답에 {en-thing.snake} 값이 없으면 {thing}{을} 확인하세요.
  {en-adj} {en-thing} 추천해 주세요. {thing}보다 {adj.ㄴ} 것이면 좋겠어요.
`;

export const ENGLISH_MIXED = `
  What does {ko-thing} mean? Is it {a} {thing} or {a} {thing}?
  The Korean word for {topic} is often given as "{ko-topic}".
  {ko-thing} {thing} {city} price
  I saw "{ko-topic}" on {a} {thing} {where}. Does it say {topic}?
  {frame} (in Korean: {ko-topic}, {ko-thing})
  {person} asked the {who} about {ko-thing}, {result}.
  Translate into English: {ko-frame}
  Menu: {ko-thing}, {ko-thing}, {thing} — {money}
  How do you say "{a} {adj} {thing}" in Korean? {ko-thing}?
  {ko-who} ({who}) said: {frame}
`;
