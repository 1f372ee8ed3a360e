/*
 * Profile now: a form with the fields of StartProfile. Names, limits and
 * defaults come from the server's own description.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { all, ApiError, get, post, PROFILING } from './api';
import { toLines } from './lines';
import { Failure, sentence, Skeleton } from './parts';
import { toFirst, toResult, toService, toSettings, type Result } from './result';
import { go } from './route';
import type { Service, UnsupportedNow } from './replies';
import { useData } from './use';

type Field = { enum?: string[]; minimum?: number; maximum?: number;
  default?: number };
type Fields = Record<'profileType' | 'durationSeconds' | 'sampleRate', Field>;
type Described = { paths: Record<string, {
  post: { requestBody: { content:
    Record<string, { schema: { properties: Fields } }> } };
  get: { parameters: { name: string; schema: Field }[] } }> };

let described: Promise<Described> | undefined;
const describe = () => described ??= get<Described>('/openapi.json')
  .catch(e => {
    described = undefined;
    throw e;
  });

export const fields = () => describe().then(doc =>
  doc.paths[`${PROFILING}/start`].post.requestBody
    .content['application/json'].schema.properties);

/* All types; fields() has only those that can be captured. */
export const types = () => describe().then(doc =>
  doc.paths[`${PROFILING}/history`].get.parameters
    .find(p => p.name === 'profileType')!.schema.enum!);

const SECONDS = 10, LOOK_MS = 5e3;
/* The value that means every host of the service, and the most hosts that a
   request may name. */
const EVERYWHERE = '*', MOST_HOSTS = 50;

/* True if profiles come from pages of the program rather than from
   processes. */
const hasPagesOnly = ({ source, match, pprofUrl }: Service) =>
  source === 'endpoint' || source === 'auto' && pprofUrl !== '' &&
    Object.keys(match).length === 0;

/* Finds the processes that a capture would profile now, and what it would
 * lack. */
async function foresee(service: string, signal: AbortSignal) {
  const at = `/api/v1/services/${encodeURIComponent(service)}`;
  const [of, processes] = await Promise.all([
    get<Service>(at, signal),
    all<{ host: string }>(at + '/processes', signal)]);
  const hosts = [...new Set(processes.map(p => p.host))].sort();
  /* the processes of a newly added service may not be known yet */
  const { lookedAt } = processes.length > 0 ? { lookedAt: '' }
    : await get<{ lookedAt: string | null }>(at + '/processes?limit=1', signal);
  return { match: toLines(of.match), lacks: of.unsupported, hosts,
    isIdle: processes.length === 0 && lookedAt !== null &&
      !hasPagesOnly(of) };
}

/* Warns before a capture starts that it would fail, and shows what to do. */
function Foreseen({ service, match, isIdle, lack, leave }: { service: string;
  match: string; isIdle: boolean; lack?: UnsupportedNow; leave: () => void }) {
  return <div class="foreseen" role="status">
    {isIdle && <p class="bad">No process matches{' '}
      {match ? <code>{match}</code> : 'the service'} now, and a capture would be
      refused. Start the program, or <a href={toSettings(service)}
        onClick={leave}>edit the match</a>.</p>}
    {lack && <><p class="bad">{sentence(lack.reason)}</p>
      {lack.fix && <pre>{lack.fix}</pre>}</>}
  </div>;
}

export function ProfileNow({ service, type = 'cpu', rate }:
  { service: string; type?: string; rate?: number }) {
  const [isOpen, setOpen] = useState(false);
  return <>
    <button type="button" onClick={() => setOpen(true)}
      aria-label={`Profile now: ${service}`}>Profile now</button>
    {isOpen && <Form service={service} type={type} rate={rate}
      close={() => setOpen(false)} />}
  </>;
}

