/*
 * The heat map of a capture: a column for each second, a row for each slot of
 * a second, and threads as lanes below. A selected range has a flame graph,
 * two ranges a comparison.
 */
import { useEffect, useState } from 'preact/hooks';
import { clock, shorten, visible } from '../flame/text.js';
import { ApiError, get } from './api';
import { Captured } from './capture';
import { toCompare } from './compare';
import { HeatMap, Lane, type Span } from './heatmap';
import type { PageProps } from './pages';
import { Empty, Failure, Skeleton } from './parts';
import { getColumns, Profile } from './profile';
import type { Timeline } from './replies';
import { lengthOf, partId, resultPath, toResult, type Result }
  from './result';
import { go, usePlace } from './route';
import { useData } from './use';

/* A column is a second, or a tenth of a second in short captures. */
const SHORT_S = 20;
const LANES = 8, LEAST_PX = 2; /* least width of a column */
const columnMs = (r: Result) => r.durationSeconds < SHORT_S ? 100 : 1000;
const slotMs = (r: Result) => r.durationSeconds < SHORT_S ? 10 : 20;

export default function Heat({ args: { id }, caller }: PageProps) {
  return <Captured id={id} caller={caller} at="heat">{result =>
    <Loaded result={result} />}</Captured>;
}

function Loaded({ result }: { result: Result }) {
  const { query } = usePlace(), tid = query.get('tid') ?? '';
  const q = new URLSearchParams({
    slotsPerSecond: String(1000 / slotMs(result)) });
  if (tid) q.set('tid', tid);
  const path = `${resultPath(result.id)}/timeline?${q}`;
  const { data, error, again } = useData(path, signal =>
    get<Timeline>(path, signal));
  const [last, keep] = useState<Timeline>();
  useEffect(() => { if (data) keep(data); }, [data]);
  if (error instanceof ApiError && error.code === 'TimelineNotKept')
    return <Empty title="This profile has no times">
      <p>Its samples were summed up: uploads have no times, and neither do
        the counts that programs keep themselves.</p>
      <p><a href={toResult(result.id)}>Go to its flame graph</a></p></Empty>;
  if (error) return <Failure error={error} again={again} />;
  const shown = data ?? last;
  return shown ? <Shown result={result} line={shown} tid={tid} />
    : <Skeleton lines={10} />;
}

/* The address has ranges in milliseconds: FROM-TO. */
function spanOf(text: string | null): Span | undefined {
  const [, from, to] = /^(\d{1,9})-(\d{1,9})$/.exec(text ?? '') ?? [];
  return to && Number(from) < Number(to)
    ? { from: Number(from), to: Number(to) } : undefined;
}
const textOf = (s: Span) => `${s.from}-${s.to}`;

function Shown({ result, line, tid }:
  { result: Result; line: Timeline; tid: string }) {
  const { query, path } = usePlace(), span = spanOf(query.get('sel'));
  const [isSecond, setSecond] = useState(false);
  const [lanes, setLanes] = useState(LANES);
  const set = (change: Record<string, string>) => {
    const q = new URLSearchParams(query);
    for (const [name, value] of Object.entries(change))
      if (value) q.set(name, value);
      else q.delete(name);
    history.scrollRestoration = 'manual';
    go('/ui' + path + (String(q) && '?' + q), 'replace');
  };
  const part = (s: Span) => partId(result.id, s.from, s.to, tid);
  const choose = (s?: Span) => {
    if (!s || !span || !isSecond)
      return set({ sel: s ? textOf(s) : '' });
    go(toCompare(part(span), part(s), { service: result.service,
      type: result.profileType }));
  };
  const thread = line.threads.find(t => String(t.tid) === tid);
  const several = line.threads.length > 1;
  const most = line.threads[0]?.samples ?? 1;
  const peak = line.threads.reduce((n, t) =>
    Math.max(n, ...t.slots), 1);
  return <>
    <section class="heat" aria-label="Heat map">
      <div class="heat-line">
        <span>{line.samples.toLocaleString('en')} samples{thread
          ? <> of <b>{shorten(visible(thread.name), 30)}</b> {thread.tid}{' '}
            <button type="button" onClick={() => set({ tid: '' })}>
              All threads</button></>
          : ` of ${line.threadCount} thread${line.threadCount === 1 ? ''
            : 's'}`}</span>
        {span ? <Chosen span={span} slots={line} isSecond={isSecond}
          second={() => setSecond(!isSecond)} clear={() => {
            setSecond(false);
            choose();
          }} whole={toCompare(result.id, part(span), {
            service: result.service, type: result.profileType })}
          open={toResult(part(span))} />
          : <span class="quiet">A click or a drag chooses a time: what ran then is shown below.
          </span>}
      </div>
      <div class="heat-map" style={{ '--least': `${Math.ceil(line.durationMs /
        columnMs(result)) * LEAST_PX}px` }}>
        <HeatMap slots={line.slots} slotMs={line.slotMs}
          columnMs={columnMs(result)} durationMs={line.durationMs}
          began={Date.parse(line.startedAt)} span={span} isSecond={isSecond} choose={choose} />
        {(several ? line.threads.slice(0, lanes) : []).map(t => <button
          type="button" class="lane" key={t.tid}
          aria-pressed={String(t.tid) === tid}
          title={`${visible(t.name)}, thread ${t.tid} of process ${t.pid}: ${
            t.samples.toLocaleString('en')} samples`}
          onClick={() => set({ tid: String(t.tid) === tid ? ''
            : String(t.tid) })}>
          <span class="lane-name">{shorten(visible(t.name), 16)}{' '}
            <span class="quiet">{t.tid}</span>
            <i style={{ width: `${t.samples / most * 100}%` }} /></span>
          <Lane slots={t.slots} most={peak} /></button>)}
        {line.threads.length > lanes && <button type="button" class="rest"
          onClick={() => setLanes(line.threads.length)}>
          {line.threads.length - lanes} more threads</button>}
      </div>
      {line.fullAtMs !== null && <p class="quiet">Samples from{' '}
        {lengthOf(line.fullAtMs)} on are in the flame graph of the whole
        capture only: the memory for their times was used up.</p>}
    </section>
    {span && <Part id={part(span)} />}
  </>;
}

/* The selection, and the actions on it. */
function Chosen({ span, slots, isSecond, second, clear, whole, open }:
  { span: Span; slots: Timeline; isSecond: boolean; second: () => void;
    clear: () => void; whole: string; open: string }) {
  const { slots: all, slotMs } = slots;
  const samples = all.slice(Math.floor(span.from / slotMs),
    Math.ceil(span.to / slotMs)).reduce((sum, n) => sum + n, 0);
  return <span class="chosen" role="status">
    <span><b title={clock(Date.parse(slots.startedAt) + span.from,
      Date.parse(slots.startedAt) + span.to)}>{lengthOf(span.from)} to{' '}
      {lengthOf(span.to)}</b>{' '}
      <span class="quiet">· {samples.toLocaleString('en')} samples</span>
    </span>
    <button type="button" aria-pressed={isSecond} onClick={second}>
      {isSecond ? 'Drag over the other…' : 'Compare with a range'}</button>
    <a class="button" href={whole}>Compare with all</a>
    <a class="button" href={open}>Open</a>
    <button type="button" onClick={clear}>Clear</button>
  </span>;
}

function Part({ id }: { id: string }) {
  const address = resultPath(id) + '/flamegraph';
  const { data, error, again } = useData(address, signal =>
    getColumns(address, signal));
  return data ? <Profile doc={data} address={address} />
    : error ? <Failure error={error} again={again} />
      : <Skeleton lines={8} />;
}
