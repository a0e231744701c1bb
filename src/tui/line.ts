import { Box, Text, type TextProps } from 'ink';
import { createContext, createElement, type ReactElement, useContext } from 'react';
import { oneLine } from '../platform/printable.ts';

/** Context that is true if a view may use colours and other styles (NO_COLOR). */
export const Coloured = createContext(true);

/**
 * Text segment of a line. It is truncated instead of wrapped, by terminal cells. A Korean or Chinese letter takes two.
 */
export interface TextSegment {
  readonly text: string;
  /** Number of cells; undefined takes the rest of the line. */
  readonly cells?: number | undefined;
  readonly style?: TextProps | undefined;
  readonly isRight?: boolean | undefined;
}

/** Render segments on one line, with `gap` spaces between them. */
export function line(key: string, segments: readonly TextSegment[], gap = 1): ReactElement {
  const boxes = segments.map((segment, index) => createElement(Segment, { key: `${index}`, ...segment }));
  return createElement(Box, { key, height: 1, gap, width: '100%' }, ...boxes);
}

/** Render one text over the whole line. */
export function textLine(key: string, text: string, style?: TextProps): ReactElement {
  return line(key, [{ text, style }]);
}

/** Render lines below each other. */
export function lines(key: string, parts: readonly (ReactElement | null)[], linesMax?: number): ReactElement {
  const bound = linesMax === undefined ? {} : { maxHeight: linesMax, overflow: 'hidden' as const };
  return createElement(Box, { key, flexDirection: 'column', width: '100%', ...bound }, ...parts);
}

function Segment({ text, cells, style = {}, isRight = false }: TextSegment): ReactElement {
  const isColoured = useContext(Coloured);
  const size =
    cells === undefined ? { flexGrow: 1, flexShrink: 1, flexBasis: 0, minWidth: 0 } : { width: cells, flexShrink: 0 };
  return createElement(
    Box,
    { ...size, height: 1, overflow: 'hidden', justifyContent: isRight ? 'flex-end' : 'flex-start' },
    createElement(Text, { wrap: 'truncate-end', ...(isColoured ? style : {}) }, oneLine(text)),
  );
}
