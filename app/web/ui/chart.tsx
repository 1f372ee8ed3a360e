/*
 * Cost over time: a chart by uPlot, a brush that selects a range, and a table
 * for readers who cannot see the chart.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { clock as both } from '../flame/text.js';
import type { Mark } from './marks';
import { go } from './route';

export type Line = { at: number; value: number | null }[];
/* The side of a comparison that a range is. */
export type Band = { from: number; to: number; side: 'base' | 'comparison' };
const DAY = 86400;
/* Lower in a low window, since the graph below needs the room. */
const height = () => Math.round(Math.min(138, Math.max(68,
  68 + (innerHeight - 900) * 0.4)));
const ROOM = 1.28; /* above the line, for marks */

const style = (name: string) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit',
  minute: '2-digit', hourCycle: 'h23' });
const second = new Intl.DateTimeFormat(undefined, { hour: '2-digit',
  minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const date = new Intl.DateTimeFormat(undefined, { day: 'numeric',
  month: 'short' });

/* Ticks in the browser's time zone: dates if ticks are days apart, date and
   time if more than a day is shown, and seconds if minutes would repeat. */
function times(ticks: number[], span: number, apart: number) {
  return ticks.map(t => apart >= DAY ? date.format(t * 1000)
    : span > DAY ? `${date.format(t * 1000)} ${clock.format(t * 1000)}`
      : (apart < 60 ? second : clock).format(t * 1000));
}

/* A value that is read once a minute counts as known between readings. */
const gaps: uPlot.Series.GapsRefiner = (u, series, _, __, all) => {
  const known = Array.from(u.data[series], (v, i) => v == null ? -1 : i)
    .filter(i => i >= 0);
  const apart = known.slice(1).map((k, i) => k - known[i])
    .sort((a, b) => a - b);
  const usual = apart[apart.length >> 1] ?? 1;
  const step = u.bbox.width / Math.max(u.data[0].length - 1, 1);
  return usual === 1 ? all
    : all.filter(([a, b]) => b - a > (2 * usual + 0.5) * step);
};

function options(width: number, format: (v: number) => string,
  isKnown: boolean, from: number, to: number): uPlot.Options {
  const axis = { stroke: style('--quiet'), font: '11px system-ui',
    grid: { stroke: style('--line'), width: 1 },
    ticks: { show: false } };
  return {
    width, height: height(), legend: { show: false }, padding: [4, 22, 0, 0],
    cursor: { drag: { x: true, y: false, setScale: false },
      points: { size: 7 } },
    scales: { x: { time: true, range: [from / 1000, to / 1000] },
      y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * ROOM
        : 1] } },
    axes: [{ ...axis, size: 22, space: to - from > DAY * 1000 ? 90 : 60,
      values: (_, ticks, __, ___, apart) =>
        times(ticks, (to - from) / 1000, apart) },
      { ...axis, size: 74, grid: { show: false }, splits: (_, __, min, max) =>
        [min, ...max > 1 ? [max / ROOM] : []],
        values: (_, ticks) => ticks.map(v => isKnown ? format(v) : '') }],
    series: [{}, { stroke: style('--accent'), width: 1.5,
      fill: style('--meter') + '80', spanGaps: false, gaps,
      points: { show: (u, i) => isAlone(u, i), size: 5 } },
    { stroke: style('--flame-hit'), width: 2, spanGaps: false, gaps,
      points: { show: (u, i) => isAlone(u, i), size: 5 } }],
  };
}

/* Points are drawn where lines would not show them. */
function isAlone(u: uPlot, series: number) {
  const values = u.data[series];
  return values.some((v, i) => v != null && values[i - 1] == null &&
    values[i + 1] == null);
}

/* --- marks and bands ------------------------------------------------------ */

const MARK = 5, NEAR = 8; /* CSS pixels */
const COLORS: Record<Mark['kind'], string> = { capture: '--quiet',
  baseline: '--mark-baseline', trigger: '--bad', restart: '--mark-restart',
  shift: '--ink' };

/* A triangle, one that points down, a diamond, a disc or a square: marks differ
   without colours, too. */
