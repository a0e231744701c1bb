import type { DomainWords } from '../domain-words.ts';

export const customerSupport: DomainWords = {
  name: 'customer-support',
  en: {
    who: `support agent, customer, subscriber, technician, store manager, account owner, chatbot, helpdesk, complaints team, reseller,
      field engineer, new user`,
    thing: `refund, password reset, support ticket, warranty card, router, replacement part, subscription, order confirmation, gift card,
      user manual, error message, delivery fee, account, invoice copy, voucher code, printer, charger, login page, mobile app, contact
      form, coffee machine, vacuum cleaner, remote control, washing machine, notification, phone contract, free trial, screenshot,
      dead battery, service plan, keyboard, parental filter, kettle, doorbell camera, smart watch, toner cartridge, speaker, tablet,
      verification code, SIM card`,
    topic: `late delivery, double billing, warranty claims, account recovery, returns policy, slow internet, cancelled orders, software
      updates, missing parts, privacy settings, loyalty points, opening hours, wrong size, screen damage, spam messages, trial periods,
      language settings, payment methods, connection problems, bulk discounts`,
    act: `reset the password, request a refund, cancel a subscription, restart the router, replace the battery, track an order, update the
      billing address, download the invoice, unlock the account, redeem a voucher, install the update, contact the helpdesk, return a
      faulty item, change the delivery date, delete an account, pair the headset, attach a screenshot, escalate a complaint, clear the
      cache, extend the warranty`,
    adj: `unresponsive, faulty, helpful, refundable, out-of-stock, blocked, compatible, expired, rude, user-friendly, duplicate, scratched,
      unlisted, wireless, unsatisfied, discontinued`,
    unit: `2-14 working days, 5-60 minutes on hold, 12-36 months of warranty, 2-9 attempts`,
    frame: `Hello, my order {code} arrived with {a} {adj} {thing}. Can I get a new one?
      We are sorry for the delay; your refund of {money} will arrive within {quantity}.
      To reset the {thing}, hold the button for {number} seconds until the light blinks.
      Your {thing} expires on {date}; renew it before then to keep your discount.
      I have been waiting for {quantity} and nobody answers my questions about {topic}.
      Ticket {code} was closed because the {thing} works again after the update.
      Thank you, {person}, the {who} was kind and solved my problem with {topic}.`,
  },
  ko: {
    who: `상담원, 고객, 구독자, 수리 기사, 매장 관리자, 계정 소유자, 챗봇, 고객 센터, 판매점, 현장 기사, 신규 사용자`,
    thing: `환불, 비밀번호 재설정, 문의 번호, 보증서, 공유기, 교체 부품, 구독, 주문 확인서, 상품권, 설명서, 오류 메시지, 배송비, 계정, 영수증, 할인 쿠폰, 프린터,
      충전기, 로그인 화면, 앱, 문의 양식, 커피 머신, 청소기, 리모컨, 세탁기, 알림, 휴대폰 요금제, 무료 체험, 화면 사진, 배터리, 키보드, 전기 주전자, 초인종 카메라,
      스마트 시계, 토너, 스피커, 태블릿, 인증 번호, 유심`,
    topic: `배송 지연, 이중 결제, 보증 수리, 계정 복구, 반품 규정, 느린 인터넷, 주문 취소, 소프트웨어 업데이트, 누락된 부품, 개인정보 설정, 적립금, 영업시간,
      사이즈 교환, 화면 파손, 스팸 문자, 체험 기간, 언어 설정, 결제 수단, 연결 불량`,
    act: `비밀번호를 변경, 환불을 요청, 구독을 해지, 공유기를 재부팅, 배터리를 교체, 주문을 조회, 주소를 수정, 영수증을 내려받/내려받아, 계정 잠금을 풀/풀어,
      쿠폰을 사용, 업데이트를 설치, 고객 센터에 문의, 불량품을 반품, 배송일을 바꾸/바꿔, 계정을 삭제, 이어폰을 연결, 화면 사진을 첨부, 불만을 접수, 캐시를 지우/지워,
      보증 기간을 연장`,
    adj: `친절, 불친절, 불량이/불량이어, 답답, 편리, 만료되/만료돼, 품절되/품절돼, 고장 나/나, 빠르/빨라, 느리/느려, 만족스럽/만족스러워, 실망스럽/실망스러워`,
    unit: `2-14일, 5-60분, 12-36개월`,
    frame: `주문 {code}{으로} 받은 {thing}{이} 고장 났는데 새것으로 바꿀 수 있나요?
      늦어져서 죄송합니다. 환불금 {money}{은} {number}일 안에 입금됩니다.
      {thing}{을} 초기화하려면 불이 깜박일 때까지 단추를 {number}초 동안 누르세요.
      {thing} 이용 기간이 {date}에 끝나니 그 전에 갱신해 주세요.
      {quantity}{이나} 기다렸는데 {topic} 문의에 아무도 답하지 않습니다.
      업데이트 뒤 {thing}{이} 다시 작동해서 문의 {code}{을} 종료했습니다.
      {person} 님, {topic} 문제를 친절하게 해결해 주셔서 고맙습니다.`,
  },
};
