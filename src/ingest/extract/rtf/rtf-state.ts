/** State that a group of RTF inherits and may change for itself. */
export interface GroupState {
  /** Destination of text; `skip` discards it. */
  destination: 'body' | 'skip' | 'fonts' | 'styles' | 'listtext' | 'note';
  /** Number of the font; the encoding of bytes follows from it. */
  font: number;
  isHidden: boolean;
  /** Number of characters after `\u` for readers that do not know it. */
  fallbackChars: number;
}

/** State that `\pard` resets. */
export interface ParagraphState {
  style: number | null;
  outlineLevel: number | null;
  /** Level from 0. */
  listLevel: number;
  isInTable: boolean;
  /** Depth of nested tables; 1 for the outer one. */
  tableDepth: number;
}

/** Groups without text of the document. Unknown groups marked `\*` are skipped too. */
export const SKIPPED_DESTINATIONS: ReadonlySet<string> = new Set(
  (
    'colortbl info pict themedata colorschememapping datastore latentstyles xmlnstbl listtable listoverridetable ' +
    'rsidtbl generator header headerl headerr headerf footer footerl footerr footerf fldinst bkmkstart bkmkend ' +
    'annotation atnid atnauthor atntime atnref atnicn filetbl revtbl sp objdata objclass ftnsep ftnsepc ftncn ' +
    'aftnsep aftnsepc aftncn mmathPr tc xe rxe txe private nonshppict shprslt nonesttables datafield formfield pgptbl'
  ).split(' '),
);

/** Groups marked `\*` that contain text of the document. */
export const KNOWN_DESTINATIONS: ReadonlySet<string> = new Set(['shppict', 'shpinst', 'shptxt', 'fldrslt']);
