/* A service over a range of time: its cost, and its events. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { clock } from '../flame/text.js';
import { all, ApiError, get, PROFILING, serverNow, type Caller } from './api';
import { toCompare } from './compare';
import { Chips, Groups, hasThreads, isOfSamples, labelsOf, type Labels }
  from './groups';
import { KINDS, useMarks, type Mark } from './marks';
import type { PageProps } from './pages';
import { Empty, Failure, sentence, Share, Skeleton, Time, usePop }
  from './parts';
import { getRange, Profile } from './profile';
import type { Baseline, ContinuousProfile, MergedProfile, Process, Shifted,
  Shifts, Trend } from './replies';
import { isSession, latest, toFirst, toSettings, toService, verdictOf, whyNot,
  type Result } from './result';
import { go, to } from './route';
import { SPAN, TRACE, useTraces } from './source';
import { fields, ProfileNow, types } from './start';
import { marksOf, sentenceOf } from './shifts';
import { Costs, halvesOf, knownOf, lineOf } from './trend';
import { useData, type Loaded } from './use';

const RANGES = [['now-5m', '5 minutes'], ['now-15m', '15 minutes'],
  ['now-1h', 'hour'], ['now-6h', '6 hours'], ['now-1d', 'day'],
  ['now-7d', '7 days'], ['now-30d', '30 days']];
const USUAL = 'now-1h', REFRESH_MS = 30e3;
const RUNNING_MS = 1e3, LISTED = 50, NONE: Result[] = [];

/* The view in the address: a range in milliseconds, or from a time until now.
   The address holds the whole view, so that a link shows others the same. */
type View = { service: string; type: string; from: string; to: string;
  only: Labels };

export default function Explore({ args, query, caller }: PageProps) {
  const { service } = args, asked = query.get('type');
  useEffect(() => { document.title = `${service} · Stoker`; }, [service]);
  const isWhole = asked !== null && query.has('from');
  const usual = useData(isWhole ? '' : 'usual ' + service, async signal =>
    isWhole ? undefined : usualView(service, signal));
  const view = { service, type: asked ?? usual.data?.type ?? '',
    from: query.get('from') ?? usual.data?.from ?? '',
    to: query.get('to') ?? 'now', only: labelsOf(query) };
  useEffect(() => {
    if (!isWhole && view.type && view.from) show(view, {}, 'replace');
  }, [isWhole, view.type, view.from]);
  if (isUnknown(usual.error)) return <Unknown service={service} />;
  if (usual.error) return <Failure error={usual.error} again={usual.again} />;
  if (!isWhole) return <Skeleton />;
  return <Shown key={service} view={view} query={query} caller={caller} />;
}

/* Chooses the first view: a type that is profiled continuously, preferably
   CPU, or else the type of the last capture with samples, so that the page is
   not empty; the last hour, or less if the service has not been profiled that
   long. */
async function usualView(service: string, signal: AbortSignal) {
  const { enabled, profileTypes, createdAt } =
    await continuousOf(service, signal);
  const age = serverNow() - Date.parse(createdAt);
  const [from] = enabled && RANGES.find(([range]) =>
    range === USUAL || serverNow() - Number(resolve(range, serverNow())) > age)
    || [USUAL];
  if (enabled) return { from,
    type: profileTypes.includes('cpu') ? 'cpu' : profileTypes[0] };
  const last = await latest(service, signal);
  return { from, type: last?.sampleCount ? last.profileType : 'cpu' };
}

const asked = ({ service, type, from, to, only }: View) => String(
  new URLSearchParams({ service, profileType: type, from, to, ...only }));

const show = (view: View, change: Partial<View>, how?: 'replace') => {
  const { service, type, from, to: until, only } = { ...view, ...change };
  go(toService(service, { type, from, to: until === 'now' ? '' : until,
    ...only }) + location.hash, how);
};
const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400 };

/* Converts "now" and "now-1h" to milliseconds; returns other times
   unchanged. */
