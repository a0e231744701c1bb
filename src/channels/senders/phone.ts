/**
 * Return the national form of a Korean mobile number: `01012345678` for `+821012345678`, `821012345678` and
 * `01012345678`. Return null for any other number, since Alimtalk reaches only Korean mobile numbers.
 */
export function koreanMobile(phone: string): string | null {
  const national = phone.replace(/^\+?82(?:0(?=1))?(?=1)/, '0');
  return /^01[016789][0-9]{7,8}$/.test(national) ? national : null;
}
