/*
 * One capture: its progress, and then its flame graph or another view. All
 * views share the line at the top, and wait for the capture to end.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { local } from '../flame/text.js';
import { all, get, post, PROFILING, remove, type Caller } from './api';
import { toCompare } from './compare';
import type { Make } from './form';
import type { PageProps } from './pages';
import { hasThreads, Threads } from './groups';
import { Ask, Failure, sentence, Share, Skeleton, Time, usePop }
  from './parts';
import { getColumns, Profile } from './profile';
import type { Baseline } from './replies';
import { isSession, lengthOf, partOf, resultPath, toResult, toService,
  toSettings, type Result } from './result';
import { go, to } from './route';
import { ProfileNow } from './start';
import { useData } from './use';

const POLL_MS = 700;
const PHASES = ['queued', 'capturing', 'symbolizing', 'storing', 'done'];

/* The views of a capture: the end of the path, and the captures that have the
 * view. */
type View = '' | 'threads' | 'heat';
const VIEWS: { at: View; word: string; has: (r: Result) => boolean }[] = [
  { at: 'threads', word: 'Stacks', has: r => r.profileType === 'goroutine' },
  { at: '', word: 'Flame graph', has: () => true },
  { at: 'heat', word: 'Heat map', has: hasThreads },
];

export default function Capture({ args: { id }, caller }: PageProps) {
  return <Captured id={id} caller={caller} at="">{result =>
    <Picture result={result} caller={caller} />}</Captured>;
}

/* compare: the address of the comparison with another profile of the same
 * type. */
export function Captured({ id, caller, at, compare, children }: { id: string;
  caller: Caller; at: View; compare?: (base: string) => string;
  children: (result: Result) => ComponentChildren }) {
  const [every, setEvery] = useState(POLL_MS), path = resultPath(id);
  const { data, error, again } = useData(path,
    signal => get<Result>(path, signal), every);
  const isRunning = data?.status === 'running';
  useEffect(() => {
    setEvery(isRunning ? POLL_MS : 0);
  }, [isRunning]);
  useEffect(() => {
    document.title = data ? `${data.service} ${data.profileType} · Stoker`
      : 'Profile · Stoker';
  }, [data?.id]);
  if (!data) return error ? <Failure error={error} again={again} />
    : <Skeleton />;
  return <>
    <Line result={data} caller={caller} again={again} at={at}
      compare={compare ?? (base => toCompare(base, id, {
        service: data.service, type: data.profileType }))} />
    {error && <Failure error={error} />}
    {isRunning ? <Progress result={data} stop={caller.role === 'viewer'
      ? undefined : () => remove(path).then(again, again)} />
      : children(data)}
  </>;
}

const OTHERS = 30;

/* Baselines and captures of the same service and type, to compare this one
 * with. */
function Against({ result: { id, service, profileType: type, host }, compare }:
  { result: Result; compare: (base: string) => string }) {
  const q = new URLSearchParams({ service, profileType: type,
    status: 'completed', resolution: 'none', limit: String(OTHERS) });
  const { data } = useData('others ' + q, signal =>
    get<{ items: Result[] }>(`${PROFILING}/history?${q}`, signal));
  const of = new URLSearchParams({ service, profileType: type });
  const baselines = useData('baselines ' + of, signal => all<Baseline>(
    `/api/v1/profiling/baselines?${of}`, signal)).data?.filter(b =>
    b.sessionId !== id) ?? [];
  const others = data?.items.filter(r => r.id !== id) ?? [];
  if (others.length + baselines.length === 0) return null;
  return <select value="" aria-label="Compare with" onChange={e =>
    go(compare(e.currentTarget.value))}>
    <option value="" disabled>Compare with…</option>
    {baselines.length > 0 && <optgroup label="Baselines">
      {baselines.map(b => <option key={b.baselineId} value={b.sessionId}>
        {b.baselineLabel}</option>)}</optgroup>}
    <optgroup label="Captures">{others.map(r =>
      <option key={r.id} value={r.id}>{local(r.startedAt)
      }{r.durationSeconds > 0 && `, ${r.durationSeconds} s`
      }{r.host !== host && r.host && `, ${r.host}`}</option>)}
    </optgroup>
  </select>;
}

/* A part is a range of the whole capture, and has no separate heat map. */
function viewOf(id: string, at: View) {
  const part = at === 'heat' && partOf(id);
  return !part ? toResult(id) + (at && '/' + at)
    : `${toResult(part.whole)}/heat?sel=${part.from}-${part.to}${
      part.tid ? '&tid=' + part.tid : ''}`;
}

