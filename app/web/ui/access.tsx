/* Access to the API: its keys, and the browsers that are signed in. */
import { useEffect, useState } from 'preact/hooks';
import { all, remove } from './api';
import { Make } from './form';
import type { PageProps } from './pages';
import { Ask, Empty, Failure, Head, Skeleton, Time } from './parts';
import type { BrowserSession, NewToken, Token } from './replies';
import { useData } from './use';

const TOKENS = '/api/v1/tokens', BROWSERS = '/api/v1/browser-sessions';
const REFRESH_MS = 10e3;

export default function Access({ caller }: PageProps) {
  useEffect(() => { document.title = 'Access · Stoker'; }, []);
  if (caller.role !== 'admin') return <Empty title="For administrators">
    <p>Keys and browser sessions are shown to administrators. You are signed in
      as {caller.role}.</p></Empty>;
  return <><Keys /><Browsers /></>;
}

function Keys() {
  const { data, error, again } = useData('keys',
    signal => all<Token>(TOKENS, signal), REFRESH_MS);
  const [made, setMade] = useState<NewToken>();
  return <section class="part">
    <Head title="API keys">
      <Make<NewToken> word="Make a key" title="Make an API key" path={TOKENS}
        made={key => { setMade(key); again(); }} />
    </Head>
    {made && <div class="note made" role="status">
      <p>The key <b>{made.name}</b> is shown this once. Copy it now:</p>
      <input readOnly aria-label="The new key" value={made.key}
        onFocus={e => e.currentTarget.select()} />
      <button type="button" onClick={() => setMade(undefined)}>Done</button>
    </div>}
    {error && <Failure error={error} again={again} />}
    {data ? <table class="list">
      <thead><tr><th scope="col">Name</th><th scope="col">Role</th>
        <th scope="col" class="wide">Tenants</th>
        <th scope="col" class="wide">Created</th>
        <th scope="col" class="wide">Last used</th>
        <th scope="col">Expires</th>
        <th scope="col"><span class="unseen">Actions</span></th></tr></thead>
      <tbody>{data.map(key => <KeyRow key={key.id} item={key}
        again={again} />)}</tbody>
    </table> : !error && <Skeleton lines={3} />}
  </section>;
}

function KeyRow({ item, again }: { item: Token; again: () => void }) {
  const { id, name, role, tenants, createdAt, expiresAt, revokedAt,
    lastUsedAt } = item;
  return <tr>
    <th scope="row">{name}<span class="quiet mono">{id}</span></th>
    <td>{role}</td>
    <td class="wide">{tenants.join(', ')}</td>
    <td class="wide"><Time at={createdAt} /></td>
    <td class="wide">{lastUsedAt ? <Time at={lastUsedAt} />
      : <span class="quiet">never</span>}</td>
    <td>{revokedAt ? <span class="quiet">revoked</span>
      : expiresAt ? <Time at={expiresAt} />
        : <span class="quiet">never</span>}</td>
    <td class="number">{!revokedAt && <Ask word="Revoke"
      question={`Revoke the key ${name}?`}
      about="Whoever uses it is refused from now on."
      action={() => remove(`${TOKENS}/${id}`).then(again)} />}</td>
  </tr>;
}

function Browsers() {
  const { data, error, again } = useData('browsers',
    signal => all<BrowserSession>(BROWSERS, signal), REFRESH_MS);
  const keys = useData('key names', signal => all<Token>(TOKENS, signal)).data;
  const nameOf = (actor: string) =>
    keys?.find(k => k.id === actor)?.name ?? actor;
  return <section class="part">
    <div class="head"><h2>Browsers that are signed in</h2></div>
    {error && <Failure error={error} again={again} />}
    {data ? <table class="list">
      <thead><tr><th scope="col">Signed in by</th><th scope="col">Role</th>
        <th scope="col" class="wide">Tenant</th>
        <th scope="col" class="wide">Signed in</th>
        <th scope="col" class="wide">Last used</th>
        <th scope="col">Expires</th>
        <th scope="col"><span class="unseen">Actions</span></th></tr></thead>
      <tbody>{data.map(b => <tr key={b.id}>
        <th scope="row" title={b.actor}>{nameOf(b.actor)}</th>
        <td>{b.role}</td>
        <td class="wide">{b.tenant}</td>
        <td class="wide"><Time at={b.createdAt} /></td>
        <td class="wide"><Time at={b.lastUsedAt} /></td>
        <td><Time at={b.expiresAt} /></td>
        <td class="number"><Ask word="Sign out"
          question={`Sign the browser of ${nameOf(b.actor)} out?`}
          about="Its pages ask for a key again. It may be your own browser."
          action={() => remove(`${BROWSERS}/${b.id}`).then(again)} /></td>
      </tr>)}</tbody>
    </table> : !error && <Skeleton lines={3} />}
  </section>;
}
