import { Box, Text, type TextProps } from 'ink';
import { createContext, createElement, type ReactElement, useContext } from 'react';
import { oneLine } from '../platform/printable.ts';

/** Whether a view may use colours and other styles (NO_COLOR). */
export const Coloured = createContext(true);

/** One piece of a line: never wrapped, and cut by terminal cells, of which a Korean or Chinese letter takes two. */
export interface Piece {
  readonly text: string;
  /** Cells that it takes; without: as many as are left. */
  readonly cells?: number | undefined;
  readonly style?: TextProps | undefined;
  readonly isRight?: boolean | undefined;
}

/** Pieces on one line, `gap` blanks between them. */
export function line(key: string, pieces: readonly Piece[], gap = 1): ReactElement {
  const parts = pieces.map((piece, place) => createElement(Part, { key: `${place}`, ...piece }));
  return createElement(Box, { key, height: 1, gap, width: '100%' }, ...parts);
}

/** One text over the whole line. */
export function textLine(key: string, text: string, style?: TextProps): ReactElement {
  return line(key, [{ text, style }]);
}

/** Lines below each other. */
export function lines(key: string, parts: readonly (ReactElement | null)[], linesMax?: number): ReactElement {
  const bound = linesMax === undefined ? {} : { maxHeight: linesMax, overflow: 'hidden' as const };
  return createElement(Box, { key, flexDirection: 'column', width: '100%', ...bound }, ...parts);
}

function Part({ text, cells, style = {}, isRight = false }: Piece): ReactElement {
  const isColoured = useContext(Coloured);
  const size =
    cells === undefined ? { flexGrow: 1, flexShrink: 1, flexBasis: 0, minWidth: 0 } : { width: cells, flexShrink: 0 };
  return createElement(
    Box,
    { ...size, height: 1, overflow: 'hidden', justifyContent: isRight ? 'flex-end' : 'flex-start' },
    createElement(Text, { wrap: 'truncate-end', ...(isColoured ? style : {}) }, oneLine(text)),
  );
}
