/*
 * All services: what runs, what it costs, the last capture, and a button for
 * another. One request returns all that changes often.
 */
import { useEffect, useState } from 'preact/hooks';
import { all, PROFILING, type Caller } from './api';
import type { PageProps } from './pages';
import { Empty, Failure, Head, Skeleton, Spark, Time } from './parts';
import type { Make } from './form';
import type { Check, ContinuousProfile, Fired, Service, ServiceOverview, Worker }
  from './replies';
import { toFirst, toService, toSettings } from './result';
import { go } from './route';
import { ProfileNow } from './start';
import { useData } from './use';

/* A type that cannot be profiled, and why. */
type Missing = { type: string; why: string };
const NOTHING: Missing[] = [];

const REFRESH_MS = 15e3, SLOW_MS = 60e3;

/* A type that may be captured but not profiled continuously is shown only in
   the settings. */
const missingOf = ({ unsupported }: ContinuousProfile): Missing[] =>
  unsupported.map(({ profileType: type, missing }) => ({ type,
    why: `${type} needs ${missing}` }));

/* Each type once; the reason from continuous profiling takes precedence. */
function missing({ unsupported }: ServiceOverview, told: Missing[]) {
  const types = new Set(told.map(m => m.type));
  return [...told, ...unsupported
    .filter(l => l.certain && !types.has(l.profileType))
    .map(({ profileType: type, reason, fix }) => ({ type,
      why: `${type}: ${reason}\n${fix}` }))];
}

/* Data that seldom changes. */
async function surroundings(signal: AbortSignal) {
  const [checks, workers, continuous] = await Promise.all([
    all<Check>('/api/v1/checks', signal),
    all<Worker>('/api/v1/workers', signal),
    all<ContinuousProfile>(`${PROFILING}/continuous`, signal)]);
  return { checks, workers,
    told: new Map(continuous.map(c => [c.service, missingOf(c)])) };
}

export default function Services({ caller }: PageProps) {
  const { data, error, again } = useData('services', signal =>
    all<ServiceOverview>('/api/v1/overview', signal), REFRESH_MS);
  const around = useData('surroundings', surroundings, SLOW_MS).data;
  const [filter, setFilter] = useState(''), [sort, setSort] = useState(NAME);
  useEffect(() => { document.title = 'Services · Stoker'; }, []);
  if (!data) return error ? <Failure error={error} again={again} />
    : <Skeleton />;
  const wanted = filter.toLowerCase();
  const rows = data.filter(s =>
    `${s.name} ${s.description}`.toLowerCase().includes(wanted));
  const cost = (s: ServiceOverview) => s.cpuPerSecond ?? -1;
  if (sort === CPU) rows.sort((a, b) => cost(b) - cost(a));
  const most = Math.max(1, ...data.flatMap(s => s.cpu.map(p => p.rate ?? 0)));
  const sum = rows.reduce((n, s) => n + (s.cpuPerSecond ?? 0), 0);
  const running = rows.reduce((n, s) => n + s.processes, 0);
  const head = (key: string, text: string) => <button type="button"
    onClick={() => setSort(key)}>{text}{sort === key && ' ↓'}</button>;
  const order = (key: string) => sort === key ? 'descending' : 'none';
  return <>
    {around && <><Broken checks={around.checks} />
      <Silent workers={around.workers} /></>}
    {data.length === 0 ? <NoServices caller={caller} /> : <>
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
          <th scope="col" class="number wide">Processes{' '}
            <span class="quiet">{running > 0 &&
              `· ${running} in all`}</span></th>
          <th scope="col" class="wide" aria-sort={order(CPU)}>
            {head(CPU, 'CPU, mean of the last hour')}{' '}
            <span class="quiet">{sum > 0 &&
              `· ${cpus(sum)} in all`}</span></th>
          <th scope="col">Last capture</th>
          <th scope="col"><span class="unseen">Actions</span></th></tr></thead>
        <tbody>{rows.map(s => <Row key={s.name} service={s} caller={caller}
          most={most} lacks={missing(s, around?.told.get(s.name) ?? NOTHING)} />
        )}</tbody>
      </table>
      {rows.length === 0 && <p class="quiet" role="status">No service has
        “{filter}” in its name or description.</p>}
    </>}
  </>;
}

