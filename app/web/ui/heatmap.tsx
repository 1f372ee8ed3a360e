/*
 * Canvases of the heat map. A cell is a slot of time: time runs upwards in a
 * column, and continues at the bottom of the next. A range is a period of
 * time, not a rectangle.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { clock } from '../flame/text.js';
import { lengthOf } from './result';

export type Span = { from: number; to: number }; /* ms */

/* From no samples to most: red, green and blue at equal steps. */
const RAMPS = {
  light: [[240, 242, 245], [253, 224, 200], [247, 164, 104], [222, 92, 22],
    [120, 38, 4]],
  dark: [[36, 40, 47], [82, 45, 24], [150, 72, 24], [238, 132, 62],
    [255, 228, 206]],
};
const STEPS = 64;

function ramp() {
  const stops = RAMPS[document.documentElement.dataset.theme === 'dark'
    ? 'dark' : 'light'];
  return Array.from({ length: STEPS + 1 }, (_, i) => {
    const at = i / STEPS * (stops.length - 1), k = Math.min(Math.floor(at),
      stops.length - 2);
    return stops[k].map((v, c) => v + (stops[k + 1][c] - v) * (at - k));
  });
}

/* Colours scale with the square root, so that few samples are visible beside
   many. */
function pixels(width: number, height: number, most: number,
  value: (x: number, y: number) => number | undefined) {
  const colors = ramp(), image = new ImageData(width, height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const v = value(x, y);
      if (v === undefined) continue;
      const [r, g, b] = colors[Math.round(Math.sqrt(v / most) * STEPS)];
      image.data.set([r, g, b, 255], (y * width + x) * 4);
    }
  return image;
}

/* Draws at the current size of a canvas, and again when the size or the theme
 * changes. */
function useDrawn(draw: (canvas: HTMLCanvasElement) => void,
  inputs: unknown[]) {
  const at = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const canvas = at.current!, again = () => draw(canvas);
    const size = new ResizeObserver(again);
    size.observe(canvas);
    document.addEventListener('stoker-theme', again);
    again();
    return () => {
      size.disconnect();
      document.removeEventListener('stoker-theme', again);
    };
  }, inputs);
  return at;
}

/* Draws an image, with sharp edges, over the whole canvas. */
function paint(canvas: HTMLCanvasElement, image: ImageData) {
  const small = document.createElement('canvas');
  small.width = image.width;
  small.height = image.height;
  small.getContext('2d')!.putImageData(image, 0, 0);
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio));
  canvas.height = Math.max(1, Math.round(canvas.clientHeight *
    devicePixelRatio));
  const out = canvas.getContext('2d')!;
  out.imageSmoothingEnabled = false;
  out.drawImage(small, 0, 0, canvas.width, canvas.height);
}

/* A thread's samples over the time of the capture. */
export function Lane({ slots, most }: { slots: number[]; most: number }) {
  const at = useDrawn(canvas => paint(canvas, pixels(slots.length, 1, most,
    x => slots[x])), [slots, most]);
  return <canvas ref={at} aria-hidden="true" />;
}

