import type { DomainWords } from '../domain-words.ts';

export const arts: DomainWords = {
  name: 'arts',
  en: {
    who: `novelist, painter, film director, actress, poet, sculptor, publisher, museum curator, screenwriter, playwright, illustrator,
      photographer, book club, dancer, art dealer, translator`,
    thing: `novel, oil painting, film, short story, sculpture, screenplay, poem, gallery, documentary, stage play, portrait, paperback,
      sequel, exhibition, fairy tale, comic book, plot twist, mural, biography, sketch, trailer, costume, audiobook, ballet, film set,
      masterpiece, watercolour, mosaic, detective story, cartoon, statue, library book, manuscript, soap opera, villain, stage curtain,
      film poster, etching, landscape, narrator`,
    topic: `modern art, science fiction, book prizes, character development, special effects, literary criticism, abstract painting,
      method acting, censorship, film editing, street art, ghost stories, romantic comedy, photography, oral storytelling, art theft,
      satire, perspective drawing, film festivals, translation of poetry`,
    act: `paint a portrait, direct a film, publish a first novel, carve a statue, play the villain, write a screenplay, restore the fresco,
      review a book, exhibit the drawings, dance in the ballet, translate a poem, illustrate a fairy tale, forge a masterpiece, edit
      the final scene, read the story aloud, cast an unknown actor, adapt the novel for television, sketch the harbour, win a literary
      prize, shoot the last scene in the desert`,
    adj: `abstract, poetic, suspenseful, autobiographical, surreal, melancholic, witty, well-acted, predictable, black-and-white, animated,
      sentimental, avant-garde, gripping, clichéd, illustrated`,
    unit: `80-900 pages, 5-180 minutes, 2-14 chapters, 3-60 paintings`,
    frame: `The {adj} film of {quantity} tells of {a} {who} who returns to {city} in {year}.
      {person} won the prize for {a} {adj} {thing} about {topic}.
      The {thing} hangs in a museum in {country} and is worth {money}.
      In chapter {number}, the {who} finds {a} {adj} {thing} behind the wall.
      I found the {thing} {adj}, but the ending came too soon.
      The exhibition shows {number} works by {person} and runs until {date}.
      Her second novel is {a} {adj} story of two sisters and {a} lost {thing}.`,
  },
  ko: {
    who: `소설가, 화가, 영화감독, 배우, 시인, 조각가, 출판사, 학예사, 시나리오 작가, 극작가, 삽화가, 사진가, 독서 모임, 무용수, 화상, 번역가`,
    thing: `소설, 유화, 영화, 단편 소설, 조각상, 시나리오, 시집, 미술관, 다큐멘터리, 연극, 초상화, 문고판, 속편, 전시회, 동화, 만화책, 반전, 벽화, 전기, 스케치,
      예고편, 무대 의상, 오디오북, 발레, 촬영장, 걸작, 수채화, 모자이크, 추리 소설, 풍경화, 원고, 연속극, 악역, 포스터, 판화, 수필, 도자기, 탈춤, 서예`,
    topic: `현대 미술, 공상 과학, 문학상, 인물 묘사, 특수 효과, 문학 비평, 추상화, 연기법, 검열, 영화 편집, 거리 예술, 괴담, 로맨스, 사진 예술, 이야기 구전,
      미술품 도난, 풍자, 원근법, 시 번역`,
    act: `초상화를 그리/그려, 영화를 연출, 첫 소설을 출간, 석상을 조각, 악역을 연기, 각본을 쓰/써, 벽화를 복원, 책을 비평, 작품을 전시, 발레를 추/춰,
      시를 번역, 동화에 삽화를 그리/그려, 그림을 위조, 마지막 장면을 편집, 이야기를 소리 내어 읽/읽어, 신인 배우를 뽑/뽑아, 소설을 드라마로 각색, 항구를 스케치,
      문학상을 받/받아, 사막에서 촬영`,
    adj: `감동적이/감동적이어, 지루, 난해, 섬세, 아름답/아름다워, 몽환적이/몽환적이어, 유쾌, 뻔, 강렬, 쓸쓸, 독창적이/독창적이어, 생생`,
    unit: `80-900쪽, 5-180분, 3-60점`,
    frame: `{adj.ㄴ} 이 영화는 {year}년 {city}{으로} 돌아온 {who}의 이야기를 다룬다.
      {person}{은} {topic}{을} 다룬 {thing}{으로} 상을 받았다.
      이 {thing}{은} {country}의 미술관에 걸려 있으며 {money}의 가치가 있다.
      {number}장에서 {who}{은} 벽 뒤에 숨겨진 {thing}{을} 찾아낸다.
      {thing}{은} {adj.었지만} 결말이 너무 빨리 왔다.
      전시에서는 {person}의 작품 {number}점을 {date}까지 볼 수 있다.
      두 번째 소설은 두 자매와 잃어버린 {thing}에 관한 {adj.ㄴ} 이야기다.`,
  },
};
