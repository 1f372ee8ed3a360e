/* The list of changes and captures with their authors, newest first. */
import { useEffect, useState } from 'preact/hooks';
import { all, get } from './api';
import type { PageProps } from './pages';
import { Empty, Failure, Head, Skeleton, Time } from './parts';
import type { AuditList, Token } from './replies';
import { toResult } from './result';
import { useData } from './use';

/* Only administrators may list keys; others see ids. */
const NOBODY = new Map<string, string>();

/* StartProfile: "Start profile" */
const wordsOf = (action: string) => action.split(/(?=[A-Z])/).map((word, i) =>
  i > 0 ? word.toLowerCase() : word).join(' ');

/* The object of an action: a capture by its service and type, if known. */
function Target({ of: { target, detail }, names }:
  { of: AuditList['items'][number]; names: Map<string, string> }) {
  const { service, profileType: type } = detail ?? {};
  if (!/^(sess|win)-/.test(target)) return <span title={target}>{
    target.startsWith('bs-') ? 'browser' : names.get(target) ?? target}</span>;
  return <a href={toResult(target)} title={target}>{service && type
    ? `${type} of ${service}` : target}</a>;
}

export default function Audit({ caller }: PageProps) {
  const [cursor, setCursor] = useState(''), [search, setSearch] =
    useState('');
  const q = new URLSearchParams({ limit: '50' });
  if (search) q.set('search', search);
  if (cursor) q.set('cursor', cursor);
  const { data, error, again } = useData(`audit ${q}`,
    signal => get<AuditList>(`/api/v1/audit?${q}`, signal));
  const names = useData('key names', async signal => caller.role === 'admin'
    ? new Map((await all<Token>('/api/v1/tokens',
      signal)).map(k => [k.id, k.name])) : NOBODY).data ?? NOBODY;
  /* keys have names here and ids in the API; actions have words here */
  const find = (text: string) => {
    const of = [...names].find(([, name]) => name === text);
    setCursor('');
    const action = text.replaceAll(' ', '').toLowerCase();
    setSearch(of ? of[0] : data?.items.some(e => e.action.toLowerCase()
      .includes(action)) ? action : text);
  };
  useEffect(() => { document.title = 'Audit · Stoker'; }, []);
  if (!data) return error ? <Failure error={error} again={again} />
    : <Skeleton />;
  if (data.items.length === 0 && !search)
    return <Empty title="Nothing was changed yet" />;
  return <>
    <Head title="Audit">
      <input type="search" placeholder="Search" maxLength={200}
        aria-label="Search by who, action, target or request"
        onChange={e => find(e.currentTarget.value.trim())} />
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
        <td title={e.actor}>{names.get(e.actor) ?? e.actor}</td>
        <td title={e.action}>{wordsOf(e.action)}</td>
        <td class="target"><Target of={e} names={names} /></td>
        <td class="wide mono">{e.requestId}</td>
      </tr>)}</tbody>
    </table>
    {data.items.length === 0 && <p class="quiet" role="status">No entry contains
      this text.</p>}
  </>;
}
