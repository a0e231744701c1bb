import type { DomainWords } from '../domain-words.ts';

export const retail: DomainWords = {
  name: 'retail',
  en: {
    who: `shop assistant, tailor, fashion designer, supermarket, shopper, jeweller, market stall owner, brand, influencer, florist,
      hairdresser, toy maker, cashier, second-hand shop`,
    thing: `winter coat, handbag, pair of jeans, shopping cart, perfume bottle, wedding dress, leather boot, price tag, scarf, sewing
      machine, necklace, shop window, sweater, lipstick, raincoat, clearance sale, button, sofa, teapot, dining table, carpet, sandal,
      silk tie, shampoo, pillow, toy train, birthday gift, wristwatch, mirror, sunscreen, cotton shirt, zip, bookcase, hat, pram, vase,
      changing room, bracelet, sleeve, lampshade`,
    topic: `fast fashion, skin care, gift wrapping, size charts, customer reviews, second-hand clothes, hair dye, brand loyalty, street
      style, price comparison, fair trade, seasonal sales, counterfeit goods, visual merchandising, fabric care, shoplifting, home
      decoration, vintage furniture, online shopping, mens fashion`,
    act: `try on a jacket, exchange the shoes, sew on a button, iron the shirt, compare the prices, wrap a present, wear a scarf, design a
      collection, knit a sweater, polish the silver, wash the silk by hand, order the wrong size, decorate the window, cut the hair
      short, dye the fabric, stock the shelves, bargain at the market, return the trousers, buy a gift, mend the lining`,
    adj: `fashionable, handmade, oversized, worn, waterproof, stylish, second-hand, woollen, discounted, elegant, faded, vintage, knitted,
      machine-washable, tight-fitting, glossy`,
    unit: `2-90 euros off, 3-14 sizes, 36-46 shoe sizes, 10-60 centimetres`,
    frame: `The {adj} {thing} comes in {number} colours and costs {money}.
      Only until {weekday}: {percent} off every {thing} in our shop in {city}.
      I bought {a} {adj} {thing} for my sister, but the sleeves are too long.
      Wash the {thing} at {number} degrees and do not tumble dry.
      {company} will close {number} shops and sell its {adj} line online.
      Wear {a} {adj} {thing} with plain shoes and nothing shiny.
      The {who} measured my shoulders and said the {thing} would be ready in {number} days.`,
  },
  ko: {
    who: `매장 직원, 재단사, 의상 디자이너, 슈퍼마켓, 쇼핑객, 보석상, 노점 주인, 상표, 인플루언서, 꽃집 주인, 미용사, 장난감 제작자, 계산원, 중고 가게`,
    thing: `겨울 외투, 손가방, 청바지, 장바구니, 향수, 웨딩드레스, 가죽 부츠, 가격표, 목도리, 재봉틀, 목걸이, 진열창, 스웨터, 립스틱, 비옷, 단추, 소파, 찻주전자, 식탁,
      양탄자, 샌들, 넥타이, 샴푸, 베개, 장난감 기차, 생일 선물, 손목시계, 거울, 선크림, 셔츠, 지퍼, 책장, 모자, 유모차, 꽃병, 탈의실, 팔찌, 소매, 한복, 앞치마`,
    topic: `패스트 패션, 피부 관리, 선물 포장, 치수표, 상품평, 헌 옷, 염색, 상표 충성도, 길거리 패션, 가격 비교, 공정 무역, 계절 할인, 위조품, 매장 진열,
      옷감 관리, 절도, 집 꾸미기, 고가구, 온라인 쇼핑`,
    act: `재킷을 입어 보/봐, 신발을 교환, 단추를 달/달아, 셔츠를 다리/다려, 가격을 비교, 선물을 포장, 목도리를 두르/둘러, 옷을 디자인, 스웨터를 뜨/떠,
      은그릇을 닦/닦아, 비단을 손으로 빨/빨아, 치수를 잘못 주문, 진열창을 꾸미/꾸며, 머리를 짧게 자르/잘라, 천을 염색, 선반에 물건을 채우/채워, 시장에서 흥정,
      바지를 반품, 선물을 사/사, 안감을 꿰매/꿰매`,
    adj: `세련되/세련돼, 헐렁, 따뜻, 우아, 낡/낡아, 고급스럽/고급스러워, 수수, 화사, 얇/얇아, 두툼, 촌스럽/촌스러워, 튼튼`,
    unit: `2-90퍼센트, 3-14가지, 10-60센티미터`,
    frame: `{adj.ㄴ} {thing}{은} {number}가지 색으로 나오며 값은 {money}{이다}.
      {weekday}까지만 {city} 매장의 모든 {thing}{을} {percent} 할인합니다.
      동생에게 줄 {thing}{을} 샀는데 소매가 너무 길어요.
      {thing}{은} {number}도 이하의 물에 빨고 건조기에 넣지 마세요.
      {company}{은} 매장 {number}곳을 닫고 온라인에서만 팔기로 했다.
      {adj.ㄴ} {thing}에는 수수한 신발이 어울린다.
      {who}{은} 어깨를 재고 {thing}{이} {number}일 뒤에 완성된다고 했다.`,
  },
};