function resolve(text: string, now: number) {
  const [, n, unit] = /^now(?:-(\d+)([smhd]))?$/.exec(text) ?? [];
  return !text.startsWith('now') || text !== 'now' && !unit ? text
    : String(now - Number(n ?? 0) * (SECONDS[unit] ?? 0) * 1e3);
}

/*
 * One present time for all requests: a range until now ends at the same time in
 * the chart, the graph and the captures. The present moves on some time after
 * the graph has arrived, while the page is visible and nothing is dragged.
 */
function usePresent(view: View) {
  const q = asked(view), isLive = view.to === 'now';
  const [turn, set] = useState({ q: '', now: 0 });
  const first = useMemo(serverNow, [q]);
  const now = turn.q === q ? turn.now : first;
  const next = () => set({ q, now: serverNow() });
  const latestNext = useRef(next);
  latestNext.current = next;
  const timer = useRef(0);
  const isDue = useRef(false);
  const mayGoOn = () => !document.hidden &&
    !document.querySelector('.chart:active');
  useEffect(() => {
    const seen = () => {
      if (isDue.current && mayGoOn()) latestNext.current();
    };
    document.addEventListener('visibilitychange', seen);
    document.addEventListener('pointerup', seen);
    return () => {
      clearTimeout(timer.current);
      document.removeEventListener('visibilitychange', seen);
      document.removeEventListener('pointerup', seen);
    };
  }, []);
  /* to be called when the answer has arrived */
  const answered = () => {
    clearTimeout(timer.current);
    isDue.current = false;
    if (isLive) timer.current = setTimeout(() => {
      isDue.current = true;
      if (mayGoOn()) latestNext.current();
    }, REFRESH_MS);
  };
  return { at: { ...view, from: resolve(view.from, now),
    to: resolve(view.to, now) }, now, isLive, next, answered };
}
const between = (view: View, from: number, to: number) =>
  show(view, { from: String(Math.round(from)), to: String(Math.round(to)) });

const isUnknown = (e?: Error) =>
  e instanceof ApiError && e.code === 'UnknownService';
const Unknown = ({ service }: { service: string }) => <Empty
  title={`There is no service ${service}`}>
  <p>It may have been removed, or the address may be wrong.</p>
  <p><a href={to('/services')}>Go to the services</a></p></Empty>;

/* Captures that have just started and still run. */
function useRunning(captures: Loaded<{ items: Result[] }>,
  query: URLSearchParams, over: () => void) {
  const running = captures.data?.items.filter(r => r.status === 'running') ??
    NONE, count = running.length, before = useRef(0);
  /* a link to the open page may have another query */
  const asked = useRef(query);
  useEffect(() => {
    if (asked.current !== query) over();
    asked.current = query;
  }, [query]);
  useEffect(() => {
    if (count < before.current) over();
    before.current = count;
    if (count === 0) return;
    const timer = setInterval(captures.again, RUNNING_MS);
    return () => clearInterval(timer);
  }, [count]);
  return running;
}

function Running({ items }: { items: Result[] }) {
  return <ul class="running" aria-label="Captures that run">
    {items.map(r => <li key={r.id}>
      <a href={toFirst(r.id, r.profileType)}>{r.profileType}{r.host && ` on ${r.host}`}</a>
      <progress value={r.progress} max={1} aria-label="Part that is done" />
      <span class="quiet">{r.phase}</span></li>)}
  </ul>;
}

