/*
 * The settings of a service: its processes, continuous profiling, triggers and
 * baselines.
 */
import { useEffect, useState } from 'preact/hooks';
import { counted, quantity, visible } from '../flame/text.js';
import { all, get, PROFILING, remove, serverNow } from './api';
import { toCompare } from './compare';
import { Make, titleOf } from './form';
import { toLines } from './lines';
import type { PageProps } from './pages';
import { Ask, Failure, sentence, Skeleton, Time } from './parts';
import type { Baseline, ContinuousProfile, MergedProfile, Process, Service,
  Trigger as Reply, UnsupportedNow } from './replies';
import { latest, toFirst, toResult, toService, verdictOf, whyNot, type Result }
  from './result';
import { go, to } from './route';
import { fields, ProfileNow, types } from './start';
import { useData, type Loaded } from './use';

type Condition = { function?: string; percent?: number; bytes?: number;
  ratio?: number };

type Trigger = Reply & { when: Record<string, Condition> };

const SERVICES = '/api/v1/services', BASELINES = '/api/v1/profiling/baselines';
const CONTINUOUS = `${PROFILING}/continuous`;
const REFRESH_MS = 5e3;

export default function Settings({ args, caller }: PageProps) {
  const { service: name } = args, isAdmin = caller.role === 'admin';
  const at = `${SERVICES}/${encodeURIComponent(name)}`;
  const { data, error, again } = useData('service ' + name,
    signal => get<Service>(at, signal));
  const continuous = useData('continuous ' + name, async signal =>
    (await all<ContinuousProfile>(CONTINUOUS, signal))
      .find(c => c.service === name), REFRESH_MS);
  useEffect(() => { document.title = `${name}, settings · Stoker`; }, [name]);
  if (!data) return error ? <Failure error={error} again={again} />
    : <Skeleton />;
  const isPushed = Object.keys(data.match).length === 0 && !data.pprofUrl;
  return <>
    <nav class="line" aria-label="Service"><ol class="crumbs">
      <li><a href={to('/services')}>Services</a></li>
      <li><a href={toService(name)}>{name}</a></li>
      <li aria-current="page">Settings</li></ol>
      {isAdmin && <div class="buttons">
        <ProfileNow service={name} />
        <Make<Service> word="Edit" isMain={false} title={`Edit ${name}`} path={at}
          operation={SERVICES + '/{name}'} method="put" values={data}
          main={['match', 'description']} made={again} />
        <Ask word="Remove" question={`Remove ${name}?`}
          about="Its profiles, baselines and triggers are removed with it."
          action={() => remove(at).then(() => go(to('/services')))} />
      </div>}
    </nav>
    <dl class="facts">
      <dt>Kind</dt><dd>{data.kind}</dd>
      <dt>Matches</dt><dd class="mono">{toLines(data.match) || 'nothing'}</dd>
      {data.sourceLink && <><dt>Source</dt><dd class="mono">
        {data.sourceLink}</dd></>}
      {data.traceLink && <><dt>Traces</dt><dd class="mono">
        {data.traceLink}</dd></>}
      {data.pprofUrl && <><dt>Pages</dt><dd class="mono">{data.pprofUrl}</dd>
      </>}
      {data.collector && <><dt>Collector</dt><dd class="mono">{data.collector}
      </dd></>}
      {data.metrics.length > 0 && <><dt>Metrics</dt><dd class="mono">
        {data.metrics.join('; ')}</dd></>}
      {data.collectorProblems.map(p => <><dt>Not sent</dt><dd class="bad">
        {p.host}: {p.message}, since <Time at={p.since} /></dd></>)}
      {data.host && <><dt>Host</dt><dd>{data.host}</dd></>}
      {data.description && <><dt>About</dt><dd>{data.description}</dd></>}
    </dl>
    {!isPushed && <Processes at={at} />}
    <ContinuousPart name={name} isAdmin={isAdmin} loaded={continuous} />
    {!isPushed && <Types name={name} lacks={data.unsupported}
      continuous={continuous.data} mayStart={caller.role !== 'viewer'} />}
    <Triggers name={name} at={at} isAdmin={isAdmin} />
    <Baselines name={name} mayRemove={caller.role !== 'viewer'} />
  </>;
}

