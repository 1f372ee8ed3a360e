/*
 * What a service is, and what is done with it by itself: its processes,
 * continuous profiling, triggers and baselines.
 */
import { useEffect } from 'preact/hooks';
import { all, ApiError, get, PROFILING, remove } from './api';
import { Make } from './form';
import { toLines } from './lines';
import type { PageProps } from './pages';
import { Ask, Failure, Skeleton, Time } from './parts';
import { toResult, toService } from './result';
import { go, to } from './route';
import { ProfileNow } from './start';
import { useData } from './use';

type Service = Record<string, unknown> & { name: string; kind: string;
  host: string; match: Record<string, unknown>; description: string;
  pprofUrl: string };
type Process = { pid: number; host: string; command: string; seenAt: string };
type Failing = { profileType: string; message: string };
type Continuous = { profileTypes: string[]; sampleRate: number;
  retentionDays: number; enabled: boolean; failing: Failing[];
  unsupported: { profileType: string; missing: string }[] };
type Trigger = { id: string; trigger: string; when: Record<string, unknown>;
  enabled: boolean; lastValue: number; lastValueAt: string | null;
  lastFiredAt: string | null; lastProfileId: string };
type Baseline = { baselineId: string; baselineLabel: string;
  profileType: string; sessionId: string; createdAt: string;
  description: string };

const SERVICES = '/api/v1/services', BASELINES = '/api/v1/profiling/baselines';
const CONTINUOUS = `${PROFILING}/continuous`;
const REFRESH_MS = 5e3;

const none = (e: Error) => {
  if (e instanceof ApiError && e.status === 404) return null;
  throw e;
};

export default function Settings({ args, caller }: PageProps) {
  const { service: name } = args, isAdmin = caller.role === 'admin';
  const at = `${SERVICES}/${encodeURIComponent(name)}`;
  const { data, error, again } = useData('service ' + name,
    signal => get<Service>(at, signal));
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
          made={again} />
        <Ask word="Remove" question={`Remove ${name}?`}
          about="Its profiles, baselines and triggers are removed with it."
          action={() => remove(at).then(() => go(to('/services')))} />
      </div>}
    </nav>
    <dl class="facts">
      <dt>Kind</dt><dd>{data.kind}</dd>
      <dt>Matches</dt><dd class="mono">{toLines(data.match) || 'nothing'}</dd>
      {data.pprofUrl && <><dt>Pages</dt><dd class="mono">{data.pprofUrl}</dd>
      </>}
      {data.host && <><dt>Host</dt><dd>{data.host}</dd></>}
      {data.description && <><dt>About</dt><dd>{data.description}</dd></>}
    </dl>
    {!isPushed && <Processes at={at} />}
    <ContinuousPart name={name} isAdmin={isAdmin} />
    <Triggers at={at} isAdmin={isAdmin} />
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
        : data.length === 0 ? <p class="quiet">None. A worker looks again every
          second; it says here what it finds.</p>
          : <table class="list">
            <thead><tr><th scope="col" class="number">PID</th>
              <th scope="col" class="wide">Host</th>
              <th scope="col">Command</th>
              <th scope="col" class="wide">Found</th></tr></thead>
            <tbody>{data.map(p => <tr key={p.host + p.pid}>
              <td class="number">{p.pid}</td><td class="wide">{p.host}</td>
              <td class="mono">{p.command}</td>
              <td class="wide"><Time at={p.seenAt} /></td></tr>)}</tbody>
          </table>}
  </section>;
}