function Shown({ view, query, caller }: { view: View;
  query: URLSearchParams; caller: Caller }) {
  const present = usePresent(view), q = asked(present.at);
  const of = asked({ ...view, from: '', to: '' }), range = asked(view);
  /* requested first, since it takes longest */
  const doc = useData('merge ' + of, async signal => {
    const address = `${PROFILING}/merge?${q}`;
    return { columns: await getRange(address, signal), address, range,
      until: present.now };
  }, 0, q);
  const trend = useData('series ' + of, signal => get<Trend>(
    `${PROFILING}/history/series?${q}`, signal), 0, q);
  const captures = useData('history ' + of, signal => get<{ items: Result[] }>(
    `${PROFILING}/history?${q}&limit=${LISTED}&resolution=none`, signal),
  0, q);
  const changed = useChanges(present.at, of, trend);
  useEffect(present.answered, [doc.data, doc.error, range]);
  const items = captures.data?.items ?? NONE;
  const running = useRunning(captures, query, present.next);
  const happened = useMarks(view.service, view.type, items, present.now);
  const isOther = doc.data !== undefined && doc.data.range !== range;
  const marks = useMemo(() => [...happened, ...changed.marks].filter(m =>
    trend.data && m.at >= Date.parse(trend.data.from) &&
    m.at <= Date.parse(trend.data.to)).sort((a, b) => a.at - b.at),
  [happened, changed, trend.data]);
  if (isUnknown(trend.error)) return <Unknown service={view.service} />;
  return <>
    <Tools view={view} at={present.at} trend={trend.data}
      unit={doc.data?.columns?.unit} caller={caller}
      baselines={happened.flatMap(m => m.baseline ?? [])}
      capture={items.find(hasThreads)}
      asOf={present.isLive
        ? <AsOf at={doc.data?.until} again={present.next} />
        : <button type="button" class="as-of" title="The last hour, up to now"
          onClick={() => show(view, { from: 'now-1h', to: 'now' })}>
          Back to now</button>} />
    {running.length > 0 && <Running items={running} />}
    {trend.data ? <Costs trend={trend.data} unit={doc.data?.columns?.unit}
      marks={marks} only={view.only} isOld={isOther} rest={changed.text}
      choose={(from, to) => between(view, from, to)}
      more={<Events marks={marks} isCut={items.length === LISTED} />} />
      : trend.error ? <Failure error={trend.error} again={trend.again} />
        : <div class="chart waiting"><Skeleton lines={3} /></div>}
    {doc.data?.columns && items.length > 0 && <Hint view={view}
      caller={caller} />}
    {doc.error && <Failure error={doc.error} again={doc.again} />}
    {doc.data?.columns ? <Profile doc={doc.data.columns}
      address={doc.data.address} isOld={isOther}
      version={view.only['label.version']} />
      : doc.data ? <Nothing view={view} caller={caller} />
        : !doc.error && <Skeleton lines={10} />}
  </>;
}

const DAY_MS = 864e5, MOST_CHANGES = 3;

const hasRisen = ({ shifts }: Shifted) => (shifts.at(-1)?.factor ?? 2) > 1;

/* The functions that changed most in a range of at most a day, increases
   first, as marks that lead to a comparison of the times before and after; and
   the first of them in words. */
function useChanges(at: View, of: string,
  { data: trend, isOld }: Loaded<Trend>) {
  const { service, type, only } = at;
  /* the last request; none where nothing was profiled */
  const last = useRef({ of, q: '' });
  if (last.current.of !== of) last.current = { of, q: '' };
  if (trend && !isOld) last.current.q = !isOfSamples(only) &&
    Number(at.to) - Number(at.from) <= DAY_MS &&
    lineOf(trend).some(p => p.value !== null) ? asked(at) : '';
  const { q } = last.current;
  const { data } = useData('changes ' + of, async signal => q
    ? get<Shifts>(`${PROFILING}/history/shifts?${q}`, signal) : undefined, 0, q);
  return useMemo(() => {
    const found = [...data?.functions ?? []].sort((a, b) =>
      Number(hasRisen(b)) - Number(hasRisen(a))).slice(0, MOST_CHANGES);
    const [from, until] = trend ? knownOf(trend) : [0, 0];
    return { text: found.length > 0 ? sentenceOf(found[0]) : '',
      marks: found.flatMap((shifted, i) => marksOf(shifted).map(m => ({ ...m,
        within: i === 0 ? m.within : undefined, href: toCompare(
          `${from}..${m.at}`, `${m.at}..${until}`, { service, type }, only) })))
    };
  }, [data, trend]);
}

