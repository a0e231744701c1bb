import type { DomainWords } from '../domain-words.ts';

export const security: DomainWords = {
  name: 'security',
  en: {
    who: `network administrator, hacker, security researcher, incident responder, telecom operator, bank customer, police unit, auditor,
      penetration tester, guard, chief information officer, spammer`,
    thing: `firewall, password manager, phishing email, router, encryption key, data breach, server rack, backup, fibre cable, virus
      scanner, access point, security patch, login attempt, domain name, honeypot, botnet, certificate, smart card, surveillance camera,
      network switch, mobile mast, voicemail, proxy server, security badge, exploit, ransom note, IP address, padlock, USB stick, alarm
      system, audit trail, sandbox, packet, modem, tunnel, fingerprint reader, bug bounty, malware sample, intrusion alert, passphrase`,
    topic: `two-factor authentication, ransomware, zero-day flaws, network latency, identity fraud, data retention, password hygiene, social
      engineering, end-to-end encryption, denial-of-service attacks, roaming charges, cloud storage, access control, mobile coverage,
      supply chain attacks, physical security, disaster recovery, privacy law, spam filtering, bandwidth limits`,
    act: `encrypt the hard disk, block a suspicious address, patch the server, leak customer records, scan the network, revoke the
      certificate, steal a session cookie, report a phishing email, restore the backup, configure the firewall, wipe the stolen phone,
      intercept the traffic, lock the server room, disclose a vulnerability, trace the attackers, rotate the keys, log every access,
      guess the password, isolate the infected machine, test the alarm`,
    adj: `encrypted, vulnerable, malicious, unauthorised, anonymous, compromised, suspicious, tamper-proof, password-protected, unpatched,
      wireless, confidential, remote, infected, hardened, air-gapped`,
    unit: `2-900 megabits per second, 128-4096 bits, 3-60 failed logins, 2-90 days of logs`,
    frame: `An attacker used {a} {adj} {thing} to read {big} customer records of {company}.
      Change your {thing} every {number} months and never send it by email.
      At {time}, the {thing} blocked {number} requests from {country} within a minute.
      The flaw affects version {version} and lets {a} {adj} user run any command.
      Backups are kept for {quantity} in two places, one of them offline.
      The {who} warned that {topic} is the most common way in.
      If you lose your {thing}, call us at once and we will lock the account.`,
  },
  ko: {
    who: `네트워크 관리자, 해커, 보안 연구원, 침해 대응팀, 통신사, 은행 고객, 사이버 수사대, 보안 감사인, 모의 해킹 전문가, 경비원, 정보 책임자`,
    thing: `방화벽, 비밀번호 관리자, 피싱 메일, 공유기, 암호 키, 정보 유출, 서버 랙, 백업, 광케이블, 백신 프로그램, 접속 지점, 보안 패치, 로그인 시도, 도메인,
      악성 코드, 인증서, 스마트카드, 감시 카메라, 네트워크 스위치, 기지국, 음성 사서함, 프록시 서버, 출입증, 취약점, 협박 편지, IP 주소, 자물쇠, USB 메모리,
      경보 장치, 감사 기록, 패킷, 모뎀, 지문 인식기, 신고 포상금, 침입 경보, 공동 인증서`,
    topic: `이중 인증, 랜섬웨어, 제로데이 취약점, 네트워크 지연, 명의 도용, 데이터 보존, 비밀번호 관리, 사회 공학, 종단 간 암호화, 서비스 거부 공격, 로밍 요금,
      클라우드 저장소, 접근 제어, 통신 품질, 공급망 공격, 물리 보안, 재해 복구, 개인정보 법령, 스팸 차단`,
    act: `디스크를 암호화, 의심스러운 주소를 차단, 서버를 패치, 고객 정보를 유출, 네트워크를 점검, 인증서를 폐기, 세션을 가로채/가로채, 피싱 메일을 신고,
      백업을 복원, 방화벽을 설정, 잃어버린 전화를 초기화, 통신을 엿듣/엿들어, 서버실을 잠그/잠가, 취약점을 공개, 공격자를 추적, 암호 키를 바꾸/바꿔, 접속을 기록,
      비밀번호를 맞히/맞혀, 감염된 컴퓨터를 격리, 경보를 시험`,
    adj: `취약, 악의적이/악의적이어, 안전, 수상, 은밀, 치명적이/치명적이어, 느슨, 철저, 익명이/익명이어, 교묘, 민감, 허술`,
    unit: `2-900메가비트, 3-60회, 2-90일`,
    frame: `공격자는 {thing}{을} 이용해 {company} 고객 {big}명의 정보를 빼냈다.
      {thing}{은} {number}개월마다 바꾸고 메일로 보내지 마세요.
      {time}에 {thing}{이} {country}에서 온 요청 {number}건을 차단했다.
      이 결함은 {version} 버전에 있으며 누구나 명령을 실행할 수 있게 한다.
      백업은 두 곳에 {number}일 동안 보관하고 하나는 망에서 떼어 둔다.
      {who}{은} {topic}{이} 가장 흔한 침입 경로라고 경고했다.
      {thing}{을} 잃어버리면 바로 전화해 주세요. 계정을 잠가 드립니다.`,
  },
};
