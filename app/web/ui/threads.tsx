/*
 * The goroutines, or threads, of a capture: their numbers by stack, what they
 * wait for, what created them, and which may never continue; with ?base=, what
 * changed since another capture.
 */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { shorten } from '../flame/text.js';
import { get, post, PROFILING } from './api';
import { Captured, Failed } from './capture';
import { Chart, type Line } from './chart';
import type { PageProps } from './pages';
import { Empty, Failure, Skeleton, Time } from './parts';
import type { GoroutineAnalysis, LeakSuspect, SessionDiff, Trend,
  WaitTarget } from './replies';
import { resultPath, toResult, toService, type Result } from './result';
import { go, to, usePlace } from './route';
import { useSource, type Linked } from './source';
import { CLASSES, Rows, Split, type Stack } from './stacks';
import { useData } from './use';

const KINDS = ['newStacks', 'grownStacks', 'shrunkStacks', 'goneStacks'] as
  const;

const LISTED = 1000, FIRST = 50;
const count = (n: number) => n.toLocaleString('en');
const pathOf = (id: string) => toResult(id) + '/threads';

export default function Threads({ args: { id }, caller, query }: PageProps) {
  const base = query.get('base') ?? '';
  return <Captured id={id} caller={caller} at="threads"
    compare={id.startsWith('sess-') ? other =>
      `${pathOf(id)}?base=${encodeURIComponent(other)}` : undefined}>
    {result => result.status === 'failed' ? <Failed result={result}
      caller={caller} /> : base ? <Sides base={base} result={result} />
      : <Groups result={result} />}
  </Captured>;
}

const useAnalysis = (id: string) => {
  const path = `/api/v1/profiling/sessions/${encodeURIComponent(id)}/analysis`
    + `?top=${LISTED}`;
  return useData(path, signal => get<GoroutineAnalysis>(path, signal));
};

/* A program in Go has goroutines, any other threads. */
const wordOf = ({ quality }: Result, all: Stack[]) =>
  (quality.goroutines ?? 0) > 0 ||
  all.some(s => s.locations.some(l => /\.go:\d+$/.test(l)))
    ? 'goroutine' : 'thread';
const number = (n: number, word: string) =>
  `${count(n)} ${word}${n === 1 ? '' : 's'}`;

/* --- one capture --- */

function Groups({ result }: { result: Result }) {
  const { data, error, again } = useAnalysis(result.id);
  if (!data) return error ? <Failure error={error} again={again} />
    : <Skeleton lines={10} />;
  if (data.goroutineCount === 0)
    return <Empty title="No stacks">
      <p>The processes of the service had no threads that could be read.</p>
    </Empty>;
  return <Shown result={result} analysis={data} />;
}

const FACETS = [
  { name: 'class', title: 'State', of: (s: Stack) => s.class,
    word: (v: string) => CLASSES[v]?.word ?? v },
  { name: 'reason', title: 'Waits for',
    of: (s: Stack) => s.waitReason || s.state, word: (v: string) => v },
  { name: 'creator', title: 'Created by', of: (s: Stack) => s.createdBy,
    word: (v: string) => v || 'not known' },
];

function Shown({ result, analysis }:
  { result: Result; analysis: GoroutineAnalysis }) {
  const { query } = usePlace(), all = analysis.topStacks;
  const word = wordOf(result, all), typed = query.get('q') ?? '';
  const [over, setOver] = useState('');
  const linked = useSource(result.service);
  const set = (name: string, value: string, how: 'push' | 'replace') =>
    go(to(pathOf(result.id).replace('/ui', ''), { ...Object.fromEntries(query),
      [name]: value }), how);
  const passes = (s: Stack, except = '') => FACETS.every(f =>
    f.name === except || !query.has(f.name) ||
    f.of(s) === query.get(f.name)) && has(s, typed);
  const rows = all.filter(s => passes(s));
  const shown = rows.reduce((sum, s) => sum + s.count, 0);
  return <div class="threads">
    <Growth analysis={analysis} word={word} />
    <Counts result={result} word={word} over={over} />
    <Suspects items={analysis.leakSuspects} linked={linked} />
    <Targets items={analysis.waitTargets} linked={linked} />
    <section aria-labelledby="groups">
      <div class="head"><h2 id="groups">Stacks</h2>
        <input type="search" placeholder="Filter" value={typed}
          aria-label="Filter by function, file or reason" onInput={e =>
            set('q', e.currentTarget.value, 'replace')} />
        <span class="quiet" role="status">
          {shown < analysis.goroutineCount && `${count(shown)} of `}
          {number(analysis.goroutineCount, word)} at {number(rows.length,
            'stack')}</span>
      </div>
      <div class="facets">{FACETS.map(f => <Facet key={f.name} {...f}
        rows={all.filter(s => passes(s, f.name))}
        chosen={query.get(f.name)} choose={value =>
          set(f.name, value, 'push')} />)}</div>
      <Rows items={rows} first={FIRST} most={rows[0]?.count ?? 1}
        over={over} lay={setOver} linked={linked} />
    </section>
  </div>;
}

