const LETTERS: Readonly<Record<string, string>> = {
  lowerLetter: 'abcdefghijklmnopqrstuvwxyz',
  upperLetter: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  ganada: '가나다라마바사아자차카타파하',
  chosung: 'ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ',
  decimalEnclosedCircle: '①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳',
  decimalEnclosedCircleChinese: '①②③④⑤⑥⑦⑧⑨⑩',
  ideographDigital: '一二三四五六七八九十',
  koreanDigital: '일이삼사오육칠팔구',
  circledUpper: 'ⒶⒷⒸⒹⒺⒻⒼⒽⒾⒿⓀⓁⓂⓃⓄⓅⓆⓇⓈⓉⓊⓋⓌⓍⓎⓏ',
  circledLower: 'ⓐⓑⓒⓓⓔⓕⓖⓗⓘⓙⓚⓛⓜⓝⓞⓟⓠⓡⓢⓣⓤⓥⓦⓧⓨⓩ',
  circledGanada: '㉮㉯㉰㉱㉲㉳㉴㉵㉶㉷㉸㉹㉺㉻',
  circledChosung: '㉠㉡㉢㉣㉤㉥㉦㉧㉨㉩㉪㉫㉬㉭',
  circledIdeograph: '㊀㊁㊂㊃㊄㊅㊆㊇㊈㊉',
};
const ROMAN: ReadonlyArray<readonly [number, string]> = [
  [1000, 'm'],
  [900, 'cm'],
  [500, 'd'],
  [400, 'cd'],
  [100, 'c'],
  [90, 'xc'],
  [50, 'l'],
  [40, 'xl'],
  [10, 'x'],
  [9, 'ix'],
  [5, 'v'],
  [4, 'iv'],
  [1, 'i'],
];

/**
 * Format a list item's number for display.
 * @param format WordprocessingML format (ISO/IEC 29500-1, 17.18.59); an unknown one is written in digits
 */
export function formatNumber(value: number, format: string): string {
  const letters = LETTERS[format];
  if (letters !== undefined && value >= 1) {
    const letter = letters[(value - 1) % letters.length] as string;
    // After the last letter, letters are doubled. Other symbols don't continue, so digits follow.
    const times = Math.ceil(value / letters.length);
    if (times === 1) return letter;
    return /Letter$/.test(format) && times <= 10 ? letter.repeat(times) : String(value);
  }
  if (/Roman$/.test(format) && value >= 1 && value < 4000) {
    let rest = value;
    let roman = '';
    for (const [weight, sign] of ROMAN) {
      for (; rest >= weight; rest -= weight) roman += sign;
    }
    return format === 'upperRoman' ? roman.toUpperCase() : roman;
  }
  if (format === 'none') return '';
  return format === 'decimalZero' && value < 10 ? `0${value}` : String(value);
}