function Form({ service, type, rate, close }: { service: string; type: string;
  rate?: number; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { data, error, again } = useData('fields', fields);
  useEffect(() => dialog.current!.showModal(), []);
  return <dialog class="form" ref={dialog} onClose={close}
    aria-labelledby="start-title">
    <h2 id="start-title">Profile {service}</h2>
    {data ? <Inputs fields={data} service={service} type={type} rate={rate}
      cancel={() => dialog.current!.close()} />
      : error ? <Failure error={error} again={again} />
        : <Skeleton lines={3} />}
  </dialog>;
}

function Inputs({ fields, service, type: first, rate: firstRate, cancel }:
  { fields: Fields; service: string; type: string; rate?: number;
    cancel: () => void }) {
  const [type, setType] = useState(fields.profileType.enum!.includes(first)
    ? first : 'cpu');
  const [seconds, setSeconds] = useState(SECONDS);
  const [rate, setRate] = useState(firstRate || fields.sampleRate.default!);
  const [wanted, setWanted] = useState('');
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);

  const { data: now } = useData('foresee ' + service, signal =>
    foresee(service, signal), LOOK_MS);
  const hosts = now?.hosts ?? [];
  const host = wanted === EVERYWHERE || hosts.includes(wanted) ? wanted
    : hosts[0];
  const lackOf = (type: string) => now?.lacks.find(l => l.profileType === type);
  const optionOf = (type: string, lack = lackOf(type)) => !lack ? type
    : `${type} (${lack.certain ? 'not now' : 'perhaps not'})`;

  const length = useRef<HTMLInputElement>(null);
  useEffect(() => length.current!.select(), []);

  async function submit(e: Event) {
    e.preventDefault();
    if (isBusy) return;
    setBusy(true);
    try {
      const { id, started } = await post<Result & { started: unknown[] }>(
        `${PROFILING}/start`, { service, profileType: type,
          durationSeconds: seconds, sampleRate: rate,
          ...hosts.length > 1 && { host } });
      cancel();
      go(started.length > 1 ? toService(service, { type })
        : toFirst(id, type));
    } catch (e) {
      setError(e as Error);
      setBusy(false);
    }
  }

  const number = (f: Field) => ({ type: 'number' as const, required: true,
    min: f.minimum, max: f.maximum });
  return <form onSubmit={submit}>
    <label>Type
      <select value={type} onChange={e => setType(e.currentTarget.value)}>
        {fields.profileType.enum!.map(t => <option key={t} value={t}>
          {optionOf(t)}</option>)}
      </select></label>
    <label>Seconds
      <input {...number(fields.durationSeconds)} value={seconds} ref={length}
        onInput={e => setSeconds(e.currentTarget.valueAsNumber)} /></label>
    {type === 'cpu' && <label>Samples per second
      <input {...number(fields.sampleRate)} value={rate}
        onInput={e => setRate(e.currentTarget.valueAsNumber)} /></label>}
    {hosts.length > 1 && <label class="long">Host
      <select value={host} onChange={e => setWanted(e.currentTarget.value)}>
        {hosts.map(h => <option key={h} value={h}>{h}</option>)}
        {hosts.length <= MOST_HOSTS && <option value={EVERYWHERE}>
          Each of {hosts.length}: a profile of its own</option>}
      </select></label>}
    {now && <Foreseen service={service} {...now} lack={lackOf(type)}
      leave={cancel} />}
    {error && <Refused error={error} />}
    <div class="buttons">
      <button class="main" aria-disabled={isBusy}>
        {isBusy ? 'Starting…' : 'Start'}</button>
      <button type="button" onClick={cancel}>Cancel</button>
    </div>
  </form>;
}

/* A capture of the service and type may already be running: links to it. */
function Refused({ error }: { error: Error }) {
  const running = error instanceof ApiError && error.details.profileId;
  return <p class="bad" role="alert">{sentence(error.message)}
    {typeof running === 'string' &&
      <> <a href={toResult(running)}>Watch it</a></>}</p>;
}