/* True if a name, a place or a reason contains the typed text. */
function has(s: Stack, typed: string) {
  const wanted = typed.toLowerCase();
  return !wanted || [...s.frames, ...s.locations, s.createdBy, s.waitReason,
    s.waitReasonRaw].some(text => text.toLowerCase().includes(wanted));
}

function Growth({ analysis, word }: { analysis: GoroutineAnalysis; word: string }) {
  const { goroutineCount, goroutineGrowthRate: rate, growthBase: base,
    topStacks } = analysis;
  return <div class="growth">
    <p><b>{count(goroutineCount)}</b> {word}{goroutineCount === 1 ? '' : 's'}
      {base !== 'none' && <span class="quiet">
        {' '}· {rate === 1 ? 'as many as' : `${Number(rate.toPrecision(3))
          } times as many as`}{' '}
        {base.startsWith('bl-') ? 'in its baseline'
          : <a href={pathOf(base)}>{base.startsWith('win-')
            ? 'in the oldest profile of the last hour'
            : 'in the capture before'}</a>}</span>}</p>
    <Split items={topStacks} />
  </div>;
}

const MOST = 8;

/* Values of one property, by the number of goroutines; a click keeps only
   those. */
function Facet({ title, rows, of, word, chosen, choose }: { title: string;
  rows: Stack[]; of: (s: Stack) => string; word: (v: string) => string;
  chosen: string | null; choose: (value: string) => void }) {
  const [isWhole, setWhole] = useState(false), sums = new Map<string, number>();
  for (const s of rows) sums.set(of(s), (sums.get(of(s)) ?? 0) + s.count);
  const values = [...sums].sort(([, a], [, b]) => b - a);
  const shown = values.slice(0, isWhole ? undefined : MOST);
  if (chosen !== null && !shown.some(([v]) => v === chosen))
    shown.push([chosen, sums.get(chosen) ?? 0]);
  const most = values[0]?.[1] ?? 1;
  return <div class="facet" role="group" aria-label={title}>
    <h3>{title}</h3>
    {shown.map(([value, n]) => <button type="button" key={value}
      aria-pressed={value === chosen} title={word(value)} disabled={!value}
      onClick={() => choose(value === chosen ? '' : value)}>
      <span>{shorten(word(value), 48)}</span><span>{count(n)}</span>
      <i style={{ width: `${n / most * 100}%` }} /></button>)}
    {values.length > shown.length && <button type="button" class="rest"
      onClick={() => setWhole(true)}>{values.length - shown.length} more
    </button>}
  </div>;
}

const SEVERITIES: Record<string, string> = { certain: 'Certain',
  likely: 'Likely', suspect: 'Suspect' };

function Suspects({ items, linked }: { items: LeakSuspect[];
  linked: Linked }) {
  if (items.length === 0) return null;
  return <section aria-labelledby="suspects">
    <h2 id="suspects">Possible leaks</h2>
    <Rows items={items} first={MOST} most={items[0].count} linked={linked}
      about={s => <>
      <span class={`badge ${s.severity}`} title={`Rule ${s.rule}, from ${
        s.source}`}>{SEVERITIES[s.severity]}</span>
      {' '}{s.why}
      <span class="quiet"> · {s.baseCount > 0 ? `${count(s.baseCount)} before`
        : 'none before'}</span></>} />
  </section>;
}

function Targets({ items, linked }: { items: WaitTarget[]; linked: Linked }) {
  if (items.length === 0) return null;
  return <section aria-labelledby="targets">
    <h2 id="targets">Locks and channels that several wait for</h2>
    <Rows items={items} first={MOST} most={items[0].count} linked={linked}
      about={t => <>
      <code>{t.address}</code> {t.stackCount > 1 && <span class="quiet">
        · at {t.stackCount} stacks; most are here</span>}</>} />
  </section>;
}

/* --- how many there were before --- */

const DAY_MS = 864e5, LEAST_MS = 6e5, SESSIONS = 20;

/*
 * The number of all goroutines of the service up to this capture, and of those
 * in the chosen function.
 */
