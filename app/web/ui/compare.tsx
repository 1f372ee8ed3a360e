/*
 * Two profiles, or two ranges of time of a service: what costs more, and
 * whether the difference is more than chance. A side is the id of a profile,
 * or FROM..TO.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Band } from './chart';
import { get, PROFILING, send } from './api';
import type { PageProps } from './pages';
import { ChangedFirst } from './first';
import { Chips, isOfSamples, labelsOf, type Labels } from './groups';
import { Empty, Failure, Share, Skeleton } from './parts';
import { Profile, type Doc } from './profile';
import type { BaselineCheck, ProfileComparison, Trend } from './replies';
import { toResult, toService } from './result';
import { go, to } from './route';
import { Costs, halvesOf, lineOf } from './trend';
import { useData } from './use';

type Pair = [number, number];
const NORMS = { share: 'shares of the total', rate: 'cost per second' };

/* a is the base, b is judged. only: the labels to which ranges are
 * restricted. */
export const toCompare = (a: string, b: string, more: {
  service: string; type: string; norm?: string; baseline?: string;
  others?: string },
only: Labels = {}) => to('/compare', { a, b, ...more, ...only });

function asked(query: URLSearchParams) {
  const q = new URLSearchParams(), a = query.get('a'), b = query.get('b');
  if (!a || !b) return null;
  let isRange = false;
  for (const [side, name] of [[a, 'base'], [b, 'comparison']]) {
    const [from, until] = side.split('..');
    if (until === undefined) {
      q.set(name + 'ProfileId', side);
      continue;
    }
    q.set(name + 'From', from);
    q.set(name + 'To', until);
    isRange = true;
  }
  if (isRange) {
    q.set('service', query.get('service') ?? '');
    q.set('profileType', query.get('type') ?? '');
  }
  for (const [name, value] of Object.entries(labelsOf(query)))
    if (isRange || name.startsWith('sample.')) q.set(name, value);
  const norm = query.get('norm');
  if (norm) q.set('normalize', norm);
  if (isRange && query.get('others')) q.set('others', 'true');
  return String(q);
}

export default function Compare({ query }: PageProps) {
  const q = asked(query);
  useEffect(() => { document.title = 'Comparison · Stoker'; }, []);
  if (!q) return <Empty title="Nothing to compare yet">
    <p>Open a capture and choose what to compare it with, or compare a range of
      time of a service with the one before it.</p>
    <p><a href={to('/services')}>Go to the services</a></p></Empty>;
  return <Shown q={q} query={query} />;
}

/* The same comparison as a check of a baseline, which uses all baselines with
   the same label. */
function checked(baseline: string, q: string) {
  const of = new URLSearchParams(q), check = new URLSearchParams();
  for (const [name, as] of [['comparisonProfileId', 'sessionId'],
    ['comparisonFrom', 'from'], ['comparisonTo', 'to'], ['service', 'service'],
    ['profileType', 'profileType'], ['normalize', 'normalize']])
    if (of.has(name)) check.set(as, of.get(name)!);
  for (const [name, value] of Object.entries(labelsOf(of)))
    check.set(name, value);
  return `/api/v1/profiling/baselines/${encodeURIComponent(baseline)
  }/check?${check}`;
}