/* Triggers that fired, and types that cannot be profiled. */
function Notes({ name, fired, lacks }: { name: string; fired: Fired[];
  lacks: Missing[] }) {
  return <>
    {fired.map(t => <a key={t.id} class="badge alarm" href={!t.profileId
      ? toSettings(name) : toFirst(t.profileId, t.profileType)}>
      {t.trigger} fired <Time at={t.firedAt} /></a>)}
    {lacks.length > 0 && <a class="badge" href={toSettings(name)}
      title={lacks.map(l => l.why).join('\n')}>without{' '}
      {lacks.map(l => l.type).join(', ')}</a>}
  </>;
}

function Row({ service, lacks, caller, most }: { service: ServiceOverview;
  lacks: Missing[]; caller: Caller; most: number }) {
  const { name, description, processes, hosts, host, fired } = service;
  return <tr>
    <th scope="row"><a href={toService(name)}>{name}</a>
      <Notes name={name} fired={fired} lacks={lacks} />
      <span class="quiet">{description}</span></th>
    <td class="number wide">{processes > 0 ? <>{processes}<span class="quiet">
      {' '}on {hosts === 1 ? host : `${hosts} hosts`}</span></>
      : <span class="quiet" title="No process matches the service now">none
      </span>}</td>
    <td class="wide"><Trend service={service} most={most} /></td>
    <td>{service.lastProfileId ? <Last service={service} />
      : <span class="quiet">never</span>}</td>
    <td class="number">{caller.role !== 'viewer' &&
      <ProfileNow service={name} />}</td>
  </tr>;
}

const Last = ({ service: { lastProfileId: id, lastProfileType: type,
  lastStatus: status, lastError: error, lastStartedAt: at } }:
  { service: ServiceOverview }) =>
  <a href={toFirst(id, type)}>{type}{' '}
    {status === 'completed' && at ? <Time at={at} />
      : status === 'running' ? 'running'
        : error === 'Cancelled' ? 'cancelled' : 'failed'}</a>;

const NAME = 'name', CPU = 'cpu';
const cpus = (ns: number) => `${(ns / 1e9).toFixed(2)} CPUs`;

/* The cost of a service over the last hour. All lines have the same scale. */
function Trend({ service: { cpu, cpuPerSecond }, most }:
  { service: ServiceOverview; most: number }) {
  if (cpuPerSecond === null) return <span class="quiet">none</span>;
  const rates = cpu.map(p => p.rate), known = rates.filter(v => v !== null);
  return <span class="trend" title={`${cpus(known[known.length - 1])} at last`}>
    <Spark rates={rates} most={most}
      label={`CPU of the last hour, at most ${cpus(Math.max(...known))}`} />
    {cpus(cpuPerSecond)}</span>;
}

/* Problems, with the command that fixes each. */
function Broken({ checks }: { checks: Check[] }) {
  const broken = checks.filter(c => c.verdict === 'broken');
  if (broken.length === 0) return null;
  return <div class="failure" role="alert">{broken.map(c =>
    <div key={c.host + c.check}><p><b>{c.host || 'API'}: {c.check}</b>{' '}
      {c.found}</p>{c.fix && <pre>{c.fix}</pre>}</div>)}</div>;
}

const GONE_MS = 7 * 864e5; /* a worker that is silent for longer has been
                              removed */

/* Hosts whose worker does not report: the listed processes may have ended, and
   captures wait for a worker. */
function Silent({ workers }: { workers: Worker[] }) {
  const silent = workers.filter(w => !w.alive &&
    Date.now() - Date.parse(w.heartbeatAt) < GONE_MS);
  if (workers.length > 0 && silent.length === 0) return null;
  return <div class="silent" role="status">
    {workers.length === 0 && <p>No worker runs: nothing can be captured. Start
      stoker-worker on this host.</p>}
    {silent.map(w => <p key={w.host}>The worker of <b>{w.host}</b> is
      silent: its last heartbeat came <Time at={w.heartbeatAt} />. Nothing
      can be captured there.</p>)}
    <pre>systemctl status stoker-worker</pre>
  </div>;
}

/* The form is loaded when opened. */
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