function Counts({ result, word, over }:
  { result: Result; word: string; over: string }) {
  const { service, profileType: type, startedAt } = result;
  const q = new URLSearchParams({ service, profileType: type,
    status: 'completed', resolution: 'none', limit: String(SESSIONS),
    to: String(Date.parse(startedAt) + 1) });
  const before = useData('before ' + q, async signal =>
    (await get<{ items: Result[] }>(`${PROFILING}/history?${q}`,
      signal)).items);
  const end = Date.parse(startedAt) + 3e4;
  const first = Math.min(...(before.data ?? []).map(r =>
    Date.parse(r.startedAt)));
  const range = before.data && new URLSearchParams({ service,
    profileType: type, to: String(end), from: String(Math.max(end - DAY_MS,
      Math.min(end - LEAST_MS, first - 3e4))) });
  return range ? <Past key={String(range)} range={range} over={over}
    isLikely={before.data!.length > 1} word={word} choose={(from, until) =>
      go(toService(service, { type, from: String(Math.round(from)),
        to: String(Math.round(until)) }))} />
    : null;
}

const lineOf = (trend: Trend): Line => trend.points.map(p => ({
  at: Date.parse(p.t), value: p.value }));

/* isLikely: space is reserved for the chart before its data arrives. */
function Past({ range, isLikely, word, over, choose }: {
  range: URLSearchParams; isLikely: boolean; word: string; over: string;
  choose: (from: number, to: number) => void }) {
  const path = `${PROFILING}/history/series?${range}`;
  const all = useData(path, signal => get<Trend>(path, signal));
  const part = useData(over && `${path} ${over}`, async signal => over
    ? lineOf(await get<Trend>(`${path}&${new URLSearchParams({
      function: over })}`, signal)) : undefined);
  const line = useMemo(() => all.data && lineOf(all.data), [all.data]);
  /* A single capture shows nothing about time. */
  if (all.error || all.data && all.data.profiles < 2) return null;
  if (!line) return isLikely ? <div class="chart waiting" /> : null;
  return <Chart line={line} within={part.data} name={shorten(over, 60)}
    from={Date.parse(all.data!.from)} to={Date.parse(all.data!.to)}
    format={count} label={word === 'thread' ? 'Threads' : 'Goroutines'}
    choose={choose} />;
}

/* --- two captures --- */

const TITLES: Record<(typeof KINDS)[number], string> = {
  newStacks: 'New', grownStacks: 'More', shrunkStacks: 'Fewer',
  goneStacks: 'Gone' };

function Sides({ base, result }: { base: string; result: Result }) {
  const changes = useData(`diff ${base} ${result.id}`, () =>
    post<SessionDiff>('/api/v1/profiling/diff', { baseId: base,
      compareId: result.id, type: result.profileType, top: LISTED }));
  const first = useData(resultPath(base), signal =>
    get<Result>(resultPath(base), signal));
  const [before, now] = [useAnalysis(base), useAnalysis(result.id)];
  const error = changes.error ?? first.error ?? before.error ?? now.error;
  useEffect(() => {
    document.title = `${result.service} stacks, compared · Stoker`;
  }, [result.id]);
  if (error) return <Failure error={error} again={() => {
    for (const d of [changes, first, before, now]) d.again();
  }} />;
  if (!changes.data || !first.data || !before.data || !now.data)
    return <Skeleton lines={10} />;
  const word = wordOf(result, now.data.topStacks);
  const most = Math.max(1, ...KINDS.flatMap(k => changes.data![k]).flatMap(
    s => [s.baseCount, s.compareCount]));
  return <div class="threads">
    <div class="sides">
      <Side title="Base" result={first.data} analysis={before.data}
        word={word} />
      <Side title="Comparison" result={result} analysis={now.data}
        word={word} />
      <a href={`${pathOf(base)}?base=${encodeURIComponent(result.id)}`}>
        Swap sides</a>
    </div>
    {KINDS.every(k => changes.data![k].length === 0) &&
      <Empty title="The same stacks on both sides">
        <p>Each stack has as many {word}s in one capture as in the other.
        </p></Empty>}
    {KINDS.map(k => changes.data![k].length > 0 && <section key={k}
      aria-labelledby={k}>
      <h2 id={k}>{TITLES[k]}: {number(changes.data!.totals[k], 'stack')}</h2>
      <Rows items={changes.data![k]} first={FIRST} most={most} two />
    </section>)}
  </div>;
}

function Side({ title, result, analysis, word }: { title: string;
  result: Result; analysis: GoroutineAnalysis; word: string }) {
  return <div class="side">
    <p><span class="quiet">{title}</span>{' '}
      <a href={pathOf(result.id)}><Time at={result.startedAt} isExact /></a>
      {' '}· <b>{count(analysis.goroutineCount)}</b> {word}s</p>
    <Split items={analysis.topStacks} />
  </div>;
}
