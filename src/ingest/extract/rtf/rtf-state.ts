/** What a group of RTF inherits and may change for itself. */
export interface GroupState {
  /** Where text goes; `skip`: nowhere. */
  destination: 'body' | 'skip' | 'fonts' | 'styles' | 'listtext' | 'note';
  /** Number of the font; the encoding of bytes follows from it. */
  font: number;
  isHidden: boolean;
  /** How many characters follow `\u` for readers that do not know it. */
  fallbackChars: number;
}

/** What `\pard` resets. */
export interface ParagraphState {
  style: number | null;
  outlineLevel: number | null;
  /** From 0. */
  listLevel: number;
  isInTable: boolean;
  /** Tables within tables; 1: the outer one. */
  tableDepth: number;
}

/** Groups without text of the document. Those marked `\*` are passed over unless they are known. */
export const SKIPPED_DESTINATIONS: ReadonlySet<string> = new Set(
  (
    'colortbl info pict themedata colorschememapping datastore latentstyles xmlnstbl listtable listoverridetable ' +
    'rsidtbl generator header headerl headerr headerf footer footerl footerr footerf fldinst bkmkstart bkmkend ' +
    'annotation atnid atnauthor atntime atnref atnicn filetbl revtbl sp objdata objclass ftnsep ftnsepc ftncn ' +
    'aftnsep aftnsepc aftncn mmathPr tc xe rxe txe private nonshppict shprslt nonesttables datafield formfield pgptbl'
  ).split(' '),
);

/** Groups marked `\*` that hold text of the document all the same. */
export const KNOWN_DESTINATIONS: ReadonlySet<string> = new Set(['shppict', 'shpinst', 'shptxt', 'fldrslt']);
