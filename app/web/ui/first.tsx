/*
 * Which function changed first: those that cost more in the later of two
 * ranges, by themselves or else with what they call, in the order in which the
 * trend of each left its past.
 */
import { local, shorten } from '../flame/text.js';
import { get, PROFILING } from './api';
import { toService } from './result';
import type { Line } from './chart';
import { lineOf, type Trend } from './trend';
import { useData } from './use';

const MOST = 6;      /* functions, the ones that changed most */
const PAST = 4;      /* windows at least that tell what was usual */
const DEVIATIONS = 3, LEAST = 0.1; /* of the mean: how far is away from that */
const STAYS = 2;     /* windows, for one alone may be chance */

type Change = { funcName: string };
type Left = { name: string; at: number; before: number; after: number };
type Sides = { a: [number, number]; b: [number, number] };

const mean = (v: number[]) => v.reduce((sum, x) => sum + x, 0) / v.length;

/* Finds the window in which a function began to cost more than it did in the
 * base, and went on to. */
export function leaves(line: Line, { a: [from, until] }: Sides) {
  const known = line.filter(p => p.value !== null) as
    { at: number; value: number }[];
  const past = known.filter(p => p.at >= from && p.at < until)
    .map(p => p.value);
  if (past.length < PAST) return null;
  const usual = mean(past);
  const spread = Math.sqrt(mean(past.map(v => (v - usual) ** 2)));
  const far = usual + Math.max(DEVIATIONS * spread, LEAST * usual);
  const later = known.filter(p => p.at >= until);
  for (let i = 0; i + STAYS <= later.length; i++)
    if (later.slice(i, i + STAYS).every(p => p.value > far))
      return { at: later[i].at, before: usual,
        after: mean(later.slice(i).map(p => p.value)) };
  return null;
}

async function look(q: string, service: string, type: string, sides: Sides,
  signal: AbortSignal) {
  const { regressions, cumulativeRegressions } = await get<Record<
    'regressions' | 'cumulativeRegressions', Change[]>>(
    `${PROFILING}/compare?${q}`, signal);
  const changed = [...regressions, ...cumulativeRegressions].slice(0, MOST);
  const lines = await Promise.all(changed.map(
    async ({ funcName: name }) => {
      const of = new URLSearchParams({ service, profileType: type,
        from: String(sides.a[0]), to: String(sides.b[1]), function: name });
      return { name, line: lineOf(await get<Trend>(
        `${PROFILING}/history/series?${of}`, signal)) };
    }));
  return lines.flatMap(({ name, line }): Left[] => {
    const left = leaves(line, sides);
    return left ? [{ name, ...left }] : [];
  }).sort((x, y) => x.at - y.at);
}

/* q: the comparison as the API is asked for it. */
export function ChangedFirst({ q, service, type, sides }: { q: string;
  service: string; type: string; sides: Sides }) {
  const { data } = useData(`first ${q}`, signal =>
    look(q, service, type, sides, signal));
  if (!data || data.length === 0) return null;
  const span = sides.b[1] - sides.b[0];
  return <section class="first" aria-labelledby="first">
    <h2 id="first">What changed first</h2>
    <ol>{data.map(({ name, at, before, after }) => <li key={name}>
      <a href={toService(service, { type, from: String(at - span / 2),
        to: String(Math.min(at + span / 2, Date.now())) }) +
        '#fn=' + encodeURIComponent(name)}>
        <time dateTime={new Date(at).toISOString()}>
          {local(new Date(at).toISOString())}</time></a>{' '}
      <a class="mono" title={name}
        href={`#fn=${encodeURIComponent(name)}`}>
        {shorten(name, 60)}</a>{' '}
      <span class="quiet">{before > 0 ? `${(after / before).toFixed(1)} times `
        + 'what it was' : 'new'}</span>
    </li>)}</ol>
  </section>;
}