function drawMark(to: CanvasRenderingContext2D, kind: Mark['kind'], x: number,
  y: number, r: number) {
  to.beginPath();
  if (kind === 'trigger') to.arc(x, y, r, 0, 2 * Math.PI);
  else if (kind === 'restart') to.rect(x - r, y - r, 2 * r, 2 * r);
  else if (kind === 'shift') {
    to.moveTo(x - r, y - r);
    to.lineTo(x + r, y - r);
    to.lineTo(x, y + r);
    to.closePath();
  }
  else {
    to.moveTo(x - r, y + (kind === 'capture' ? r : 0));
    to.lineTo(x, y - r);
    to.lineTo(x + r, y + (kind === 'capture' ? r : 0));
    if (kind === 'baseline') to.lineTo(x, y + r);
    to.closePath();
  }
  to.fill();
}

/* Captures have a separate row; other marks, which are rare, have a line. */
function drawMarks(u: uPlot, marks: Mark[]) {
  const { ctx, bbox } = u, px = devicePixelRatio;
  ctx.save();
  for (const { at, kind, within } of marks) {
    const x = u.valToPos(at / 1000, 'x', true);
    const top = bbox.top + MARK * px;
    ctx.fillStyle = ctx.strokeStyle = style(COLORS[kind]);
    if (within) {
      const [a, b] = within.map(ms => u.valToPos(ms / 1000, 'x', true));
      ctx.globalAlpha = 0.12;
      ctx.fillRect(a, bbox.top, b - a, bbox.height);
      ctx.globalAlpha = 1;
    }
    if (kind !== 'capture') {
      ctx.lineWidth = px;
      ctx.setLineDash(kind === 'restart' ? [4 * px, 3 * px] : []);
      ctx.beginPath();
      ctx.moveTo(x, top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    drawMark(ctx, kind, x, top, MARK * px);
  }
  ctx.restore();
}

function drawBands(u: uPlot, bands: Band[]) {
  const { ctx, bbox } = u, px = devicePixelRatio;
  ctx.save();
  ctx.font = `600 ${11 * px}px system-ui`;
  for (const { from, to, side } of bands) {
    const left = Math.max(u.valToPos(from / 1000, 'x', true), bbox.left);
    const right = Math.min(u.valToPos(to / 1000, 'x', true),
      bbox.left + bbox.width);
    ctx.fillStyle = style(`--side-${side}`);
    ctx.globalAlpha = 0.16;
    ctx.fillRect(left, bbox.top, Math.max(right - left, 2), bbox.height);
    ctx.globalAlpha = 1;
    ctx.fillRect(left, bbox.top + bbox.height - 3 * px,
      Math.max(right - left, 2), 3 * px);
    ctx.fillStyle = style('--ink');
    ctx.fillText(side === 'base' ? 'Base' : 'Comparison', left + 4 * px,
      bbox.top + 12 * px);
  }
  ctx.restore();
}

/* Marks that lie under the pointer. */
function marksAt(u: uPlot, marks: Mark[], left: number) {
  return marks.filter(m =>
    Math.abs(u.valToPos(m.at / 1000, 'x') - left) <= NEAR);
}

/* The keyboard's position on a chart, and the start of a range, as times. */
type Held = { at?: number; first?: number };

/*
 * Arrow keys move over the points, from the last known one; Enter begins and
 * ends a range, Escape cancels it. When a range ends, choose() is called, as
 * after a drag. The cursor keeps its time when newer points arrive.
 */
function onKeys(plot: () => uPlot, line: Line, held: Held,
  choose: (from: number, to: number) => void) {
  const place = (time?: number) => time === undefined ? -1
    : line.findLastIndex(p => p.at <= time);
  const known = Math.max(line.findLastIndex(p => p.value !== null), 0);
  let at = place(held.at), first = place(held.first);
  const show = () => {
    held.at = line[at]?.at;
    held.first = line[first]?.at;
    const u = plot(), x = (i: number) => u.valToPos(line[i].at / 1000, 'x');
    const [a, b] = first < 0 ? [0, 0] : [x(first), x(at)].sort((m, n) =>
      m - n);
    u.setCursor({ left: x(at), top: u.over.clientHeight / 2 });
    u.setSelect({ left: a, width: b - a, top: 0,
      height: u.over.clientHeight }, false);
  };
  return (e: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[
      e.key];
    if (line.length === 0) return;
    if (step !== undefined)
      at = Math.max(0, Math.min(line.length - 1, at < 0 ? known
        : at + step));
    else if (e.key === 'Enter' && at >= 0 && first < 0) first = at;
    else if (e.key === 'Enter' && first >= 0 && first !== at) {
      const [a, b] = [first, at].sort((m, n) => m - n);
      first = -1;
      held.first = undefined;
      choose(line[a].at, line[b].at);
    } else if (e.key === 'Escape' && first >= 0) first = -1;
    else return;
    e.preventDefault();
    e.stopPropagation();
    show();
  };
}

const NO_MARKS: Mark[] = [], NO_BANDS: Band[] = [];

/* within: a part of the cost, such as that of one function, at the same times;
   name describes the part. rest: the text while the pointer is elsewhere.
   more: further parts of the title. */
export function Chart({ line, within, name, from, to, format, label, choose,
  marks = NO_MARKS, bands = NO_BANDS, isOld = false, rest = '',
  more }: {
  line: Line; more?: ComponentChildren; rest?: string;
  within?: Line; isOld?: boolean;
  name?: string; from: number; to: number; format: (v: number) => string;
  label: string; choose: (from: number, to: number) => void; marks?: Mark[];
  bands?: Band[] }) {
  const box = useRef<HTMLDivElement>(null), out = useRef<HTMLSpanElement>(null);
  const chosen = useRef(choose), held = useRef<Held>({});
  chosen.current = choose;
  useEffect(() => {
    const part = (v?: number | null) => v == null ? ''
      : `, of which ${format(v)} in ${name}`;
    const at = box.current!;
    let plot: uPlot, dragged = false;
    const draw = () => {
      plot?.destroy();
      out.current!.textContent = rest;
      plot = new uPlot({ ...options(at.clientWidth, format,
        line.some(p => p.value !== null), from, to), hooks: {
        setSelect: [u => {
          const { left, width } = u.select;
          if (width < 3) return;
          dragged = true;
          chosen.current(u.posToVal(left, 'x') * 1000,
            u.posToVal(left + width, 'x') * 1000);
        }],
        setCursor: [u => {
          // uPlot reports the pointer with the next frame.
          if (u !== plot || !out.current) return;
          const i = u.cursor.idx, p = i == null ? undefined : line[i];
          const near = i == null ? [] : marksAt(u, marks, u.cursor.left!);
          u.over.style.cursor = near.some(m => m.href) ? 'pointer' : '';
          out.current.textContent = near.length > 0 ? near.map(m =>
            `${second.format(m.at)} ${m.text}`).join(' · ')
            : !p ? rest : `${second.format(p.at)}: ${p.value === null ? 'nothing is known'
            : format(p.value)}${part(within?.[i!]?.value)}`;
        }],
        drawClear: [u => drawBands(u, bands)],
        draw: [u => drawMarks(u, marks)],
        init: [u => u.over.addEventListener('click', e => {
          const near = marksAt(u, marks, e.offsetX).find(m => m.href);
          if (near && !dragged) go(near.href!);
          dragged = false;
        })],
      } }, [line.map(p => p.at / 1000), line.map(p => p.value),
        line.map((_, i) => within?.[i]?.value ?? null)], at);
    };
    const size = new ResizeObserver(() =>
      plot.setSize({ width: at.clientWidth, height: height() }));
    draw();
    size.observe(at);
    const keys = onKeys(() => plot, line, held.current, (a, b) =>
      chosen.current(a, b));
    at.addEventListener('keydown', keys);
    document.addEventListener('stoker-theme', draw);
    return () => {
      size.disconnect();
      at.removeEventListener('keydown', keys);
      document.removeEventListener('stoker-theme', draw);
      plot.destroy();
    };
  }, [line, within, name, from, to, format, marks, bands, rest]);
  return <figure class="chart" aria-busy={isOld}>
    <figcaption><span>{label}{within && <span class="within"> · {name}</span>}
      {' '}<span class="wide">· {both(from, to)}</span></span>
      <span class="said" role="status" title={rest} ref={out} />
      {more}</figcaption>
    <div ref={box} tabIndex={0} role="application" aria-roledescription="chart"
      aria-label={`${label} over time. Arrow keys move, Enter begins and ends a
        range.`} />
    <div class="unseen"><table>
      <caption>{label}</caption>
      <thead><tr><th scope="col">Time</th><th scope="col">Value</th>
        {within && <th scope="col">{name}</th>}</tr></thead>
      <tbody>{line.map((p, i) => p.value === null ? null : <tr key={p.at}>
        <td>{both(p.at)}</td>
        <td>{format(p.value)}</td>
        {within && <td>{within[i]?.value == null ? ''
          : format(within[i].value)}</td>}</tr>)}</tbody>
    </table></div>
  </figure>;
}