function Processes({ at }: { at: string }) {
  const { data, error, again } = useData('processes ' + at,
    signal => all<Process>(at + '/processes', signal), REFRESH_MS);
  return <section class="part">
    <div class="head"><h2>Processes that match now</h2></div>
    {error ? <Failure error={error} again={again} />
      : !data ? <Skeleton lines={2} />
        : data.length === 0 ? <p class="quiet">None. Workers look for them every
          second.</p>
          : <table class="list">
            <thead><tr><th scope="col" class="number">PID</th>
              <th scope="col" class="wide">Host</th>
              <th scope="col">Command</th>
              <th scope="col" class="wide">Found</th></tr></thead>
            <tbody>{data.map(p => <tr key={p.host + p.pid}>
              <td class="number">{p.pid}</td><td class="wide">{p.host}</td>
              <td class="mono">{visible(p.command)}</td>
              <td class="wide"><Time at={p.seenAt} /></td></tr>)}</tbody>
          </table>}
  </section>;
}

/* The newest capture of each type that the service may have, or has: from its
   newest captures of all types or, if there are more, from a request for the
   type. */
async function newest(name: string, signal: AbortSignal) {
  const captured = (await fields()).profileType.enum!;
  const { items, nextCursor } = await get<{ items: Result[];
    nextCursor: string | null }>(`${PROFILING}/history?${new URLSearchParams({
    service: name, limit: '100', resolution: 'none' })}`, signal);
  const found = await Promise.all((await types()).map(async type => {
    const last = items.find(r => r.profileType === type) ??
      (nextCursor ? await latest(name, signal, type) : undefined);
    return { type, last, isCaptured: captured.includes(type) };
  }));
  return found.filter(t => t.isCaptured || t.last);
}

/* Shows that the type is profiled all the time. */
function Always({ type, of }: { type: string; of?: ContinuousProfile }) {
  if (!of?.enabled || !of.profileTypes.includes(type)) return null;
  const isBroken = [...of.unsupported, ...of.failing].some(u =>
    u.profileType === type);
  return isBroken ? <span class="bad">cannot be</span>
    : <a href={toService(of.service, { type })}>yes</a>;
}

/* The types of the service: those of its captures or, if there are none yet,
   the expected ones. */
function Types({ name, lacks, continuous, mayStart }: { name: string;
  lacks: UnsupportedNow[]; continuous?: ContinuousProfile;
  mayStart: boolean }) {
  const { data, error, again } = useData('types ' + name, signal =>
    newest(name, signal), REFRESH_MS);
  return <section class="part">
    <div class="head"><h2>Types of profiles</h2></div>
    {error ? <Failure error={error} again={again} />
      : !data ? <Skeleton lines={4} /> : <table class="list">
        <thead><tr><th scope="col">Type</th>
          <th scope="col" class="wide">All the time</th>
          <th scope="col">Last capture</th>
          <th scope="col" class="wide">Result</th>
          <th scope="col"><span class="unseen">Actions</span></th></tr></thead>
        <tbody>{data.map(({ type, last, isCaptured }) => <tr key={type}>
          <th scope="row"><a href={toService(name, { type })}>{type}</a></th>
          <td class="wide"><Always type={type} of={continuous} /></td>
          <td>{last ? <a href={toFirst(last.id, type)}><Time
            at={last.startedAt} /></a> : <span class="quiet">never</span>}</td>
          <td class={last?.status === 'failed' && last.phase !== 'cancelled'
            ? 'bad wide' : 'wide'}>
            {last ? (last.status === 'failed'
              ? sentence(last.error.message || last.phase)
              : last.status === 'running' ? last.phase
                : last.sampleCount === 0 ? verdictOf(last)
                  : `${last.sampleCount.toLocaleString('en')} ${
                    counted(type).toLowerCase()}`)
              : <Lacking lack={lacks.find(l => l.profileType === type)} />}</td>
          <td class="number">{mayStart && isCaptured && <ProfileNow
            service={name}
            type={type} />}</td>
        </tr>)}</tbody></table>}
  </section>;
}

function Lacking({ lack }: { lack?: UnsupportedNow }) {
  return lack ? <span class="quiet">{lack.certain ? 'Not now'
    : 'Perhaps not'}: {lack.reason}</span> : null;
}