/* The end of the time shown; a click loads newer data. */
const AsOf = ({ at, again }: { at?: number; again: () => void }) =>
  <button type="button" class="as-of" onClick={again} title={at === undefined
    ? 'Loading' : `${clock(at)}\nRefreshed every ${REFRESH_MS / 1e3} s; a click
refreshes now`}>As of {at === undefined ? '…'
    : new Date(at).toTimeString().slice(0, 8)}</button>;

function Tools({ view, at, trend, unit, caller, asOf, baselines, capture }: {
  view: View; at: View; trend?: Trend; unit?: string; caller: Caller;
  asOf: ComponentChildren; baselines: Baseline[]; capture?: Result }) {
  const { service, type, from, to: until } = view;
  const isKnown = until === 'now' && RANGES.some(([r]) => r === from);
  const all = useData('types', types);
  return <div class="line" role="group" aria-label="Range and type">
    <ol class="crumbs">
      <li><a href={to('/services')}>Services</a></li>
      <li aria-current="page"><b>{service}</b></li>
    </ol>
    <div class="range">
      <label>Type <select value={type}
        onChange={e => show(view, { type: e.currentTarget.value })}>
        {(all.data ?? [type]).map(t => <option key={t}>{t}</option>)}
      </select></label>
      <label>Last <select class="last" value={isKnown ? from : ''}
        onChange={e => show(view, { from: e.currentTarget.value, to: 'now' })}>
        {!isKnown && <option value="" disabled>chosen</option>}
        {RANGES.map(([value, word]) =>
          <option key={value} value={value}>{word}</option>)}
      </select></label>
      {asOf}
      {trend && <Dates key={from + until} trend={trend}
        choose={(a, b) => between(view, a, b)} />}
      <button type="button" title="A range three times as long"
        disabled={isKnown} onClick={() => wider(view)}>Zoom out</button>
      <Only view={view} at={at} unit={unit} capture={capture} />
      {trend && <Before view={view} trend={trend}
        baselines={baselines} />}
      {type in NEWEST && trend && <Newest at={at} trend={trend} />}
      <Share find={() => get<MergedProfile>(
        `${PROFILING}/merge?${asked(at)}&top=1`).then(m =>
        m.flameGraphUrl)} />
      <a class="button" href={toSettings(service)}>Settings</a>
      {caller.role !== 'viewer' && <ProfileNow service={service} type={type} />}
    </div>
  </div>;
}

/* The graph of a gauge is a mean, but to find a leak one needs the newest
 * profile: the word on the button that opens it. */
const NEWEST: Record<string, string> = { goroutine: 'Stacks',
  memory: 'Newest' };

/* The newest and the oldest profile of the range: captures, or continuous
 * profiles, whose windows are merged into longer ones as they age. */
async function endsOf(at: View, trend: Trend, signal: AbortSignal) {
  const first = lineOf(trend).find(p => p.value !== null)?.at;
  const list = async (resolution: string, of: View, limit: string) =>
    (await get<{ items: Result[] }>(`${PROFILING}/history?${asked(of)}&${
      new URLSearchParams({ limit, status: 'completed', resolution })}`,
    signal)).items;
  for (const resolution of ['captured', 'auto']) {
    const [newest] = await list(resolution, at, '1');
    if (newest) return { newest, oldest: first && (await list(resolution,
      { ...at, to: String(first + trend.stepSeconds * 1000) },
      String(LISTED))).at(-1) };
  }
  return null;
}

/* Links to the newest profile of a gauge, and to its growth since the
 * oldest. */
