/* All services: what runs, what it costs, the last capture, another one. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { all, get, PROFILING, type Caller } from './api';
import type { PageProps } from './pages';
import { Empty, Failure, Head, Skeleton, Time } from './parts';
import type { Make } from './form';
import { latest, toResult, toService, toSettings, type Result }
  from './result';
import { go } from './route';
import { ProfileNow } from './start';
import { useData } from './use';

type Check = { host: string; part: string; check: string;
  verdict: string; found: string; fix: string };
/* A type that the service lacks; or perhaps, where it is not certain. */
export type Lack = { profileType: string; certain: boolean; reason: string;
  fix: string };
type Service = { name: string; kind: string; description: string;
  unsupported: Lack[] };
type Worker = { host: string; alive: boolean; heartbeatAt: string };
type Pipeline = { name: string; status: string; ordinals: number[] };
export type Point = { t: string; rate: number | null; value: number | null };
export type Series = { aggregation: string; stepSeconds: number;
  points: Point[] };

/* A type that cannot be profiled, and why. */
type Missing = { type: string; why: string };
type Continuous = { service: string;
  unsupported: { profileType: string; missing: string }[] };
const NOTHING: Missing[] = [];

const REFRESH_MS = 10e3, TREND_MS = 60e3, MORE_MS = 120e3;
const RECENT = 50, AT_ONCE = 4;

/* A type that merely cannot be profiled all the time is told by the settings: a
 * capture of it may work. */
const missingOf = ({ unsupported }: Continuous): Missing[] =>
  unsupported.map(({ profileType: type, missing }) => ({ type,
    why: `${type} needs ${missing}` }));

/* Each type once: what continuous profiling tells is nearer. */
function missing({ unsupported }: Service, told: Missing[]) {
  const types = new Set(told.map(m => m.type));
  return [...told, ...unsupported
    .filter(l => l.certain && !types.has(l.profileType))
    .map(({ profileType: type, reason, fix }) => ({ type,
      why: `${type}: ${reason}\n${fix}` }))];
}

async function load(signal: AbortSignal) {
  const [services, pipelines, checks, workers, continuous, recent] =
    await Promise.all([
      all<Service>('/api/v1/services', signal),
      all<Pipeline>('/v0/pipelines', signal),
      all<Check>('/api/v1/checks', signal),
      all<Worker>('/api/v1/workers', signal),
      all<Continuous>(`${PROFILING}/continuous`, signal),
      get<{ items: Result[] }>(
        `/api/v1/profiling/sessions?limit=${RECENT}`, signal)]);
  return { services, checks, workers,
    /* the newest of each service, of the last few of all of them */
    last: new Map([...recent.items].reverse().map(r => [r.service, r])),
    told: new Map(continuous.map(c => [c.service, missingOf(c)])),
    running: new Map(pipelines.map(p => [p.name, p.ordinals.length])) };
}

export default function Services({ caller }: PageProps) {
  const { data, error, again } = useData('services', load, REFRESH_MS);
  const [filter, setFilter] = useState(''), [sort, setSort] = useState(NAME);
  const trends = useTrends(data?.services.map(s => s.name) ?? NO_NAMES);
  useEffect(() => { document.title = 'Services · Stoker'; }, []);
  if (!data) return error ? <Failure error={error} again={again} />
    : <Skeleton />;
  const wanted = filter.toLowerCase();
  const rows = data.services.filter(s =>
    `${s.name} ${s.description}`.toLowerCase().includes(wanted));
  const cost = (s: Service) => meanOf(trends.get(s.name)) ?? -1;
  if (sort === CPU) rows.sort((a, b) => cost(b) - cost(a));
  const most = Math.max(1, ...[...trends.values()].flatMap(t =>
    t.points.map(p => p.rate ?? 0)));
  const sum = rows.reduce((n, s) => n + Math.max(cost(s), 0), 0);
  const head = (key: string, text: string) => <button type="button"
    onClick={() => setSort(key)}>{text}{sort === key && ' ↓'}</button>;
  const order = (key: string) => sort === key ? 'descending' : 'none';
  return <>
    <Broken checks={data.checks} />
    <Silent workers={data.workers} />
    {data.services.length === 0 ? <NoServices caller={caller} /> : <>
      <Head title="Services">
        {caller.role === 'admin' && <AddService />}
        <input type="search" placeholder="Filter" aria-label="Filter services"
          value={filter} onInput={e => setFilter(e.currentTarget.value)} />
      </Head>
      {error && <Failure error={error} />}
      <table class="list services">
        <thead><tr>
          <th scope="col" aria-sort={sort === NAME ? 'ascending' : 'none'}>
            {head(NAME, 'Service')}</th>
          <th scope="col" class="number wide">Processes</th>
          <th scope="col" class="wide">Kind</th>
          <th scope="col" class="wide" aria-sort={order(CPU)}>
            {head(CPU, 'CPU, mean of the last hour')}{' '}
            <span class="quiet">{sum > 0 && `${cpus(sum)} in all`}</span></th>
          <th scope="col">Last capture</th>
          <th scope="col"><span class="unseen">Actions</span></th></tr></thead>
        <tbody>{rows.map(s => <Row key={s.name} service={s} caller={caller}
          running={data.running.get(s.name) ?? 0} trend={trends.get(s.name)}
          most={most} last={data.last.get(s.name)}
          lacks={missing(s, data.told.get(s.name) ?? NOTHING)} />)}</tbody>
      </table>
      {rows.length === 0 && <p class="quiet" role="status">No service has
        “{filter}” in its name or description.</p>}
    </>}
  </>;
}

