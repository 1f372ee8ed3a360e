/*
 * A range in groups: the cost of each host, or of each value of a label of
 * profiles or their samples. A click on one shows it alone.
 */
import { useState } from 'preact/hooks';
import { percent, quantity, visible } from '../flame/text.js';
import { get, PROFILING } from './api';
import { sentence, Skeleton, Spark } from './parts';
import type { Groups as Grouping, Timeline } from './replies';
import { isSession, partId, resultPath, toResult, type Result } from './result';
import { to } from './route';
import { TRACE, useTraces } from './source';
import { useData } from './use';

/* People see zone where the address has label.zone. */
export const wordOf = (by: string) => by.replace(/^(label|sample)\./, '');

/* True if a view is restricted by labels of samples, which select no windows:
 * an answer made from windows alone would include all samples. */
export const isOfSamples = (only: Labels) =>
  Object.keys(only).some(name => name.startsWith('sample.'));

/* The restriction of a view: host=a, label.zone=a, or samples whose threads
 * published sample.http.route=/cart. */
export type Labels = Record<string, string>;
export const labelsOf = (query: URLSearchParams): Labels =>
  Object.fromEntries([...query].filter(([name]) =>
    /^(host$|label\.|sample\.)/.test(name)));

/* The groups shown alone; a click shows the others again. */
export const Chips = ({ only, show }: { only: Labels;
  show: (only: Labels) => void }) => <>
  {Object.entries(only).map(([name, value]) => <button type="button"
    key={name} class="chip" title="Show all again" onClick={() => {
      const { [name]: _, ...rest } = only;
      show(rest);
    }}>{wordOf(name)} = {value} <span aria-hidden="true">×</span>
    <span class="unseen">, show all again</span></button>)}
</>;

/* True if threads and times of samples were kept: captures of CPU time keep
 * them, uploads do not. */
export const hasThreads = (r: Result) => r.profileType === 'cpu' &&
  isSession(r.id) && r.status === 'completed' && r.host !== '';

const NAMES = { thread: 'Threads', process: 'Processes' };

/* The threads or processes of a capture; a click on a thread shows it alone. */
export function Threads({ id }: { id: string }) {
  const [by, setBy] = useState<keyof typeof NAMES>('thread');
  const path = `${resultPath(id)}/timeline?slotsPerSecond=1`;
  const { data, error } = useData(path, signal => get<Timeline>(path, signal));
  if (error) return <p>{sentence(error.message)}</p>;
  if (!data) return <Skeleton lines={3} />;
  const { threads, samples, durationMs, threadCount } = data;
  const rows = by === 'thread'
    ? threads.map(t => ({ key: t.tid, name: t.name, samples: t.samples }))
    : [...new Map(threads.map(t => [t.pid, { key: t.pid,
      name: threads.find(other => other.pid === t.pid)!.name,
      samples: threads.reduce((n, other) => n +
        (other.pid === t.pid ? other.samples : 0), 0) }])).values()];
  return <>
    <label>Group by <select value={by} onChange={e =>
      setBy(e.currentTarget.value as keyof typeof NAMES)}>
      {Object.keys(NAMES).map(name => <option key={name}>{name}</option>)}
    </select></label>
    <table class="list groups"><thead><tr><th scope="col">{by}</th>
      <th scope="col" class="number">Share</th>
      <th scope="col" class="number">Samples</th></tr></thead>
    <tbody>{rows.sort((a, b) => b.samples - a.samples).map(row =>
      <tr key={row.key}><th scope="row">{by === 'thread'
        ? <a title="Show only this" href={toResult(partId(id, 0,
          Math.ceil(durationMs), String(row.key)))}>{visible(row.name)}</a>
        : <>with {visible(row.name)}</>}{' '}
      <span class="quiet">{row.key}</span></th>
      <td class="number">{percent(row.samples, samples)}</td>
      <td class="number">{row.samples.toLocaleString('en')}</td></tr>)}
    </tbody></table>
    {threadCount > threads.length && <p class="quiet">{threadCount -
      threads.length} threads with fewer samples are not counted.</p>}
  </>;
}

