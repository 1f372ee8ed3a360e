/* A service over a range of time: what it costs, and what it did. */
import { useEffect, useMemo } from 'preact/hooks';
import { ApiError, get, PROFILING, type Caller } from './api';
import { toCompare } from './compare';
import { KINDS, useMarks, type Mark } from './marks';
import type { PageProps } from './pages';
import { Empty, Failure, Skeleton, Time } from './parts';
import { Profile, type Doc } from './profile';
import { latest, toResult, toSettings, toService, type Result } from './result';
import { go, to } from './route';
import { fields, ProfileNow } from './start';
import { Costs, type Trend } from './trend';
import { useData } from './use';

const RANGES = [['now-15m', '15 minutes'], ['now-1h', 'hour'],
  ['now-6h', '6 hours'], ['now-1d', 'day'], ['now-7d', '7 days'],
  ['now-30d', '30 days']];
const REFRESH_MS = 30e3, LISTED = 50, NONE: Result[] = [];

/* What the address says; a range in milliseconds, or from a time until now. */
type View = { service: string; type: string; from: string; to: string };

export default function Explore({ args, query, caller }: PageProps) {
  const { service } = args, asked = query.get('type');
  useEffect(() => { document.title = `${service} · Stoker`; }, [service]);
  const last = useData(asked ? '' : 'latest ' + service, signal =>
    asked ? Promise.resolve(undefined) : latest(service, signal));
  if (!asked && last.isLoading) return <Skeleton />;
  /* an empty capture is no reason to open a page that shows nothing */
  const type = last.data?.sampleCount ? last.data.profileType : 'cpu';
  const view = { service, type: asked ?? type,
    from: query.get('from') ?? 'now-1h', to: query.get('to') ?? 'now' };
  return <Shown key={service} view={view} caller={caller} />;
}

const asked = ({ service, type, from, to }: View) => String(
  new URLSearchParams({ service, profileType: type, from, to }));

const show = (view: View, change: Partial<View>) => {
  const { service, type, from, to: until } = { ...view, ...change };
  go(toService(service, { type, from: from === 'now-1h' && until === 'now' ? ''
    : from, to: until === 'now' ? '' : until }) + location.hash);
};

function Shown({ view, caller }: { view: View; caller: Caller }) {
  const q = asked(view), isLive = view.to === 'now';
  const every = isLive ? REFRESH_MS : 0;
  const trend = useData('series ' + q, signal => get<Trend>(
    `${PROFILING}/history/series?${q}`, signal), every);
  const captures = useData('history ' + q, signal => get<{ items: Result[] }>(
    `${PROFILING}/history?${q}&limit=${LISTED}&resolution=none`, signal),
  every);
  const items = captures.data?.items ?? NONE;
  const happened = useMarks(view.service, view.type, items, every);
  const marks = useMemo(() => happened.filter(m => trend.data &&
    m.at >= Date.parse(trend.data.from) && m.at <= Date.parse(trend.data.to)),
  [happened, trend.data]);
  const address = `${PROFILING}/merge?${q}`;
  const doc = useData(address, signal =>
    get<Doc>(address + '&format=json', signal));
  return <>
    <Tools view={view} trend={trend.data} caller={caller}
      last={items.find(r => r.status === 'completed')} />
    {trend.data ? <Costs trend={trend.data} unit={doc.data?.unit}
      marks={marks}
      choose={(from, to) => show(view, { from: String(Math.round(from)),
        to: String(Math.round(to)) })} />
      : trend.error ? <Failure error={trend.error} again={trend.again} />
        : <div class="chart waiting"><Skeleton lines={3} /></div>}
    <Events marks={marks} isCut={items.length === LISTED} />
    {doc.data ? <Profile doc={doc.data} address={address} />
      : doc.error ? <Nothing error={doc.error} view={view} caller={caller}
        again={doc.again} /> : <Skeleton lines={10} />}
  </>;
}