function Newest({ at, trend }: { at: View; trend: Trend }) {
  const { service, type } = at;
  const { data } = useData('newest ' + asked({ ...at, from: '', to: '' }),
    signal => endsOf(at, trend, signal), 0, asked(at));
  if (!data) return null;
  const { newest, oldest } = data;
  return <>
    <a class="button" title="The newest profile alone"
      href={toFirst(newest.id, type)}>{NEWEST[type]}</a>
    {oldest && oldest.id !== newest.id && <a class="button"
      title="The newest profile of the range compared with one of its oldest"
      href={type === 'goroutine' && [newest, oldest].every(r =>
        isSession(r.id)) ? `${toFirst(newest.id, type)}?base=${encodeURIComponent(oldest.id)}`
        : toCompare(oldest.id, newest.id, { service, type, norm: 'rate' })}>
      Growth</a>}
  </>;
}

/* A time in the form that an input element takes, in the browser's time
   zone. */
const typed = (at: string) => {
  const ms = Date.parse(at), zone = new Date(ms).getTimezoneOffset() * 60e3;
  return new Date(ms - zone).toISOString().slice(0, 19);
};

function Dates({ trend, choose }: { trend: Trend;
  choose: (from: number, to: number) => void }) {
  const at = usePop(), [wrong, setWrong] = useState('');
  const submit = (e: SubmitEvent) => {
    e.preventDefault();
    const data = new FormData(e.currentTarget as HTMLFormElement);
    const [from, to] = ['from', 'to'].map(name =>
      Date.parse(String(data.get(name))));
    if (!(from < to)) return setWrong('The range ends before it begins.');
    at.current!.open = false;
    choose(from, to);
  };
  return <details class="pop" ref={at}>
    <summary>Dates</summary>
    <form class="dates" onSubmit={submit}>
      <label>From <input type="datetime-local" name="from" step="1" required
        defaultValue={typed(trend.from)} /></label>
      <label>To <input type="datetime-local" name="to" step="1" required
        defaultValue={typed(trend.to)} /></label>
      <p class="quiet">Times of {ZONE}.</p>
      {wrong && <p class="bad" role="alert">{wrong}</p>}
      <button class="main">Show</button>
    </form>
  </details>;
}
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/* The group shown alone, and the groups to choose from. */
function Only({ view, at: of, unit, capture }: { view: View; at: View;
  unit?: string; capture?: Result }) {
  const [isOpen, setOpen] = useState(false), at = usePop();
  const { [TRACE]: id = '', [SPAN]: span } = view.only;
  const trace = useTraces(id && view.service)(id, span);
  return <>
    <Chips only={view.only} show={only => show(view, { only })} />
    {trace && <a class="button" href={trace} target="_blank"
      rel="noopener noreferrer">Open the trace</a>}
    {!isOfSamples(view.only) && <details class="pop" ref={at} onToggle={e =>
      setOpen(e.currentTarget.open)}>
      <summary>Groups</summary>
      <div>{isOpen && <Groups name={asked({ ...view, from: '', to: '' })}
        asked={asked(of)} unit={unit} capture={capture} choose={(by, value) => show(view,
          { only: { ...view.only, [by]: value } })} />}
      </div>
    </details>}
  </>;
}

const HALVES = 'halves', CHANGE = 'change';
const SHIFTS = [['', 'the time just before'], ['86400', 'a day earlier'],
  ['604800', 'a week earlier']];