/* The comparison of a group with the others in the same range. */
const against = ({ from, to: until, service, profileType: type }: Grouping,
  by: string, value: string) => {
  const range = `${Date.parse(from)}..${Date.parse(until)}`;
  return to('/compare', { a: range, b: range, service, type, others: 'true',
    [by]: value });
};

/* asked: the range, as parameters of the API. name: identifies the view, and
 * stays the same while a live range moves on. */
export function Groups({ name, asked, unit = '', choose, capture }: {
  name: string; asked: string; unit?: string; capture?: Result;
  choose: (by: string, value: string) => void }) {
  const [by, setBy] = useState('');
  const { data, error } = useData(`groups ${name} ${by}`, signal =>
    get<Grouping>(`${PROFILING}/history/groups?${asked}${by &&
      '&by=' + encodeURIComponent(by)}`, signal), 0, asked);
  const traces = useTraces(data?.by === TRACE ? data.service : '');
  if (error) return <p>{sentence(error.message)}</p>;
  if (!data) return <Skeleton lines={3} />;
  const keys = data.keys.filter(k => k.values > 0);
  const isOfThreads = keys.some(k => k.by === 'sample.thread');
  const ofCapture = !isOfThreads && <p class="quiet">
    {capture && <><a href={toResult(capture.id)}>The newest capture</a> has
      threads and processes. </>}Continuous profiling keeps the names of threads
    if the service allows threadNames.</p>;
  if (keys.length === 0) return <><p>Captures that were asked for have no
    groups.</p>{ofCapture}</>;
  const most = Math.max(...data.groups.flatMap(g =>
    g.points.map(p => p.rate ?? 0)), 1);
  const isTrend = data.groups.some(g => g.points.length > 0);
  /* labels of samples select no profiles, so there are no others to compare
   * with; the others come from the whole service */
  const isCompared = data.groups.length > 1 && !data.by.startsWith('sample.') &&
    Object.keys(labelsOf(new URLSearchParams(asked))).length === 0;
  const amount = (v: number) => quantity(v, unit) +
    (data.aggregation === 'sum' ? '/s' : '');
  return <>
    <label>Group by <select value={data.by}
      onChange={e => setBy(e.currentTarget.value)}>
      {keys.map(k => <option key={k.by} value={k.by}>
        {wordOf(k.by)} ({k.values})</option>)}</select></label>
    <table class="list groups"><thead><tr>
      <th scope="col">{wordOf(data.by)}</th>
      <th scope="col" class="number">Share</th>
      <th scope="col" class="number">Cost</th>
      {isTrend && <th scope="col" class="wide">Trend</th>}
      {isCompared && <th scope="col"><span class="unseen">Comparison</span></th>}
      </tr></thead>
      <tbody>{data.groups.map(({ value, share, perSecond, points }) =>
        <tr key={value}>
          <th scope="row">{value ? <button type="button"
            title="Show only this" onClick={() => choose(data.by, value)}>
            {value}</button> : <span class="quiet">without</span>}
            {traces(value) && <>{' '}<a href={traces(value)} target="_blank"
              rel="noopener noreferrer">Trace</a></>}</th>
          <td class="number">{share !== null && percent(share, 1)}</td>
          <td class="number">{perSecond !== null && amount(perSecond)}</td>
          {isTrend && <td class="wide"><Spark rates={points.map(p => p.rate)} most={most}
            label={`${value} over time`} /></td>}
          {isCompared && <td>{value && <a title={`Compare ${value} with the others`}
            href={against(data, data.by, value)}>Compare</a>}</td>}
        </tr>)}</tbody></table>
    {ofCapture}
    {data.notices.map(text => <p class="quiet" key={text}>{sentence(text)}</p>)}
    {data.groupsLeft > 0 && <p class="quiet">{data.groupsLeft} more are not
      shown.</p>}
  </>;
}
