export interface MailPart {
  readonly type: string;
  readonly name?: string;
  readonly body: string | Uint8Array;
  readonly more?: string;
}

/** Build a mail from the given parts, encoded in Base64. */
export function makeMail(parts: readonly MailPart[], head = 'Subject: Harbour =?utf-8?B?7ZWt66eM?='): Buffer {
  const lines = [
    head,
    'From: =?euc-kr?B?sei8rbi3?= <kim@example.org>',
    'To: Lee <lee@example.org>, office@example.org',
    'Date: Thu, 14 Mar 2024 09:00:00 +0900',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="b0"',
    '',
  ];
  for (const { type, name, body, more = '' } of parts) {
    const file = name === undefined ? '' : `Content-Disposition: attachment; filename="${name}"\r\n`;
    const base64 = Buffer.from(body).toString('base64').replace(/.{76}/g, '$&\r\n');
    lines.push(`--b0\r\nContent-Type: ${type}\r\n${file}${more}Content-Transfer-Encoding: base64\r\n\r\n${base64}`);
  }
  return Buffer.from([...lines, '--b0--', ''].join('\r\n'));
}