/* The range against an equally long one before it, or against a baseline. */
function Before({ view: { service, type, only }, trend, baselines }:
  { view: View; trend: Trend; baselines: Baseline[] }) {
  const [said, say] = useState('');
  const from = Date.parse(trend.from), until = Date.parse(trend.to);
  const [first, second] = halvesOf(trend);
  /* Takes the time from the function that changed most. */
  const atChange = async () => {
    say('');
    const { functions: [most], whole } = await get<Shifts>(
      `${PROFILING}/history/shifts?${new URLSearchParams({ service,
        profileType: type, from: trend.from, to: trend.to, ...only })}`);
    const at = Date.parse(most?.shifts.at(-1)?.at ?? '');
    if (!(at > 0)) return say(`No function was found to change in ${
      whole.samples.toLocaleString('en')} samples; a longer range may show one.`);
    const [begin, end] = knownOf(trend);
    go(toCompare(`${begin}..${at}`, `${at}..${end}`, { service, type }, only));
  };
  const compare = (seconds: string) => {
    if (seconds === CHANGE)
      return void atChange().catch((e: Error) => say(sentence(e.message)));
    if (seconds === HALVES)
      return go(toCompare(first, second, { service, type }, only));
    const of = baselines.find(b => b.baselineId === seconds);
    if (of) return go(toCompare(of.sessionId, `${from}..${until}`,
      { service, type, baseline: of.baselineId }, only));
    const back = seconds ? Number(seconds) * 1000 : until - from;
    go(toCompare(`${from - back}..${until - back}`, `${from}..${until}`,
      { service, type }, only));
  };
  return <><select value="-" aria-label="Compare with"
    onChange={e => {
      const { value } = e.currentTarget;
      e.currentTarget.value = '-';
      compare(value);
    }}>
    <option value="-" disabled>Compare with…</option>
    {SHIFTS.filter(([s]) => !s || Number(s) * 1000 >= until - from)
      .map(([seconds, word]) =>
        <option key={seconds} value={seconds}>{word}</option>)}
    {/* shifts are computed from all samples */}
    {!isOfSamples(only) &&
      <option value={CHANGE}>the time before it changed</option>}
    <option value={HALVES}>its own first half</option>
    {baselines.length > 0 && <optgroup label="Baselines">
      {baselines.map(b => <option key={b.baselineId} value={b.baselineId}>
        {b.baselineLabel}</option>)}</optgroup>}
  </select><span role="status" class="quiet">{said}</span></>;
}

function wider(view: View) {
  const from = Number(view.from), until = Number(view.to);
  if (!(from < until)) return show(view, { from: 'now-1h', to: 'now' });
  const more = until - from;
  show(view, until + more >= Date.now()
    ? { from: String(from - more), to: String(Date.now()) }
    : { from: String(from - more), to: String(until + more) });
}

/* The marks of the chart in words, newest first. */
function Events({ marks, isCut }: { marks: Mark[]; isCut: boolean }) {
  return marks.length === 0 ? null : <Happened marks={marks} isCut={isCut} />;
}

function Happened({ marks, isCut }: { marks: Mark[]; isCut: boolean }) {
  const at = usePop();
  const told = Object.entries(KINDS).flatMap(([kind, [one, many]]) => {
    const n = marks.filter(m => m.kind === kind).length;
    return n === 0 ? [] : { kind, text: `${isCut && kind === 'capture'
      ? 'the last ' : ''}${n} ${n === 1 ? one : many}` };
  });
  const done = marks.flatMap(({ kind, result: r }) => r && kind !== 'baseline'
    && r.status === 'completed' ? r : []);
  const before = ({ id, host }: Result): string | undefined => {
    const there = done.filter(r => r.host === host).map(r => r.id);
    return there[there.indexOf(id) - 1];
  };
  return <details class="captures pop" ref={at}>
    <summary class="legend" title="What happened in this range">
      {told.map(({ kind, text }, i) => <span key={kind}>
        <i class={`mark-of ${kind}`} />{text}{i < told.length - 1 && ', '}
      </span>)}</summary>
    <div><table class="list"><thead><tr><th scope="col">Time</th>
      <th scope="col">What</th><th scope="col" class="number">Samples</th>
      <th scope="col" class="wide">Quality</th>
      <th scope="col"><span class="unseen">Comparison</span></th></tr></thead>
      <tbody>{[...marks].reverse().map(({ at, href, text, result: r, kind }) =>
        <tr key={`${at} ${href} ${text}`}>
          <th scope="row">{href
            ? <a href={href}><Time at={iso(at)} isExact /></a>
            : <Time at={iso(at)} isExact />}</th>
          <td>{r?.status === 'failed' ? 'capture' : text}</td>
          <td class="number">{r?.sampleCount.toLocaleString('en')}</td>
          <td class="wide">{r && (r.status === 'completed' ? verdictOf(r)
            : r.phase)}</td>
          <td>{kind === 'shift' && <a href={href}>Compare before and after</a>}
            {r && before(r) && <a href={toCompare(before(r)!, r.id,
            { service: r.service, type: r.profileType })}>
            Compare with the one before</a>}</td>
        </tr>)}</tbody></table></div>
  </details>;
}
const iso = (at: number) => new Date(at).toISOString();

