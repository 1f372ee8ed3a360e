/* Stacks shared by goroutines or threads, as rows that open. */
import { Fragment, type ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { shorten, visible } from '../flame/text.js';
import type { Stack as Row } from './replies';
import { noLink, type Linked } from './source';

export type Stack = Row & { baseCount?: number; compareCount?: number };

/* The API's classes: a word, and the colour of a part in threads.css. */
export const CLASSES: Record<string, { word: string; color: string }> = {
  running: { word: 'running', color: 'run' },
  syscall: { word: 'in a system call', color: 'call' },
  'blocked-forever': { word: 'blocked forever', color: 'never' },
  'blocked-channel': { word: 'blocked on a channel', color: 'channel' },
  'blocked-sync': { word: 'blocked on a lock', color: 'lock' },
  'waiting-io': { word: 'waiting for input or output', color: 'io' },
  'waiting-timer': { word: 'waiting for a timer', color: 'timer' },
  waiting: { word: 'waiting', color: 'other' },
  runtime: { word: 'idle in the runtime', color: 'other' },
};

const count = (n: number) => n.toLocaleString('en');
const keyOf = (s: Stack) => [s.class, s.waitReason, s.createdBy,
  ...s.frames, ...s.locations].join('\n');

const UNITS: [number, string][] = [[86400, 'd'], [3600, 'h'], [60, 'min'],
  [1, 's']];

/* A duration in its two largest units: 3 h 20 min. */
function lasting(seconds: number) {
  const at = UNITS.findIndex(([size]) => seconds >= size);
  if (at < 0) return 'under 1 s';
  const [[size, unit], next] = [UNITS[at], UNITS[at + 1]];
  const rest = next ? Math.floor(seconds % size / next[0]) : 0;
  return `${Math.floor(seconds / size)} ${unit}` +
    (rest > 0 ? ` ${rest} ${next[1]}` : '');
}

/* The share of each class, as one bar with a legend. */
export function Split({ items }: { items: Stack[] }) {
  const sums = new Map<string, number>();
  for (const s of items)
    sums.set(s.class, (sums.get(s.class) ?? 0) + s.count);
  const all = items.reduce((sum, s) => sum + s.count, 0) || 1;
  const parts = Object.entries(CLASSES).flatMap(([name, c]) =>
    sums.has(name) ? [{ ...c, n: sums.get(name)! }] : []);
  return <div class="split">
    <div aria-hidden="true">{parts.map(p => <i key={p.word} class={p.color}
      style={{ flexGrow: p.n / all }} />)}</div>
    <ul aria-label="By state">{parts.map(p => <li key={p.word}>
      <i class={p.color} />{count(p.n)} {p.word}</li>)}</ul>
  </div>;
}

function Bar({ n, most }: { n: number; most: number }) {
  return <><span>{count(n)}</span>
    <i class="bar-of" style={{ width: `${Math.max(n / most, 0.01) * 100}%` }}
    /></>;
}

/*
 * about: a line instead of state and creator. two: shows the counts of both
 * sides. linked: addresses of places in the source; lay: lays a function's
 * trend over the chart; over: the function shown there.
 */
export function Rows<T extends Stack>({ items, first, most, about, two, over,
  lay, linked = noLink }: { items: T[]; first: number; most: number;
  linked?: Linked; about?: (item: T) => ComponentChildren; two?: boolean; over?: string;
  lay?: (name: string) => void }) {
  const [room, setRoom] = useState(first), [open, setOpen] = useState('');
  const columns = two ? 5 : 4;
  if (items.length === 0)
    return <p class="quiet">No stack matches.</p>;
  return <>
    <table class="list stacks">
      <thead><tr>
        {two && <th scope="col" class="number">Base</th>}
        <th scope="col" class="number">{two ? 'Now' : 'Count'}</th>
        <th scope="col">Where</th>
        <th scope="col" class="wide">State</th>
        <th scope="col" class="wide number">Longest wait</th>
      </tr></thead>
      <tbody>{items.slice(0, room).map((s, i) => {
        const key = `${i} ${keyOf(s)}`, isOpen = key === open;
        const site = s.site || s.frames[0] || 'no stack';
        return <Fragment key={key}>
          <tr class={isOpen ? 'open' : ''}>
            {two && <td class="number"><Bar n={s.baseCount!} most={most} />
            </td>}
            <td class="number"><Bar n={two ? s.compareCount! : s.count}
              most={most} /></td>
            <th scope="row"><button type="button" class="plain"
              aria-expanded={isOpen} title={visible(site)}
              onClick={() => setOpen(isOpen ? '' : key)}>
              {shorten(visible(site), 90)}</button>
            <span class="about">{about ? about(s) : s.createdBy &&
              <span class="quiet" title={visible(s.createdBy)}>created by{' '}
                {shorten(visible(s.createdBy), 80)}</span>}</span></th>
            <td class="wide state"><i class={CLASSES[s.class]?.color} />
              {s.waitReason || s.state}</td>
            <td class="wide number">{s.waitSeconds === null
              ? <span class="quiet">–</span> : lasting(s.waitSeconds)}</td>
          </tr>
          {isOpen && <tr class="inside"><td colSpan={columns}>
            <Frames stack={s} over={over} lay={lay} linked={linked} /></td></tr>}
        </Fragment>;
      })}</tbody>
    </table>
    {items.length > room && <button type="button" class="rest"
      onClick={() => setRoom(room * 4)}>{items.length - room} more</button>}
  </>;
}

function Place({ at, linked }: { at: string; linked: Linked }) {
  const href = at && linked(at);
  return href ? <a href={href} target="_blank" rel="noopener noreferrer">
    {visible(at)}</a> : <>{visible(at)}</>;
}

/* The whole stack, leaf first; the program's own functions stand out. */
function Frames({ stack, over, lay, linked }: { stack: Stack; over?: string;
  linked: Linked; lay?: (name: string) => void }) {
  const [said, say] = useState('');
  const own = stack.site ? stack.frames.indexOf(stack.site) : 0;
  const text = stack.frames.map((name, i) => stack.locations[i]
    ? `${name}\n\t${stack.locations[i]}` : name).join('\n');
  const copy = () => navigator.clipboard.writeText(text + (stack.createdBy
    ? `\ncreated by ${stack.createdBy}` : '') + '\n').then(
    () => say('Copied'), () => say('The browser refused to copy'));
  return <>
    <ol class="frames">
      {stack.frames.map((name, i) => <li key={i} class={i < own ? 'past' : ''}>
        <span>{visible(name)}</span>
        <span class="quiet"><Place at={stack.locations[i]} linked={linked} />
        </span></li>)}
      {stack.createdBy && <li class="creator"><span>created by{' '}
        {visible(stack.createdBy)}</span></li>}
    </ol>
    <div class="buttons">
      <span class="quiet">{stack.state}
        {stack.waitReasonRaw && ` · ${visible(stack.waitReasonRaw)}`}
        {stack.waitSeconds !== null &&
          ` · for ${lasting(stack.waitSeconds)} at least`}</span>
      {lay && stack.site && <button type="button"
        aria-pressed={over === stack.site} onClick={() =>
          lay(over === stack.site ? '' : stack.site)}>Over time</button>}
      <button type="button" onClick={copy}>Copy stack</button>
      <span role="status">{said}</span>
    </div>
  </>;
}