/* True from the time on when the element is seen. */
function useSeen<T extends Element>() {
  const at = useRef<T>(null), [isSeen, set] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver(entries => {
      if (entries.some(e => e.isIntersecting)) {
        set(true);
        watch.disconnect();
      }
    });
    watch.observe(at.current!);
    return () => watch.disconnect();
  }, []);
  return [at, isSeen] as const;
}

type Trigger = { id: string; trigger: string; lastFiredAt: string | null;
  lastProfileId: string; capture: { profileType: string } };
const ALARM_MS = 36e5; /* for so long it is told that a trigger fired */

/* What is known of one service only, and changes seldom. */
async function more(name: string, signal: AbortSignal) {
  const at = `/api/v1/services/${encodeURIComponent(name)}`;
  const [processes, triggers] = await Promise.all([
    all<{ host: string }>(at + '/processes', signal),
    all<Trigger>(at + '/triggers', signal)]);
  return { hosts: [...new Set(processes.map(p => p.host))],
    alarms: triggers.filter(t => t.lastFiredAt &&
      Date.now() - Date.parse(t.lastFiredAt) < ALARM_MS) };
}
const useMore = (name: string, isSeen: boolean) => useData(isSeen
  ? 'more ' + name : '', async signal => isSeen ? more(name, signal)
  : undefined, isSeen ? MORE_MS : 0).data;

/* Triggers that fired, and types that cannot be profiled. */
function Notes({ name, alarms, lacks }: { name: string; alarms: Trigger[];
  lacks: Missing[] }) {
  return <>
    {alarms.map(t => <a key={t.id} class="badge alarm" href={!t.lastProfileId
      ? toSettings(name) : toResult(t.lastProfileId) +
        (t.capture.profileType === 'goroutine' ? '/threads' : '')}>
      {t.trigger} fired <Time at={t.lastFiredAt!} /></a>)}
    {lacks.length > 0 && <a class="badge" href={toSettings(name)}
      title={lacks.map(l => l.why).join('\n')}>without{' '}
      {lacks.map(l => l.type).join(', ')}</a>}
  </>;
}

function Row({ service, running, lacks, caller, trend, most, last }:
  { service: Service; running: number; lacks: Missing[]; caller: Caller;
    trend?: Series; most: number; last?: Result }) {
  const { name, kind, description } = service;
  const [at, isSeen] = useSeen<HTMLTableRowElement>();
  const known = useMore(name, isSeen);
  return <tr ref={at}>
    <th scope="row"><a href={toService(name)}>{name}</a>
      <Notes name={name} alarms={known?.alarms ?? []} lacks={lacks} />
      <span class="quiet">{description}</span></th>
    <td class="number wide">{running > 0 ? <>{running}{known &&
      known.hosts.length > 0 && <span class="quiet"> on {known.hosts.length === 1 ? known.hosts[0]
        : `${known.hosts.length} hosts`}</span>}</>
      : <span class="quiet" title={'No process matches the service now'}>
        none</span>}</td>
    <td class="wide">{kind}</td>
    <td class="wide">{trend && <Trend trend={trend} most={most} />}</td>
    <td>{last ? <Last result={last} /> : isSeen && <Older name={name} />}</td>
    <td class="number">{caller.role !== 'viewer' &&
      <ProfileNow service={name} />}</td>
  </tr>;
}

const Last = ({ result: { id, profileType, status, startedAt } }:
  { result: Result }) => <a href={toResult(id)}>{profileType}{' '}
  {status === 'completed' ? <Time at={startedAt} />
    : status === 'running' ? 'running' : 'failed'}</a>;

/* The last capture of a service that is not among the last of all. */
function Older({ name }: { name: string }) {
  const { data, isLoading } = useData('last ' + name,
    signal => latest(name, signal));
  return data ? <Last result={data} /> : isLoading ? null
    : <span class="quiet">never</span>;
}

