/* Stoker's own requirements and contents: workers, their checks, the quota. */
import { useEffect } from 'preact/hooks';
import { percent, quantity } from '../flame/text.js';
import { all } from './api';
import { Failure, Head, Skeleton, Time } from './parts';
import type { Check, Quota, Worker as Reply } from './replies';
import { useData } from './use';

type Worker = Reply & { capabilities: { profileTypes?: string[];
  continuous?: { watched: number; stored: number; dropped: number;
    gaps: number };
  cost?: { cpuSeconds: number; residentBytes: number } } };

const REFRESH_MS = 10e3;

async function load(signal: AbortSignal) {
  const [workers, checks, quotas] = await Promise.all([
    all<Worker>('/api/v1/workers', signal),
    all<Check>('/api/v1/checks', signal),
    all<Quota>('/api/v1/quota', signal)]);
  return { workers, checks, quotas };
}

export default function System() {
  const { data, error, again } = useData('system', load, REFRESH_MS);
  useEffect(() => { document.title = 'System · Stoker'; }, []);
  if (!data) return error ? <Failure error={error} again={again} />
    : <Skeleton />;
  return <>
    <Head title="System" />
    {error && <Failure error={error} />}
    <Workers workers={data.workers} />
    <Fleet hosts={data.workers.filter(w => w.joined)} />
    <Checks checks={data.checks} />
    <Quotas quotas={data.quotas} />
  </>;
}

/* The share of one CPU that a worker has used since its start. */
function cpuOf({ startedAt, heartbeatAt }: Omit<Worker, 'capabilities'>,
  seconds?: number) {
  const lived = (Date.parse(heartbeatAt) - Date.parse(startedAt)) / 1000;
  return seconds === undefined || lived <= 0 ? ''
    : percent(seconds, lived);
}

function Workers({ workers }: { workers: Worker[] }) {
  return <section class="part">
    <h2>Workers</h2>
    <table class="list">
      <thead><tr><th scope="col">Host</th><th scope="col">Heartbeat</th>
        <th scope="col" class="wide">Version</th>
        <th scope="col" class="wide">Can capture</th>
        <th scope="col" class="number wide">CPU</th>
        <th scope="col" class="number wide">Memory</th>
        <th scope="col" class="number">Windows stored</th>
        <th scope="col" class="number">Dropped</th></tr></thead>
      <tbody>{workers.map(({ capabilities: c, ...w }) => <tr key={w.host}>
        <th scope="row">{w.host}</th>
        <td>{!w.alive && <b class="bad">silent since </b>}
          <Time at={w.heartbeatAt} /></td>
        <td class="wide found">{w.version}</td>
        <td class="wide">{c.profileTypes?.join(', ')}</td>
        <td class="number wide">{cpuOf(w, c.cost?.cpuSeconds)}</td>
        <td class="number wide">{c.cost
          ? quantity(c.cost.residentBytes, 'bytes') : ''}</td>
        <td class="number">{c.continuous?.stored ?? 0}</td>
        <td class="number">{c.continuous?.dropped ?? 0}</td>
      </tr>)}</tbody>
    </table>
    {workers.length === 0 && <p class="quiet">No worker has reported yet. Start stoker-worker on this host.</p>}
  </section>;
}

function Arrived({ host, level, wide }: { host: Worker; level: string;
  wide?: boolean }) {
  const found = host.arrived.find(a => a.level === level);
  return <td class={wide ? 'wide' : ''}>{found &&
    <Time at={found.until} />}</td>;
}

/* A wrong clock gives profiles wrong times. */
function Clock({ seconds }: { seconds: number | null }) {
  return <td>{seconds !== null && <b class="bad">
    {Math.abs(seconds).toFixed(1)} s {seconds < 0 ? 'behind' : 'ahead'}
  </b>}</td>;
}

/* Hosts that send their profiles: the age of the newest data, and how much waits
   to be sent. */
function Fleet({ hosts }: { hosts: Worker[] }) {
  if (hosts.length === 0) return null;
  return <section class="part">
    <h2>Hosts that joined</h2>
    <table class="list">
      <thead><tr><th scope="col">Host</th>
        <th scope="col">Minutes until</th>
        <th scope="col" class="wide">Hours until</th>
        <th scope="col" class="wide">Days until</th>
        <th scope="col" class="number">Waits there</th>
        <th scope="col" class="wide">Oldest of it</th>
        <th scope="col" class="number wide">Results</th>
        <th scope="col">Clock</th></tr></thead>
      <tbody>{hosts.map(h => <tr key={h.host}>
        <th scope="row">{h.host}</th>
        <Arrived host={h} level="minute" />
        <Arrived host={h} level="hour" wide />
        <Arrived host={h} level="day" wide />
        <td class="number">{h.waitingBytes !== null
          && quantity(h.waitingBytes, 'bytes')}</td>
        <td class="wide">{h.waitingSince && <Time at={h.waitingSince} />}</td>
        <td class="number wide">{h.waitingResults}</td>
        <Clock seconds={h.clockOffsetSeconds} />
      </tr>)}</tbody>
    </table>
  </section>;
}

/* Checks that failed come first. */
const byVerdict = (a: Check, b: Check) =>
  Number(a.verdict === 'ok') - Number(b.verdict === 'ok');

function Checks({ checks }: { checks: Check[] }) {
  return <section class="part">
    <h2>Checks</h2>
    <table class="list checks">
      <thead><tr><th scope="col">Check</th><th scope="col">Verdict</th>
        <th scope="col">Found</th></tr></thead>
      <tbody>{[...checks].sort(byVerdict).map(c => <tr key={`${c.host} ${c.part} ${c.check}`}>
        <th scope="row">{c.check}<span class="quiet">{c.part}{' '}
          {c.host}</span></th>
        <td class={c.verdict === 'ok' ? '' : 'bad'}>{c.verdict === 'ok' ? 'ok'
          : <b>{c.verdict}</b>}</td>
        <td class="found">{c.found}{c.fix && <pre tabIndex={0}>{c.fix}</pre>}</td>
      </tr>)}</tbody>
    </table>
  </section>;
}

const amount = ({ quota }: Quota, n: number) =>
  quantity(n, quota.endsWith('bytes') ? 'bytes' : '');

function Quotas({ quotas }: { quotas: Quota[] }) {
  return <section class="part">
    <h2>Quota of the tenant</h2>
    <table class="list">
      <thead><tr><th scope="col">What is limited</th>
        <th scope="col" class="number">Held</th>
        <th scope="col" class="number">Limit</th>
        <th scope="col" class="wide">To free some</th></tr></thead>
      <tbody>{quotas.map(q => <tr key={q.quota}>
        <th scope="row">{q.quota.replaceAll('_', ' ')}
          <span class="quiet">{q.counts}</span></th>
        <td class="number">{amount(q, q.held)}</td>
        <td class="number">{q.limit === null
          ? <span class="quiet">none</span> : amount(q, q.limit)}</td>
        <td class="wide">{q.freedBy}</td>
      </tr>)}</tbody>
    </table>
  </section>;
}
