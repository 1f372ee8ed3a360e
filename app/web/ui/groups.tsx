/*
 * A range in groups: what each host costs, or each value of a label of profiles
 * or of their samples. A click on one shows it alone.
 */
import { useState } from 'preact/hooks';
import { percent, quantity } from '../flame/text.js';
import { get, PROFILING } from './api';
import { sentence, Skeleton, Spark } from './parts';
import type { Groups as Grouping } from './replies';
import { useData } from './use';

/* People read zone where the address has label.zone. */
export const wordOf = (by: string) => by.replace(/^(label|sample)\./, '');

/* True if a view is restricted by labels of samples, which choose no windows: an
 * answer that is made of windows alone would be of all samples. */
export const isOfSamples = (only: Labels) =>
  Object.keys(only).some(name => name.startsWith('sample.'));

/* What a view is restricted to: host=a, label.zone=a, or samples whose threads
 * published sample.http.route=/cart. */
export type Labels = Record<string, string>;
export const labelsOf = (query: URLSearchParams): Labels =>
  Object.fromEntries([...query].filter(([name]) =>
    /^(host$|label\.|sample\.)/.test(name)));

/* The groups that are shown alone; a click shows the others, too. */
export const Chips = ({ only, show }: { only: Labels;
  show: (only: Labels) => void }) => <>
  {Object.entries(only).map(([name, value]) => <button type="button"
    key={name} class="chip" title="Show all again" onClick={() => {
      const { [name]: _, ...rest } = only;
      show(rest);
    }}>{wordOf(name)} = {value} <span aria-hidden="true">×</span>
    <span class="unseen">, show all again</span></button>)}
</>;

/* asked: the range, as the API is asked for it. name: what stays when the range
 * goes on. */
export function Groups({ name, asked, unit = '', choose }: { name: string;
  asked: string; unit?: string; choose: (by: string, value: string) => void }) {
  const [by, setBy] = useState('');
  const { data, error } = useData(`groups ${name} ${by}`, signal =>
    get<Grouping>(`${PROFILING}/history/groups?${asked}${by &&
      '&by=' + encodeURIComponent(by)}`, signal), 0, asked);
  if (error) return <p>{sentence(error.message)}</p>;
  if (!data) return <Skeleton lines={3} />;
  const keys = data.keys.filter(k => k.values > 0);
  if (keys.length === 0) return <p>Captures that were asked for have no
    groups.</p>;
  const most = Math.max(...data.groups.flatMap(g =>
    g.points.map(p => p.rate ?? 0)), 1);
  const isTrend = data.groups.some(g => g.points.length > 0);
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
      {isTrend && <th scope="col" class="wide">Trend</th>}</tr></thead>
      <tbody>{data.groups.map(({ value, share, perSecond, points }) =>
        <tr key={value}>
          <th scope="row">{value ? <button type="button"
            title="Show only this" onClick={() => choose(data.by, value)}>
            {value}</button> : <span class="quiet">without</span>}</th>
          <td class="number">{share !== null && percent(share, 1)}</td>
          <td class="number">{perSecond !== null && amount(perSecond)}</td>
          {isTrend && <td class="wide"><Spark rates={points.map(p => p.rate)} most={most}
            label={`${value} over time`} /></td>}
        </tr>)}</tbody></table>
    {data.groupsLeft > 0 && <p class="quiet">{data.groupsLeft} more are not
      shown.</p>}
  </>;
}
