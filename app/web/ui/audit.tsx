/* Who changed or profiled what, newest first, a page at a time. */
import { Fragment } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { all, get } from './api';
import { Empty, Failure, Head, Skeleton, Time } from './parts';
import { useData } from './use';

type Entry = { id: string; at: string; actor: string; action: string;
  target: string; requestId: string };
type Entries = { items: Entry[]; nextCursor: string | null };

/* Only administrators may list keys; others see ids. */
const NOBODY = new Map<string, string>();

/* The words of an action, between which a line may end. */
const broken = (action: string) => action.split(/(?=[A-Z])/).map((word, i) =>
  <Fragment key={i}>{i > 0 && <wbr />}{word}</Fragment>);

export default function Audit() {
  const [cursor, setCursor] = useState('');
  const q = new URLSearchParams({ limit: '50' });
  if (cursor) q.set('cursor', cursor);
  const { data, error, again } = useData(`audit ${q}`,
    signal => get<Entries>(`/api/v1/audit?${q}`, signal));
  const names = useData('key names', signal => all<{ id: string;
    name: string }>('/api/v1/tokens', signal).then(keys =>
    new Map(keys.map(k => [k.id, k.name]))).catch(() => NOBODY));
  useEffect(() => { document.title = 'Audit · Stoker'; }, []);
  if (!data) return error ? <Failure error={error} again={again} />
    : <Skeleton />;
  if (data.items.length === 0) return <Empty title="Nothing was changed yet" />;
  return <>
    <Head title="Audit">
      {cursor && <button type="button" onClick={() => setCursor('')}>
        Newest</button>}
      {data.nextCursor && <button type="button"
        onClick={() => setCursor(data.nextCursor!)}>Older</button>}
    </Head>
    <table class="list audit">
      <thead><tr><th scope="col">When</th><th scope="col">Who</th>
        <th scope="col">Action</th><th scope="col">Target</th>
        <th scope="col" class="wide">Request</th></tr></thead>
      <tbody>{data.items.map(e => <tr key={e.id}>
        <td><Time at={e.at} isExact /></td>
        <td title={e.actor}>{names.data?.get(e.actor) ?? e.actor}</td>
        <td>{broken(e.action)}</td><td class="target">{e.target}</td>
        <td class="wide mono">{e.requestId}</td>
      </tr>)}</tbody>
    </table>
  </>;
}