/* "cpu at 19 samples per second, alloc" */
const profiled = ({ profileTypes, sampleRate }: ContinuousProfile) =>
  profileTypes.map(type => type === 'cpu'
    ? `cpu at ${sampleRate} samples per second` : type).join(', ');

function ContinuousPart({ name, isAdmin, loaded }: { name: string;
  isAdmin: boolean; loaded: Loaded<ContinuousProfile | undefined> }) {
  const { data, error, isLoading, again } = loaded;
  return <section class="part">
    <div class="head"><h2>Continuous profiling</h2>
      {isAdmin && !isLoading && !error && <Make<ContinuousProfile>
        word={data?.enabled ? 'Change' : 'Turn on'} isMain={!data?.enabled}
        title={`Profile ${name} continuously`} path={CONTINUOUS}
        values={data ? { ...data } : { profileTypes: ['cpu'] }}
        fixed={{ service: name, enabled: true }} made={again} />}
      {isAdmin && data?.enabled && <Ask word="Turn off"
        question={`Stop profiling ${name} continuously?`}
        about="Existing profiles are kept until their retention ends."
        action={() => remove(`${CONTINUOUS}/${encodeURIComponent(name)}`)
          .then(again)} />}
    </div>
    {error ? <Failure error={error} again={again} />
      : isLoading ? <Skeleton lines={1} />
        : !data?.enabled ? <p class="quiet">It is off.</p> : <>
          <p>On for {profiled(data)}; profiles are kept for{' '}
            {data.retentionDays} days.</p>
          {data.failing.map(f => <p key={f.profileType} class="bad">
            <b>{f.profileType}:</b> {whyNot(f)}</p>)}
          {data.unsupported.map(u => <p key={u.profileType} class="bad">
            <b>{u.profileType}</b> needs {u.missing}.</p>)}
        </>}
  </section>;
}

/* The value of a condition, with its unit. */
const amount = (of: Condition, v: number) => of.bytes !== undefined
  ? quantity(v, 'bytes') : Number(v.toPrecision(4)).toLocaleString('en') +
    (of.percent !== undefined ? ' %' : ' times');

/* "RSS ≥ 1.00 GiB"; a kind of a later release has no condition. */
function told(when: Record<string, Condition>) {
  const [[kind, of] = ['', {}]] = Object.entries(when);
  const least = of.bytes ?? of.percent ?? of.ratio;
  return titleOf(kind) + (of.function ? ` of ${of.function}` : '') +
    (least === undefined ? '' : ` ≥ ${amount(of, least)}`);
}

const TRIGGER_FIELDS = ['trigger', 'when', 'capture'];

/* The functions in which the service spent most of the last hour. */
const functionsOf = async (service: string) => (await get<MergedProfile>(
  `${PROFILING}/merge?${new URLSearchParams({ service, profileType: 'cpu',
    top: '200', optional: 'true' })}`)).topFunctions.map(f => f.funcName);

function Triggers({ name, at, isAdmin }: { name: string; at: string;
  isAdmin: boolean }) {
  const known = { function: () => functionsOf(name) };
  const { data, error, again } = useData('triggers ' + at,
    signal => all<Trigger>(at + '/triggers', signal), REFRESH_MS);
  return <section class="part">
    <div class="head"><h2>Triggers</h2>
      {isAdmin && <Make<Trigger> word="Add a trigger" title="Add a trigger"
        path={at + '/triggers'} operation={SERVICES + '/{name}/triggers'}
        main={TRIGGER_FIELDS} known={known} made={again} />}
    </div>
    {error ? <Failure error={error} again={again} />
      : !data ? <Skeleton lines={2} />
        : data.length === 0 ? <p class="quiet">None. A trigger starts a capture
          when a value of the service is too high, or a function costs more or
          less.</p>
          : <table class="list">
            <thead><tr><th scope="col">Name</th><th scope="col">When</th>
              <th scope="col" class="number wide">Value now</th>
              <th scope="col">Fired</th>
              <th scope="col"><span class="unseen">Actions</span></th></tr>
            </thead>
            <tbody>{data.map(t => <tr key={t.id}>
              <th scope="row">{t.trigger}
                {!t.enabled && <span class="quiet"> (off)</span>}</th>
              <td>{told(t.when)}</td>
              <td class="number wide">{t.lastValueAt ? amount(
                Object.values(t.when)[0] ?? {}, t.lastValue) : ''}</td>
              <td>{!t.lastFiredAt ? <span class="quiet">never</span>
                : t.lastProfileId ? <a href={toFirst(t.lastProfileId,
                  t.capture.profileType)}>
                  <Time at={t.lastFiredAt} /></a>
                  : <Time at={t.lastFiredAt} />}</td>
              <td class="number">{isAdmin && <>
                <Make<Trigger> word="Edit" isMain={false}
                  title={`Edit the trigger ${t.trigger}`} values={t}
                  path={`${at}/triggers/${t.id}`} method="put"
                  operation={SERVICES + '/{name}/triggers/{triggerId}'}
                  main={TRIGGER_FIELDS} known={known} made={again} />{' '}
                <Ask word="Remove" question={`Remove the trigger ${t.trigger}?`}
                  about="Captures that it started are kept."
                  action={() => remove(`${at}/triggers/${t.id}`)
                    .then(again)} /></>}</td>
            </tr>)}</tbody>
          </table>}
  </section>;
}

