/** State that an RTF group inherits and may change locally. */
export interface GroupState {
  /** Destination of text; `skip` discards it. */
  destination: 'body' | 'skip' | 'fonts' | 'styles' | 'listtext' | 'note';
  /** Font number, which determines the encoding of bytes. */
  font: number;
  isHidden: boolean;
  /** Number of characters after `\u` for readers that don't support it. */
  fallbackChars: number;
}

/** State reset by `\pard`. */
export interface ParagraphState {
  style: number | null;
  outlineLevel: number | null;
  /** Level from 0. */
  listLevel: number;
  isInTable: boolean;
  /** Table nesting depth; 1 for the outermost. */
  tableDepth: number;
}

/** Groups without document text. Unknown groups marked `\*` are skipped too. */
export const SKIPPED_DESTINATIONS: ReadonlySet<string> = new Set(
  (
    'colortbl info pict themedata colorschememapping datastore latentstyles xmlnstbl listtable listoverridetable ' +
    'rsidtbl generator header headerl headerr headerf footer footerl footerr footerf fldinst bkmkstart bkmkend ' +
    'annotation atnid atnauthor atntime atnref atnicn filetbl revtbl sp objdata objclass ftnsep ftnsepc ftncn ' +
    'aftnsep aftnsepc aftncn mmathPr tc xe rxe txe private nonshppict shprslt nonesttables datafield formfield pgptbl'
  ).split(' '),
);

/** Groups marked `\*` that contain document text. */
export const KNOWN_DESTINATIONS: ReadonlySet<string> = new Set(['shppict', 'shpinst', 'shptxt', 'fldrslt']);