type Continuous = Pick<ContinuousProfile, 'enabled' | 'profileTypes' |
  'retentionDays' | 'createdAt' | 'unsupported' | 'failing'>;
const OFF: Continuous = { enabled: false, profileTypes: [], retentionDays: 0,
  createdAt: '', unsupported: [], failing: [] };

/* A service that was never profiled continuously has no entry. */
const continuousOf = async (service: string, signal: AbortSignal):
  Promise<Continuous> =>
  (await all<ContinuousProfile>(`${PROFILING}/continuous`, signal))
    .find(c => c.service === service) ?? OFF;
const useContinuous = (service: string) => useData('continuous? ' + service,
  signal => continuousOf(service, signal)).data;

/* A hint that continuous profiling is off, if the chart has only captures. */
function Hint({ view: { service, type }, caller }: { view: View;
  caller: Caller }) {
  const now = useContinuous(service);
  const captured = useData('types that are captured', fields).data;
  if (!now || !captured?.profileType.enum!.includes(type) ||
    now.enabled && now.profileTypes.includes(type)) return null;
  return <p class="quiet">Only captures are shown: {type} is not profiled all
    the time. {caller.role === 'admin' && <a href={toSettings(service)}>
      Turn it on</a>}</p>;
}

/* The reasons why there is no data: a sentence for each, with the remedy. */
function reasons({ type, to: until, only }: View, now: Continuous,
  running: number) {
  const all: string[] = [], end = Number(until);
  if (Object.keys(only).length > 0)
    all.push('Only profiles with the chosen labels are shown.');
  if (!now.enabled)
    all.push('Continuous profiling is off: there are profiles only of times '
      + 'when somebody asked for one.');
  else if (!now.profileTypes.includes(type))
    all.push(`Continuous profiling is on for ${now.profileTypes.join(', ')
    }, not for ${type}.`);
  else if (end < Date.parse(now.createdAt))
    all.push('Continuous profiling was turned on later than that.');
  else if (end < Date.now() - now.retentionDays * 864e5)
    all.push(`Profiles are kept for ${now.retentionDays} days.`);
  for (const u of now.unsupported)
    if (u.profileType === type) all.push(`The service needs ${u.missing}.`);
  for (const f of now.failing)
    if (f.profileType === type) all.push(whyNot(f));
  if (running === 0 && until === 'now')
    all.push('No process matches the service now.');
  return all;
}

function Reasons({ view, caller }: { view: View; caller: Caller }) {
  const now = useContinuous(view.service);
  const running = useData('processes? ' + view.service, signal =>
    all<Process>(`/api/v1/services/${encodeURIComponent(view.service)
    }/processes`, signal)).data;
  if (!now || !running) return null;
  return <>
    <ul>{reasons(view, now, running.length).map(text =>
      <li key={text}>{text}</li>)}</ul>
    <p><a href={toSettings(view.service)}>{caller.role === 'admin'
      ? 'Change what is profiled' : 'See what is profiled'}</a></p>
  </>;
}

function Nothing({ view, caller }: { view: View; caller: Caller }) {
  const last = useData(`latest ${view.service} ${view.type}`, signal =>
    latest(view.service, signal, view.type));
  return <Empty title={`No ${view.type} profile in this range`}>
    <Reasons view={view} caller={caller} />
    {last.data && <p>The last one of this type is from <a href={toFirst(last.data.id,
      last.data.profileType)}>
        <Time at={last.data.startedAt} isExact /></a>.</p>}
    {caller.role !== 'viewer' &&
      <ProfileNow service={view.service} type={view.type} />}
  </Empty>;
}