const CHECKED_MS = 6e5;

/* Compares the newest capture of the type, or the latest windows of continuous
   profiling, with a baseline. */
function Check({ name, of }: { name: string; of: Baseline }) {
  const [error, setError] = useState<Error>();
  const check = async () => {
    const q = new URLSearchParams({ service: name, limit: '1',
      profileType: of.profileType, status: 'completed', resolution: 'none' });
    const { items: [last] } = await get<{ items: Result[] }>(
      `${PROFILING}/history?${q}`);
    if (!last || last.id === of.sessionId) throw new Error(
      'there is no later capture: profile it first');
    go(toCompare(of.sessionId, last.id, { service: name,
      type: of.profileType, baseline: of.baselineId }));
  };
  const now = serverNow();
  return <>{error && <span class="bad" role="alert">{sentence(error.message)}
    </span>}{' '}
    <button type="button" onClick={() => check().catch(setError)}>
      Check the newest capture</button>{' '}
    <a class="button" href={toCompare(of.sessionId,
      `${now - CHECKED_MS}..${now}`, { service: name, type: of.profileType,
        baseline: of.baselineId })}>Check the last 10 minutes</a>{' '}</>;
}

function Baselines({ name, mayRemove }: { name: string;
  mayRemove: boolean }) {
  const q = new URLSearchParams({ service: name });
  const { data, error, again } = useData('baselines ' + name,
    signal => all<Baseline>(`${BASELINES}?${q}`, signal), REFRESH_MS);
  return <section class="part">
    <div class="head"><h2>Baselines</h2></div>
    {error ? <Failure error={error} again={again} />
      : !data ? <Skeleton lines={2} />
        : data.length === 0 ? <p class="quiet">None. Open a capture and choose
          “Make a baseline” to compare later ones with it.</p>
          : <table class="list">
            <thead><tr><th scope="col">Label</th><th scope="col">Type</th>
              <th scope="col" class="wide">About</th>
              <th scope="col" class="wide">Created</th>
              <th scope="col"><span class="unseen">Actions</span></th></tr>
            </thead>
            <tbody>{data.map(b => <tr key={b.baselineId}>
              <th scope="row"><a href={toResult(b.sessionId)}>
                {b.baselineLabel}</a></th>
              <td>{b.profileType}</td><td class="wide">{b.description}</td>
              <td class="wide"><Time at={b.createdAt} /></td>
              <td class="number actions"><Check name={name} of={b} />
                {mayRemove && <Ask word="Remove"
                question={`Remove the baseline ${b.baselineLabel}?`}
                about="Its capture is kept."
                action={() => remove(`${BASELINES}/${b.baselineId}`)
                  .then(again)} />}</td>
            </tr>)}</tbody>
          </table>}
    {data && data.length > 0 && <p class="quiet">A build pipeline checks by
      itself: <code>stoker check --baseline {data[0].baselineLabel} --session
      @last</code> exits with 1 if it costs more; <code>--service {name} --from
      10m</code> in place of the session checks the last 10 minutes.</p>}
  </section>;
}