const WIDTH = 120, HEIGHT = 22;

const NAME = 'name', CPU = 'cpu', NO_NAMES: string[] = [];
const cpus = (ns: number) => `${(ns / 1e9).toFixed(2)} CPUs`;

const knownOf = (trend: Series) => trend.points.map(p => p.rate)
  .filter(v => v !== null);
function meanOf(trend?: Series) {
  const known = trend ? knownOf(trend) : [];
  return known.length === 0 ? undefined
    : known.reduce((sum, v) => sum + v, 0) / known.length;
}

/* CPU of the last hour of each service, each minute; a few are asked for at
 * once. */
function useTrends(names: string[]) {
  const [trends, set] = useState(new Map<string, Series>());
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    const look = async (left: string[]) => {
      for (let name = left.shift(); name; name = left.shift()) {
        const q = new URLSearchParams({ service: name, profileType: 'cpu',
          from: 'now-1h' }), of = name;
        await get<Series>(`${PROFILING}/history/series?${q}`, stop.signal)
          .then(trend => set(old => new Map(old).set(of, trend)), () => {});
      }
    };
    const turn = async () => {
      const left = document.hidden ? [] : [...names];
      await Promise.all(Array.from({ length: AT_ONCE }, () => look(left)));
      if (!stop.signal.aborted) timer = setTimeout(turn, TREND_MS);
    };
    turn();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [names.join(' ')]);
  return trends;
}

/* What it costs over the last hour, as a line; dots where it is known alone. All
 * lines have one scale. */
function Trend({ trend: { points }, trend, most }:
  { trend: Series; most: number }) {
  const known = knownOf(trend), mean = meanOf(trend);
  if (mean === undefined) return <span class="quiet">none</span>;
  const x = (i: number) => (i / Math.max(points.length - 1, 1) * (WIDTH - 4)
    + 2).toFixed(1);
  const y = (v: number) => (HEIGHT - 3 - v / most * (HEIGHT - 6)).toFixed(1);
  const path = points.map(({ rate }, i) => rate === null ? ''
    : `${i > 0 && points[i - 1].rate !== null ? 'L' : 'M'}${x(i)} ${y(rate)}h0`)
    .join('');
  return <span class="trend" title={`${cpus(known[known.length - 1])} at last`}>
    <svg width={WIDTH} height={HEIGHT} role="img"
    aria-label={`CPU of the last hour, at most ${cpus(Math.max(...known))}`}>
      <path d={path} /></svg>
    {cpus(mean)}</span>;
}

/* What does not work, and the line that mends it. */
function Broken({ checks }: { checks: Check[] }) {
  const broken = checks.filter(c => c.verdict === 'broken');
  if (broken.length === 0) return null;
  return <div class="failure" role="alert">{broken.map(c =>
    <div key={c.host + c.check}><p><b>{c.host || 'API'}: {c.check}</b>{' '}
      {c.found}</p>{c.fix && <pre>{c.fix}</pre>}</div>)}</div>;
}

const GONE_MS = 7 * 864e5; /* who is silent for longer was taken away */

/* Hosts of which nobody tells anything: what is listed may have ended, and
 * captures wait for a worker. */
function Silent({ workers }: { workers: Worker[] }) {
  const silent = workers.filter(w => !w.alive &&
    Date.now() - Date.parse(w.heartbeatAt) < GONE_MS);
  if (workers.length > 0 && silent.length === 0) return null;
  return <div class="silent" role="status">
    {workers.length === 0 && <p>No worker runs: nothing can be captured. Start
      stoker-worker on this host.</p>}
    {silent.map(w => <p key={w.host}>The worker of <b>{w.host}</b> is
      silent: its last sign of life came <Time at={w.heartbeatAt} />. Nothing
      can be captured there.</p>)}
    <pre>systemctl status stoker-worker</pre>
  </div>;
}

/* The form is loaded when it is wanted. */
function AddService() {
  const [Form, set] = useState<typeof Make>();
  useEffect(() => { import('./form').then(m => set(() => m.Make)); }, []);
  const path = '/api/v1/services';
  return Form ? <Form<Service> word="Add a service" title="Add a service"
    path={path} main={['match', 'name', 'description']}
    made={s => go(toSettings(s.name))} /> : null;
}

function NoServices({ caller }: { caller: Caller }) {
  return <Empty title="No service yet">
    <p>A service is what Stoker profiles: the processes of a systemd unit, of
      an executable, or a Go program with pprof pages. Add the first one:</p>
    <pre>stoker service add web --unit nginx.service</pre>
    {caller.role === 'admin' && <AddService />}
  </Empty>;
}