/* last: the newest capture of the range. */
function Tools({ view, trend, caller, last }: { view: View; trend?: Trend;
  caller: Caller; last?: Result }) {
  const { service, type, from, to: until } = view;
  const isKnown = until === 'now' && RANGES.some(([r]) => r === from);
  const types = useData('types', () => fields().then(f =>
    f.profileType.enum!));
  return <div class="line" role="group" aria-label="Range and type">
    <ol class="crumbs">
      <li><a href={to('/services')}>Services</a></li>
      <li aria-current="page"><b>{service}</b></li>
    </ol>
    <label>Type <select value={type}
      onChange={e => show(view, { type: e.currentTarget.value })}>
      {(types.data ?? [type]).map(t => <option key={t}>{t}</option>)}
    </select></label>
    <label>Last <select value={isKnown ? from : ''}
      onChange={e => show(view, { from: e.currentTarget.value, to: 'now' })}>
      {!isKnown && <option value="" disabled>a chosen range</option>}
      {RANGES.map(([value, word]) =>
        <option key={value} value={value}>{word}</option>)}
    </select></label>
    {!isKnown && <button type="button" title="A range three times as long"
      onClick={() => wider(view)}>Zoom out</button>}
    {trend && <Before view={view} trend={trend} />}
    {type === 'goroutine' && last && <a class="button"
      href={toResult(last.id) + '/threads'}>Stacks</a>}
    <a class="button" href={toSettings(service)}>Settings</a>
    {caller.role !== 'viewer' && <ProfileNow service={service} type={type} />}
  </div>;
}

const HALVES = 'halves';
const SHIFTS = [['', 'the time just before'], ['86400', 'a day earlier'],
  ['604800', 'a week earlier']];

/* The range against an equally long one before it. */
function Before({ view: { service, type }, trend }:
  { view: View; trend: Trend }) {
  const from = Date.parse(trend.from), until = Date.parse(trend.to);
  const compare = (seconds: string) => {
    const half = (from + until) / 2;
    if (seconds === HALVES)
      return go(toCompare(`${from}..${Math.floor(half)}`, `${Math.floor(half)
      }..${until}`, { service, type }));
    const back = seconds ? Number(seconds) * 1000 : until - from;
    go(toCompare(`${from - back}..${until - back}`, `${from}..${until}`,
      { service, type }));
  };
  return <select value="-" aria-label="Compare with"
    onChange={e => compare(e.currentTarget.value)}>
    <option value="-" disabled>Compare with…</option>
    {SHIFTS.filter(([s]) => !s || Number(s) * 1000 >= until - from)
      .map(([seconds, word]) =>
        <option key={seconds} value={seconds}>{word}</option>)}
    <option value={HALVES}>two ranges of the chart</option>
  </select>;
}

function wider(view: View) {
  const from = Number(view.from), until = Number(view.to);
  if (!(from < until)) return show(view, { from: 'now-1h', to: 'now' });
  const more = until - from;
  show(view, until + more >= Date.now()
    ? { from: String(from - more), to: String(Date.now()) }
    : { from: String(from - more), to: String(until + more) });
}

/* What the marks of the chart are, in words: the newest first. */
function Events({ marks, isCut }: { marks: Mark[]; isCut: boolean }) {
  if (marks.length === 0) return null;
  const told = Object.entries(KINDS).flatMap(([kind, [one, many]]) => {
    const n = marks.filter(m => m.kind === kind).length;
    return n === 0 ? [] : `${isCut && kind === 'capture' ? 'the last ' : ''}${n
      } ${n === 1 ? one : many}`;
  }).join(', ');
  return <details class="captures">
    <summary>{told.charAt(0).toUpperCase() + told.slice(1)} in this range
    </summary>
    <table class="list"><thead><tr><th scope="col">Time</th>
      <th scope="col">What</th><th scope="col" class="number">Samples</th>
      <th scope="col">Quality</th></tr></thead>
      <tbody>{[...marks].reverse().map(({ at, href, text, result: r, kind }) =>
        <tr key={`${kind} ${at} ${href}`}>
          <th scope="row">{href
            ? <a href={href}><Time at={iso(at)} isExact /></a>
            : <Time at={iso(at)} isExact />}</th>
          <td>{text}</td>
          <td class="number">{r?.sampleCount.toLocaleString('en')}</td>
          <td>{r && (r.status === 'completed' ? r.quality.verdict
            : r.phase)}</td>
        </tr>)}</tbody></table>
  </details>;
}
const iso = (at: number) => new Date(at).toISOString();

function Nothing({ error, view, caller, again }: { error: Error; view: View;
  caller: Caller; again: () => void }) {
  const isEmpty = error instanceof ApiError && error.code === 'EmptyRange';
  const last = useData(isEmpty ? 'latest ' + view.service : '', signal =>
    isEmpty ? latest(view.service, signal) : Promise.resolve(undefined));
  if (!isEmpty) return <Failure error={error} again={again} />;
  return <Empty title={`No ${view.type} profile in this range`}>
    <p>Profiles are taken when somebody asks for one, and all the time where
      continuous profiling is on for the service.</p>
    {last.data && <p>The last one, of type {last.data.profileType}, is
      from <a href={toResult(last.data.id)}>
        <Time at={last.data.startedAt} isExact /></a>.</p>}
    {caller.role !== 'viewer' &&
      <ProfileNow service={view.service} type={view.type} />}
  </Empty>;
}