function Shown({ q, query }: { q: string; query: URLSearchParams }) {
  const baseline = query.get('baseline') ?? '';
  const address = `${PROFILING}/diff?${q}` +
    (baseline && `&${new URLSearchParams({ baselineId: baseline })}`);
  /* null: nothing was profiled in one of the ranges */
  const doc = useData(address, async signal => {
    const reply = await send(address + '&format=json&optional=true', { signal });
    return reply.status === 204 ? null : await reply.json() as Doc;
  });
  const link = async () => (await get<Pick<ProfileComparison | BaselineCheck,
    'links'>>(baseline ? checked(baseline, q)
    : `${PROFILING}/compare?${q}`)).links.diff;
  const verdictAt = useRef<HTMLDivElement>(null);
  const only = labelsOf(query), isEmpty = doc.data === null;
  const shiftedAt = doc.data?.base && doc.data.shiftedAt;
  const part = (name: string) => query.get(name) ?? '';
  const [a, b] = ['a', 'b'].map(part);
  const service = part('service') || (doc.data?.service ?? '');
  const type = part('type') || (doc.data?.type ?? '');
  const norm = part('norm') || 'share';
  const others = part('others'); /* one group is compared with them */
  const [base, later] = [a, b].map(text => text.split('..').map(Number));
  const ranges = base.length === 2 && later.length === 2 &&
    { a: base as Pair, b: later as Pair };
  const side = (text: string, word: string) => text.includes('..')
    ? <a href={toService(service, { type, from: text.split('..')[0],
      to: text.split('..')[1], ...others && text === a && word !==
        'comparison' ? {} : only })}>{word}</a>
    : <a href={toResult(text)}>{word}</a>;
  return <>
    <nav class="line" aria-label="Comparison">
      <ol class="crumbs">
        <li><a href={to('/services')}>Services</a></li>
        {service && <li><a href={toService(service, { type })}>{service}</a>
        </li>}
        <li aria-current="page"><span>{side(a, others ? 'the others'
          : 'base')} → {side(b,
          'comparison')}</span></li>
      </ol>
      <label>Compare <select value={norm} onChange={e => go(toCompare(a, b,
        { service, type, norm: e.currentTarget.value, baseline, others }, only) +
        location.hash)}>
        {Object.entries(NORMS).map(([value, word]) =>
          <option key={value} value={value}>{word}</option>)}
      </select></label>
      {shiftedAt && <a class="button main" href={toCompare(a,
        `${Date.parse(shiftedAt)}..${later[1]}`, { service, type, norm,
          baseline, others }, only)}>Compare since then</a>}
      {!others && <button type="button" onClick={() => go(toCompare(b, a, {
        service, type, norm: part('norm') }, only))}>Swap sides</button>}
      <Chips only={only} show={left => go(toCompare(a, b, { service, type,
        norm: part('norm'), baseline }, left) + location.hash)} />
      {doc.data && <Share find={link} />}
    </nav>
    <div class="verdict-at" ref={verdictAt}>{doc.data === undefined && !doc.error &&
      <Skeleton lines={1} />}
    </div>
    {doc.data ? <Profile doc={doc.data} address={address}
      verdictAt={verdictAt} />
      : isEmpty ? <div role="alert">
        <Empty title={`No ${type} profile in one of the ranges`}>
          <p>Choose another range on the chart, or another comparison.</p>
        </Empty></div>
        : doc.error ? <Failure error={doc.error} again={doc.again} />
          : <Skeleton lines={10} />}
    <div class="below">
      {ranges && <Brushes a={a} b={b} service={service} type={type}
        only={only} unit={doc.data?.unit} isEmpty={isEmpty}
        choose={(x, y) => go(toCompare(x, y, { service, type,
          norm: part('norm'), others }, only) + location.hash)} />}
      {ranges && ranges.a[1] <= ranges.b[0] && !isOfSamples(only) && <ChangedFirst q={q}
        service={service} type={type} sides={ranges} only={only} />}
    </div>
  </>;
}

const SIDES = { base: 'Base', comparison: 'Comparison' };
const MARGIN = 0.15; /* of the time of both ranges, on each side */

/* The chart of both ranges; a drag moves one of them. */
function Brushes({ a, b, service, type, only, unit, isEmpty, choose }: {
  a: string; b: string; service: string; type: string; only: Labels;
  unit?: string; isEmpty: boolean;
  choose: (a: string, b: string) => void }) {
  const [side, setSide] = useState<Band['side']>('comparison');
  const bands = useMemo(() => ([[a, 'base'], [b, 'comparison']] as const).map(
    ([text, side]): Band => {
      const [from, until] = text.split('..').map(Number);
      return { from, to: until, side };
    }), [a, b]);
  const first = Math.min(...bands.map(x => x.from));
  const last = Math.max(...bands.map(x => x.to));
  /* The ends of the chart stay in place while ranges move within it. */
  const [seen, setSeen] = useState({ from: NaN, to: NaN });
  useEffect(() => {
    const more = (last - first) * MARGIN;
    if (!(first >= seen.from && last <= seen.to))
      setSeen({ from: first - more, to: Math.min(last + more, Date.now()) });
  }, [first, last]);
  const q = new URLSearchParams({ service, profileType: type,
    from: String(Math.round(seen.from)), to: String(Math.round(seen.to)),
    ...only });
  const isKnown = seen.from < seen.to;
  const trend = useData(isKnown ? 'series ' + q : '', async signal => isKnown
    ? get<Trend>(`${PROFILING}/history/series?${q}`, signal) : undefined);
  if (!isKnown || trend.error) return null;
  if (!trend.data) return <div class="chart waiting" />;
  const which = <div class="which" role="radiogroup" aria-labelledby="which">
    <span id="which">A drag sets the</span>
    {Object.entries(SIDES).map(([value, word]) => <label key={value}>
      <input type="radio" name="side" value={value} checked={value === side}
        onChange={() => setSide(value as Band['side'])} />
      <i class={`side-of ${value}`} />{word}</label>)}
  </div>;
  return <>
    <Costs trend={trend.data} unit={unit} only={only} bands={bands} more={which} choose={(from, until) => {
        const range = `${Math.round(from)}..${Math.round(until)}`;
        if (side === 'base') choose(range, b);
        else choose(a, range);
      }} />
    {isEmpty && lineOf(trend.data).some(p => p.value !== null) &&
      <p><button type="button" class="main" onClick={() => {
        const [first, second] = halvesOf(trend.data!);
        choose(first, second);
      }}>Compare the two halves of what is stored</button></p>}
  </>;
}
