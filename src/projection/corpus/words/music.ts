import type { DomainWords } from '../domain-words.ts';

export const music: DomainWords = {
  name: 'music',
  en: {
    who: `violinist, composer, choir, conductor, drummer, record label, songwriter, sound engineer, pianist, opera singer, street
      musician, string quartet, music teacher, guitarist, rapper`,
    thing: `guitar, symphony, chorus, piano sonata, drum kit, album, concert hall, microphone, melody, trumpet, playlist, flute solo,
      song, violin bow, ballad, metronome, loudspeaker, cello, music festival, encore, headphone, lullaby, saxophone, chord, sheet of
      music, organ, remix, opera, turntable, tuning fork, harp, bass line, accordion, bagpipe, overture, jukebox, concerto, folk tune,
      studio, amplifier`,
    topic: `perfect pitch, harmony, royalties, jazz improvisation, stage fright, sight-reading, vocal training, counterpoint, concert
      tickets, streaming revenue, rhythm, folk music, sound mixing, copyright of lyrics, baroque ornament, chamber music, dance music,
      acoustics, hip-hop culture, early music`,
    act: `tune the guitar, compose a film score, rehearse the finale, play the cello, sing in harmony, record an album, conduct the
      orchestra, improvise over the chords, write the lyrics, miss the high note, release a single, transpose the song, practise
      scales, clap along, sell out the arena, perform without a microphone, strum a chord, mix the vocals, read the score, join the
      choir`,
    adj: `melodic, out-of-tune, acoustic, rhythmic, baroque, catchy, mournful, improvised, orchestral, off-key, soulful, percussive,
      dissonant, virtuosic, muffled, upbeat`,
    unit: `2-60 bars, 3-90 minutes of music, 60-200 beats a minute, 2-14 tracks`,
    frame: `The second movement is {adj}, about {quantity} long and played without a pause.
      {person} wrote the {thing} in {year}, while she lived in {city}.
      The {who} opened the evening with {a} {adj} {thing} in D minor.
      Tickets for the {thing} in {city} sold out in {number} minutes.
      Her new album has {number} songs and {a} {adj} {thing} at the end.
      To play this {thing}, move the third finger and keep the thumb relaxed.
      Critics called the {thing} {adj}, yet the crowd asked for an encore.`,
  },
  ko: {
    who: `바이올린 연주자, 작곡가, 합창단, 지휘자, 드러머, 음반사, 작사가, 음향 기사, 피아니스트, 성악가, 거리 음악가, 현악 사중주단, 기타리스트, 래퍼, 국악인`,
    thing: `기타, 교향곡, 후렴, 소나타, 드럼, 음반, 공연장, 마이크, 선율, 트럼펫, 재생 목록, 플루트 독주, 노래, 활, 발라드, 메트로놈, 스피커, 첼로, 음악 축제,
      앙코르, 이어폰, 자장가, 색소폰, 화음, 악보, 오르간, 오페라, 소리굽쇠, 하프, 아코디언, 서곡, 협주곡, 민요, 녹음실, 가야금, 판소리, 장구, 피리`,
    topic: `절대 음감, 화성, 저작권료, 즉흥 연주, 무대 공포증, 초견, 발성 연습, 대위법, 공연 예매, 스트리밍 수익, 박자, 민속 음악, 음향 믹싱, 가사 표절,
      실내악, 춤곡, 음향학, 힙합 문화, 국악 교육`,
    act: `기타를 조율, 영화 음악을 작곡, 마지막 악장을 연습, 첼로를 연주, 화음을 넣/넣어, 음반을 녹음, 오케스트라를 지휘, 가사를 쓰/써, 높은 음을 놓치/놓쳐,
      신곡을 발표, 음계를 익히/익혀, 박수를 치/쳐, 공연을 매진시키/매진시켜, 마이크 없이 노래, 북을 두드리/두드려, 악보를 읽/읽어, 합창단에 들어가/들어가,
      피리를 불/불어, 무대에 오르/올라, 춤을 추/춰`,
    adj: `감미롭/감미로워, 구슬프/구슬퍼, 경쾌, 웅장, 잔잔, 흥겹/흥겨워, 서정적이/서정적이어, 날카롭/날카로워, 낮/낮아, 은은, 힘차/힘차, 애절`,
    unit: `2-60마디, 3-90분, 2-14곡`,
    frame: `2악장은 {adj.고} {number}분쯤 이어지며 쉬지 않고 연주된다.
      {person}{은} {city}에 살던 {year}년에 이 {thing}{을} 썼다.
      {who}{은} {adj.ㄴ} {thing}{으로} 저녁 공연을 시작했다.
      {city} {thing} 입장권은 {number}분 만에 모두 팔렸다.
      새 음반에는 노래 {number}곡과 {adj.ㄴ} {thing}{이} 실려 있다.
      이 {thing}{을} 연주할 때는 엄지의 힘을 빼고 셋째 손가락을 옮기세요.
      평론가들은 {thing}{이} {adj.다고} 했지만 관객은 앙코르를 외쳤다.`,
  },
};