/* Links to the views of the capture, and the actions on it. */
function Line({ result, caller, again, at, compare }: { result: Result;
  caller: Caller; again: () => void; at: View;
  compare: (base: string) => string }) {
  const { id, service, profileType: type, pinned, status, host } = result;
  const [error, setError] = useState<Error>();
  const path = resultPath(id), part = partOf(id);
  const mayStart = caller.role !== 'viewer', mayChange = mayStart && !part;
  const views = status === 'completed' ? VIEWS.filter(v => v.has(result)) : [];
  const pin = () => (pinned ? remove(path + '/pin') : post(path + '/pin'))
    .then(again, setError);
  return <nav class="line" aria-label="Capture">
    <ol class="crumbs">
      <li><a href={to('/services')}>Services</a></li>
      <li><a href={toService(service, { type })}>{service}</a></li>
      {part ? <>
        <li><a href={toResult(part.whole)}>{type}</a></li>
        <li aria-current="page">{lengthOf(part.from)} to {lengthOf(part.to)}
          {part.tid && `, thread ${part.tid}`}</li></>
        : <li aria-current="page"><span>{type},{' '}
          <Time at={result.startedAt} />{host && ` on ${host}`}</span></li>}
    </ol>
    {error && <span class="bad" role="alert">{sentence(error.message)}</span>}
    {views.length > 1 && <div class="views">{views.map(v => <a key={v.at}
      href={viewOf(id, v.at)}
      aria-current={v.at === at ? 'page' : undefined}>{v.word}</a>)}</div>}
    {status !== 'running' && <div class="buttons">
      {hasThreads(result) && !part && <ByThread id={id} />}
      {status === 'completed' && <Against result={result}
        compare={compare} />}
      {mayStart && <ProfileNow service={service} type={type}
        rate={type === 'cpu' && isSession(id) ? result.sampleRate
          : undefined} />}
      {status === 'completed' && <Share find={() =>
        Promise.resolve(result.flameGraphUrl)} />}
      {mayChange && status === 'completed' && isSession(id) &&
        result.sampleCount > 0 && <MakeBaseline
        result={result} />}
      {mayChange && status === 'completed' && <button type="button"
        aria-pressed={pinned} onClick={pin}
        title="Keep it, however old it gets">Pin</button>}
      {mayChange && isSession(id) && <Ask word="Delete" question="Delete this profile?"
        about="Its flame graph and all links to it stop working."
        action={() => remove(path).then(() => go(toService(service,
          { type })))} />}
    </div>}
  </nav>;
}

function ByThread({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false), at = usePop();
  return <details class="pop" ref={at} onToggle={e =>
    setOpen(e.currentTarget.open)}>
    <summary>Threads</summary>
    <div>{isOpen && <Threads id={id} />}</div>
  </details>;
}

/* The form is loaded when opened. */
function MakeBaseline({ result: { id, profileType, service } }:
  { result: Result }) {
  const [Form, set] = useState<typeof Make>();
  useEffect(() => { import('./form').then(m => set(() => m.Make)); }, []);
  return Form ? <Form word="Make a baseline" title="Make it a baseline"
    isMain={false} path="/api/v1/profiling/baselines"
    fixed={{ sessionId: id, profileType, topFunctions: [] }}
    made={() => go(toSettings(service))} /> : null;
}

function Progress({ result, stop }:
  { result: Result; stop?: () => void }) {
  const { phase, progress, service, profileType: type } = result;
  const at = PHASES.indexOf(phase);
  return <section class="progress" aria-label="Progress">
    <h1>{service} <span class="type">{type}</span></h1>
    <progress value={progress} max={1} aria-label="Part that is done" />
    <ol>{PHASES.slice(0, -1).map((p, i) => <li key={p}
      class={i < at ? 'past' : i === at ? 'now' : ''}>{p}</li>)}</ol>
    <p class="unseen" role="status">{sentence(phase)}</p>
    <p>{phase === 'queued' ? 'Waiting for the worker of its host.'
      : `${Math.floor(progress * 100)} % done. ${type === 'goroutine' ? 'The stacks open'
        : 'The flame graph opens'} here at the end.`}
    </p>
    {stop && <button type="button" onClick={stop}>Cancel</button>}
  </section>;
}

function Picture({ result, caller }: { result: Result; caller: Caller }) {
  const address = resultPath(result.id) + '/flamegraph';
  const isThere = result.status === 'completed' || result.sampleCount > 0;
  const { data, error, again } = useData(isThere ? address : '', signal =>
    isThere ? getColumns(address, signal)
      : Promise.resolve(undefined));
  return <>
    {result.status === 'failed' && <Failed result={result} caller={caller} />}
    {!isThere ? null : data ? <Profile doc={data} address={address} />
      : error ? <Failure error={error} again={again} /> : <Skeleton />}
  </>;
}

export function Failed({ result, caller }: { result: Result; caller: Caller }) {
  if (result.phase === 'cancelled')
    return <p class="note" role="status">This capture was cancelled
      {result.sampleCount > 0 && '; what it had collected is below'}.</p>;
  return <div class="failure" role="alert">
    <p><b>This capture failed</b></p>
    {result.error.message && <p>{sentence(result.error.message)}</p>}
    <p><a href={toSettings(result.service)}>See what the service
      matches</a></p>
    {caller.role !== 'viewer' && <ProfileNow service={result.service}
      type={result.profileType} />}
  </div>;
}