/* began: the time of day at which the first slot begins. */
export function HeatMap({ slots, slotMs, columnMs, durationMs, began, span,
  isSecond, choose }: { slots: number[]; slotMs: number; columnMs: number;
  durationMs: number; began: number; span?: Span; isSecond: boolean;
  choose: (span?: Span) => void }) {
  const rows = Math.max(1, Math.round(columnMs / slotMs));
  const columns = Math.max(1, Math.ceil(slots.length / rows));
  const most = useMemo(() => slots.reduce((a, b) => Math.max(a, b), 1),
    [slots]);
  const [drag, setDrag] = useState<{ from: number; to: number } | undefined>();
  const [cursor, setCursor] = useState(-1);
  const image = () => pixels(columns, rows, most, (x, y) =>
    slots[x * rows + rows - 1 - y]);
  const at = useDrawn(canvas => paint(canvas, image()), [slots, rows, most]);

  const spanOf = ({ from, to }: { from: number; to: number }): Span => ({
    from: Math.round(Math.min(from, to) * slotMs),
    to: Math.round(Math.min((Math.max(from, to) + 1) * slotMs,
      Math.ceil(durationMs))) });
  const cellAt = (e: PointerEvent) => {
    const box = at.current!.getBoundingClientRect();
    const x = Math.floor((e.clientX - box.left) / box.width * columns);
    const y = Math.floor((e.clientY - box.top) / box.height * rows);
    const within = (v: number, n: number) => Math.max(0, Math.min(n - 1, v));
    return within(within(x, columns) * rows + rows - 1 - within(y, rows),
      slots.length);
  };
  const down = (e: PointerEvent) => {
    if (e.button !== 0) return;
    at.current!.setPointerCapture(e.pointerId);
    const cell = cellAt(e);
    setDrag({ from: cell, to: cell });
  };
  const move = (e: PointerEvent) => {
    const cell = cellAt(e);
    setCursor(cell);
    if (drag && e.buttons) setDrag({ ...drag, to: cell });
  };
  const up = () => {
    if (drag) choose(spanOf(drag));
    setDrag(undefined);
  };
  /* A click selects a column: a slot is too small to hit. */
  const released = () => {
    if (!drag || drag.from !== drag.to) return up();
    const first = drag.from - drag.from % rows;
    choose(spanOf({ from: first, to: first + rows - 1 }));
    setDrag(undefined);
  };
  const key = (e: KeyboardEvent) => {
    const step = { ArrowLeft: -rows, ArrowRight: rows, ArrowUp: 1,
      ArrowDown: -1 }[e.key];
    const cell = Math.max(cursor, 0);
    if (step !== undefined) {
      const next = Math.max(0, Math.min(slots.length - 1, cursor < 0 ? 0
        : cell + step));
      setCursor(next);
      if (drag) setDrag({ ...drag, to: next });
    } else if (e.key === 'Enter' || e.key === ' ') {
      if (drag) up();
      else setDrag({ from: cell, to: cell });
    } else if (e.key === 'Escape' && (drag || span)) {
      if (drag) setDrag(undefined);
      else choose();
    } else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const shown = drag ? spanOf(drag) : span;
  const old = drag && isSecond ? span : undefined;
  const about = cursor < 0 ? '' : `${lengthOf(cursor * slotMs)}, ${
    clock(began + cursor * slotMs)}: ${
    slots[cursor]} sample${slots[cursor] === 1 ? '' : 's'}`;
  const sums = sumsOf(slots, rows, columns);
  return <>
    <div class="heat-rows" aria-hidden="true"><span>{columnMs} ms</span>
      <span>0</span></div>
    <div class="heat-cells">
      <canvas ref={at} tabIndex={0} role="application"
        aria-roledescription="heat map" aria-label={`Heat map of ${columns
        } columns. Arrow keys move, Enter begins and ends a range, Escape
          clears it.`}
        onPointerDown={down} onPointerMove={move} onPointerUp={released}
        onPointerLeave={() => { if (!drag) setCursor(-1); }}
        onPointerCancel={() => setDrag(undefined)} onKeyDown={key} />
      {[old, shown].map((s, i) => s && <Over key={i} span={s} rows={rows}
        columns={columns} slotMs={slotMs} />)}
      {cursor >= 0 && <i class="heat-cursor" style={{
        left: `${Math.floor(cursor / rows) / columns * 100}%`,
        top: `${(rows - 1 - cursor % rows) / rows * 100}%`,
        width: `${100 / columns}%`, height: `${100 / rows}%` }} />}
      <div class="heat-times" aria-hidden="true">
        {ticks(columns * columnMs).map(ms => <span key={ms}
          style={{ left: `${ms / columnMs / columns * 100}%` }}>
          {lengthOf(ms)}</span>)}</div>
    </div>
    <p class="heat-about"><span role="status">{about}</span>
      <span class="heat-key"><span>0</span><Lane
        slots={Array.from({ length: STEPS }, (_, i) => (i / STEPS) ** 2)}
        most={1} /><span>{most} in {slotMs} ms</span></span></p>
    <div class="unseen"><table><caption>Samples over time</caption>
      <thead><tr><th scope="col">From</th><th scope="col">Samples</th></tr>
      </thead><tbody>{sums.map(([column, n]) => <tr key={column}>
        <td>{lengthOf(column * columnMs)}</td><td>{n}</td></tr>)}</tbody>
    </table></div>
  </>;
}

const TOLD = 120;

/* Sums of samples over several columns, few enough for a screen reader. */
function sumsOf(slots: number[], rows: number, columns: number) {
  const each = Math.ceil(columns / TOLD), sums: [number, number][] = [];
  for (let i = 0; i < columns; i += each)
    sums.push([i, slots.slice(i * rows, (i + each) * rows)
      .reduce((a, b) => a + b, 0)]);
  return sums;
}

const NICE_MS = [500, 1000, 2000, 5000, 10e3, 30e3, 60e3, 300e3, 600e3];

function ticks(ms: number) {
  const apart = NICE_MS.find(n => ms / n <= 10) ?? 3600e3;
  return Array.from({ length: Math.ceil(ms / apart) }, (_, i) => i * apart);
}

/* A range, as the outline of its cells: the rest of its first column, whole
 * ones, and the beginning of its last. */
function Over({ span, rows, columns, slotMs }:
  { span: Span; rows: number; columns: number; slotMs: number }) {
  const first = Math.floor(span.from / slotMs);
  const last = Math.min(Math.ceil(span.to / slotMs), rows * columns);
  const x = (cell: number) => Math.floor(cell / rows);
  const y = (cell: number) => rows - cell % rows;
  const [a, b] = [x(first), x(last - 1)];
  const top = rows - 1 - (last - 1) % rows;
  const path = a === b
    ? `M${a} ${y(first)}H${a + 1}V${top}H${a}Z`
    : `M${a} ${y(first)}H${a + 1}V${rows}H${b + 1}V${top}H${b}V0H${a}Z`;
  return <svg class="heat-over" viewBox={`0 0 ${columns} ${rows}`}
    preserveAspectRatio="none" aria-hidden="true"><path d={path} /></svg>;
}