function ContinuousPart({ name, isAdmin }: { name: string;
  isAdmin: boolean }) {
  const path = `${CONTINUOUS}/${encodeURIComponent(name)}`;
  const { data, error, isLoading, again } = useData('continuous ' + name,
    signal => get<Continuous>(path, signal).catch(none), REFRESH_MS);
  return <section class="part">
    <div class="head"><h2>Continuous profiling</h2>
      {isAdmin && !isLoading && !error && <Make<Continuous>
        word={data?.enabled ? 'Change' : 'Turn on'} isMain={!data?.enabled}
        title={`Profile ${name} continuously`} path={CONTINUOUS}
        values={data ? { ...data } : { profileTypes: ['cpu'] }}
        fixed={{ service: name, enabled: true }} made={again} />}
      {isAdmin && data?.enabled && <Ask word="Turn off"
        question={`Stop profiling ${name} continuously?`}
        about="What was profiled is kept for its days."
        action={() => remove(path).then(again)} />}
    </div>
    {error ? <Failure error={error} again={again} />
      : isLoading ? <Skeleton lines={1} />
        : !data?.enabled ? <p class="quiet">It is off.</p> : <>
          <p>{data.profileTypes.join(', ')}; CPU at {data.sampleRate} samples a
            second; kept for {data.retentionDays} days.</p>
          {data.failing.map(f => <p key={f.profileType} class="bad">
            <b>{f.profileType}:</b> {f.message}</p>)}
          {data.unsupported.map(u => <p key={u.profileType} class="bad">
            <b>{u.profileType}</b> needs {u.missing}.</p>)}
        </>}
  </section>;
}

function Triggers({ at, isAdmin }: { at: string; isAdmin: boolean }) {
  const { data, error, again } = useData('triggers ' + at,
    signal => all<Trigger>(at + '/triggers', signal), REFRESH_MS);
  return <section class="part">
    <div class="head"><h2>Triggers</h2>
      {isAdmin && <Make<Trigger> word="Add a trigger" title="Add a trigger"
        path={at + '/triggers'} operation={SERVICES + '/{name}/triggers'}
        made={again} />}
    </div>
    {error ? <Failure error={error} again={again} />
      : !data ? <Skeleton lines={2} />
        : data.length === 0 ? <p class="quiet">None. A trigger starts a capture
          when a value of the service is too high.</p>
          : <table class="list">
            <thead><tr><th scope="col">Name</th><th scope="col">When</th>
              <th scope="col" class="number wide">Value now</th>
              <th scope="col">Fired</th>
              <th scope="col"><span class="unseen">Actions</span></th></tr>
            </thead>
            <tbody>{data.map(t => <tr key={t.id}>
              <th scope="row">{t.trigger}
                {!t.enabled && <span class="quiet"> (off)</span>}</th>
              <td class="mono">{toLines(t.when)}</td>
              <td class="number wide">{t.lastValueAt
                ? Number(t.lastValue.toPrecision(4)) : ''}</td>
              <td>{!t.lastFiredAt ? <span class="quiet">never</span>
                : t.lastProfileId ? <a href={toResult(t.lastProfileId)}>
                  <Time at={t.lastFiredAt} /></a>
                  : <Time at={t.lastFiredAt} />}</td>
              <td class="number">{isAdmin && <Ask word="Remove"
                question={`Remove the trigger ${t.trigger}?`}
                about="Captures that it started are kept."
                action={() => remove(`${at}/triggers/${t.id}`)
                  .then(again)} />}</td>
            </tr>)}</tbody>
          </table>}
  </section>;
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
        : data.length === 0 ? <p class="quiet">None. The page of a capture has a
          button that makes it one, to hold later ones against.</p>
          : <table class="list">
            <thead><tr><th scope="col">Label</th><th scope="col">Type</th>
              <th scope="col" class="wide">About</th>
              <th scope="col">Made</th>
              <th scope="col"><span class="unseen">Actions</span></th></tr>
            </thead>
            <tbody>{data.map(b => <tr key={b.baselineId}>
              <th scope="row"><a href={toResult(b.sessionId)}>
                {b.baselineLabel}</a></th>
              <td>{b.profileType}</td><td class="wide">{b.description}</td>
              <td><Time at={b.createdAt} /></td>
              <td class="number">{mayRemove && <Ask word="Remove"
                question={`Remove the baseline ${b.baselineLabel}?`}
                about="The capture that it is made of stays."
                action={() => remove(`${BASELINES}/${b.baselineId}`)
                  .then(again)} />}</td>
            </tr>)}</tbody>
          </table>}
  </section>;
}
