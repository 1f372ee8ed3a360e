/*
 * Which function changed first: the functions that, according to the API,
 * changed between the start of one range and the end of a later one, in order
 * of time.
 */
import { local, shorten } from '../flame/text.js';
import { get, PROFILING } from './api';
import { toCompare } from './compare';
import type { Labels } from './groups';
import { toService } from './result';
import type { Shift, Shifts } from './replies';
import { between, change } from './shifts';
import { useData } from './use';

const MOST = 6; /* functions shown: those that changed most */

type Sides = { a: [number, number]; b: [number, number] };

/* The last change of each function, which made the ranges differ. */
async function look(service: string, type: string, sides: Sides,
  only: Labels, signal: AbortSignal) {
  const q = new URLSearchParams({ service, profileType: type,
    from: String(sides.a[0]), to: String(sides.b[1]), ...only });
  const { functions } = await get<Shifts>(`${PROFILING}/history/shifts?${q}`,
    signal);
  return functions.slice(0, MOST).map(({ function: name, shifts }) =>
    ({ name, shift: shifts.at(-1) as Shift }))
    .sort((x, y) => Date.parse(x.shift.at) - Date.parse(y.shift.at));
}

/* True if a function changed within a side, which then mixes both costs. */
const isWithin = (shift: Shift, { a, b }: Sides) =>
  Date.parse(shift.latest) < a[1] || Date.parse(shift.earliest) > b[0];

/* q: the query of the comparison. */
export function ChangedFirst({ q, service, type, sides, only }: { q: string;
  service: string; type: string; sides: Sides; only: Labels }) {
  const { data } = useData(`first ${q}`, signal =>
    look(service, type, sides, only, signal));
  if (!data || data.length === 0) return null;
  const span = sides.b[1] - sides.b[0];
  return <section class="first" aria-labelledby="first">
    <h2 id="first">What changed first</h2>
    <ol>{data.map(({ name, shift }) => <li key={name}>
      <a href={toService(service, { type,
        from: String(Date.parse(shift.at) - span / 2),
        to: String(Math.min(Date.parse(shift.at) + span / 2, Date.now())),
        ...only }) +
        '#fn=' + encodeURIComponent(name)}>
        <time dateTime={shift.at}>{local(shift.at)}</time></a>{' '}
      <a class="mono" title={name}
        href={`#fn=${encodeURIComponent(name)}`}>
        {shorten(name, 60)}</a>{' '}
      <span class="quiet">{change(shift.factor)} {between(shift)}</span>{' '}
      {isWithin(shift, sides) && <a href={toCompare(
        `${sides.a[0]}..${Date.parse(shift.at)}`,
        `${Date.parse(shift.at)}..${sides.b[1]}`, { service, type }, only)}>
        Compare before and after</a>}
    </li>)}</ol>
  </section>;
}
