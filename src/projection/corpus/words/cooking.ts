import type { DomainWords } from '../domain-words.ts';

export const cooking: DomainWords = {
  name: 'cooking',
  en: {
    who: `pastry chef, home cook, baker, butcher, food critic, waiter, barista, fishmonger, brewer, dishwasher, restaurant owner,
      grandmother, caterer`,
    thing: `frying pan, sourdough loaf, recipe, lemon, garlic clove, rolling pin, casserole, pancake, whisk, chopping board, stew,
      oven tray, tomato, cheesecake, cast-iron pot, dumpling, marinade, salad bowl, cinnamon stick, bay leaf, mushroom, peeler,
      omelette, spice jar, pie crust, ladle, salmon fillet, courgette, meatball, sauce, blender, chickpea, noodle soup, egg yolk,
      aubergine, pumpkin, sieve, vanilla pod, baguette, ice cream`,
    topic: `gluten-free baking, slow cooking, leftovers, food storage, knife skills, fermentation, seasoning, vegan substitutes, meal
      planning, smoking meat, yeast dough, caramelisation, table manners, seasonal vegetables, olive oil, deep frying, breakfast ideas,
      kitchen hygiene, portion size, homemade pickles`,
    act: `knead the dough, simmer the sauce, chop an onion, whisk the egg whites, roast a chicken, marinate the beef overnight, peel the
      potatoes, drain the pasta, melt the butter, season the soup, grate some cheese, fry the garlic, preheat the oven, fold in the
      flour, slice the cucumber, steam the mussels, fillet a trout, glaze the ham, toast the walnuts, boil the rice`,
    adj: `crispy, savoury, bland, juicy, spicy, overcooked, tender, creamy, sour, smoky, sweet, greasy, raw, homemade, bitter, crunchy`,
    unit: `50-800 grams, 2-6 tablespoons, 10-90 minutes, 160-240 degrees`,
    frame: `Bake the {thing} at {number} degrees until the top is golden and {adj}.
      Stir in {quantity} of flour, then let the dough rest for an hour.
      The {thing} tasted {adj}, and the {who} forgot the salt.
      For {number} people you need {quantity} of rice and one {thing}.
      Never wash {a} {adj} {thing} with cold water; it will turn soggy.
      Serve the {thing} warm, with yoghurt and a handful of mint.
      If the sauce is too {adj}, add a spoon of honey and simmer it gently.`,
  },
  ko: {
    who: `제빵사, 요리사, 정육점 주인, 음식 평론가, 종업원, 바리스타, 생선 장수, 양조사, 식당 주인, 할머니, 영양사, 급식 담당자`,
    thing: `프라이팬, 식빵, 조리법, 레몬, 마늘, 밀대, 찌개, 부침개, 거품기, 도마, 갈비찜, 오븐, 토마토, 케이크, 무쇠솥, 만두, 양념장, 샐러드, 계피, 버섯,
      달걀말이, 국자, 연어, 애호박, 완자, 믹서, 병아리콩, 칼국수, 노른자, 가지, 호박죽, 체, 김치, 떡볶이, 된장, 참기름, 나물, 비빔밥, 식혜`,
    topic: `글루텐 없는 빵, 저온 조리, 남은 음식, 식품 보관, 칼질, 발효, 간 맞추기, 채식, 식단 계획, 훈제, 효모 반죽, 제철 채소, 올리브유, 튀김 요리,
      아침 식사, 주방 위생, 김장, 장아찌 담그기`,
    act: `반죽을 치대/치대, 소스를 끓이/끓여, 양파를 썰/썰어, 달걀을 풀/풀어, 닭을 굽/구워, 고기를 재우/재워, 감자 껍질을 벗기/벗겨, 국수를 삶/삶아,
      버터를 녹이/녹여, 국의 간을 보/봐, 치즈를 갈/갈아, 마늘을 볶/볶아, 오븐을 예열, 밀가루를 섞/섞어, 오이를 무치/무쳐, 조개를 찌/쪄, 생선을 손질,
      채소를 데치/데쳐, 밥을 짓/지어, 배추를 절이/절여`,
    adj: `바삭, 고소, 싱겁/싱거워, 촉촉, 맵/매워, 질기/질겨, 부드럽/부드러워, 담백, 시/셔, 달콤, 느끼, 신선`,
    unit: `50-800그램, 2-6큰술, 10-90분`,
    frame: `{thing}{을} {number}도에서 노릇해질 때까지 구우세요.
      밀가루 {quantity}{을} 넣고 반죽을 한 시간 동안 쉬게 둡니다.
      {thing}{이} 너무 {adj.었지만} 국물은 맛있었다.
      {number}인분에는 쌀 {quantity}{과} {thing}{이} 필요하다.
      {adj.ㄴ} {thing}{은} 찬물에 씻으면 맛이 떨어진다.
      {thing}{은} 따뜻할 때 깨소금을 뿌려 내면 좋습니다.
      맛이 너무 강하면 꿀을 한 숟가락 넣고 약한 불에서 졸인다.`,
  },
};
