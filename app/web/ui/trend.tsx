/* The cost of a type of a service, and of one of its functions, over time. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { quantity, shorten } from '../flame/text.js';
import { get, PROFILING } from './api';
import { Chart, type Band, type Line } from './chart';
import { isOfSamples } from './groups';
import type { Mark } from './marks';
import { capital, sentence } from './parts';
import { COSTS, type Shifted, type Shifts, type Trend } from './replies';
import { marksOf, sentenceOf } from './shifts';
import { useData } from './use';

const REST_MS = 200; /* arrow keys pass over many functions */

/* The function selected in the profile below. The profile may have loaded
 * first, so the address is read, too. */
function useFunction() {
  const [name, set] = useState(() =>
    new URLSearchParams(location.hash.slice(1)).get('fn') ?? '');
  useEffect(() => {
    let timer = 0;
    const listener = (e: Event) => {
      clearTimeout(timer);
      timer = setTimeout(set, REST_MS, (e as CustomEvent<string>).detail);
    };
    document.addEventListener('stoker-function', listener);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('stoker-function', listener);
    };
  }, []);
  return name;
}

/* The graph below the chart of a gauge is a mean. */
const meanOf = ({ aggregation, profiles }: Trend) =>
  aggregation === 'mean' && profiles > 1
    ? ` · the graph shows the mean of ${profiles}` : '';

export const lineOf = ({ aggregation, points }: Trend): Line =>
  points.map(p => ({
  at: Date.parse(p.t), value: aggregation === 'sum' ? p.rate : p.value }));

/* The time for which there is data. */
export function knownOf(trend: Trend) {
  const known = lineOf(trend).filter(p => p.value !== null).map(p => p.at);
  return [known[0] ?? Date.parse(trend.from), Math.min(Date.now(),
    known.length > 1 ? known[known.length - 1] + trend.stepSeconds * 1000
      : Date.parse(trend.to))];
}

/* The two halves of the time for which a trend has values. */
export function halvesOf(trend: Trend) {
  const [from, until] = knownOf(trend), half = Math.floor((from + until) / 2);
  return [`${from}..${half}`, `${half}..${until}`];
}

/* The times since which a function costs more or less in a trend's range. */
function useShifted(trend: Trend, name: string,
  only: Record<string, string>): Shifted | undefined {
  const q = new URLSearchParams({ from: trend.from, to: trend.to,
    service: trend.service, profileType: trend.profileType, function: name,
    ...only });
  return useData(name && `since ${trend.service} ${trend.profileType} ${name}`,
    async signal => name ? (await get<Shifts>(
      `${PROFILING}/history/shifts?${q}`, signal)).functions[0] : undefined,
    0, String(q)).data;
}

const NO_MARKS: Mark[] = [];

/* only: the labels and the host of the trend; rest: the text while no function
   is selected. */
export function Costs({ trend, unit, choose, marks = NO_MARKS, bands, only = {},
  isOld, rest = '', more }: { trend: Trend; only?: Record<string, string>;
  unit?: string; isOld?: boolean; rest?: string; more?: ComponentChildren;
  choose: (from: number, to: number) => void;
  marks?: Mark[]; bands?: Band[] }) {
  const isRate = trend.aggregation === 'sum';
  const line = useMemo(() => lineOf(trend), [trend]);
  const selected = useFunction();
  /* the server adds up either one function or the samples with a label */
  const name = isOfSamples(only) ? '' : selected;
  const q = new URLSearchParams({ from: trend.from,
    service: trend.service, profileType: trend.profileType, to: trend.to,
    step: `${trend.stepSeconds}s`, function: name, ...only });
  /* the trend of the old range stays until the new one's has arrived */
  const part = useData(name && `${trend.service} ${trend.profileType} ${name}`,
    async signal => name
      ? get<Trend>(`${PROFILING}/history/series?${q}`, signal)
      : undefined, 0, String(q));
  const shifted = useShifted(trend, name, only);
  const seen = useMemo(() => shifted ? [...marks.filter(m =>
    m.kind !== 'shift'), ...marksOf(shifted)] : marks, [marks, shifted]);
  const within = useMemo(() => {
    const of = part.data
      && new Map(lineOf(part.data).map(p => [p.at, p.value]));
    return of && line.map(({ at }) => ({ at, value: of.get(at) ?? null }));
  }, [line, part.data]);
  const format = useMemo(() => (v: number) => v === 0 ? '0'
    : trend.profileType === 'cpu' ? `${Number((v / 1e9).toPrecision(3))} CPUs`
      : quantity(v, unit ?? '').replace(/\.0+(?= )/, '') +
        (isRate ? '/s' : ''), [trend.profileType, unit, isRate]);
  return <Chart line={line} within={within} name={shorten(name, 60)}
    from={Date.parse(trend.from)} to={Date.parse(trend.to)} format={format}
    choose={choose} marks={seen} bands={bands} isOld={isOld}
    rest={[shifted ? sentenceOf(shifted) : name ? '' : rest,
      ...(part.data ?? trend).notices.map(sentence)].join(' ').trim()}
    more={more}
    label={capital(COSTS[trend.profileType] ?? 'value')
      + (isRate ? ' per second' : '') + meanOf(trend)} />;
}
