/* The frame of all pages: who is signed in, the navigation, the page. */
import { render, type ComponentType } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { beginTheme, isDark, turnTheme } from '../flame/theme.js';
import { ApiError, onSignedOut, signIn, signOut, switchTenant, whoHas,
  whoIsThere, type Caller } from './api';
import { enter, keepFocus } from './focus';
import { Keys } from './keys';
import { HOME, match, PAGES, type Page, type PageProps } from './pages';
import { Empty, Failure, Skeleton, usePop } from './parts';
import { go, listen, to, usePlace } from './route';
import { Mark, Offer, SignIn } from './signin';
import { useRetry } from './use';

type Who = Caller | 'asking' | 'nobody' | 'over' | Error;

/* True for a user authenticated by single sign-on at nginx. */
const isSso = (who: Who) => typeof who === 'object' && 'actor' in who &&
  who.actor.startsWith('sso:');

const LINK = '#sign-in=', RELOAD_MS = 5e3;

/* Removes the secret of a sign-in link from the address, and so from the
   history, and returns it; '' if there is none. */
function takeLink() {
  if (!location.hash.startsWith(LINK)) return '';
  const secret = location.hash.slice(LINK.length);
  history.replaceState(null, '', location.pathname + location.search);
  return secret;
}

function App() {
  const [who, set] = useState<Who>('asking'), [wrong, setWrong] = useState('');
  const link = useMemo(takeLink, []), isEntered = useRef(false);
  const [offer, setOffer] = useState<Caller>(); /* whom the link signs in */
  const refuse = (e: Error) => {
    if (!(e instanceof ApiError) || e.status === 0) return set(e);
    setWrong(e.status === 401
      ? 'This link was used before, or is too old. Ask for another one, or '
        + 'sign in with a key.' : e.message);
    setOffer(undefined);
    set('nobody');
  };
  const look = () => whoHas(link).then(caller => {
    setOffer(caller);
    set('nobody');
  }, refuse);
  const ask = () => {
    whoIsThere().then(caller => caller ? set(caller)
      : link && !wrong ? look() : set('nobody'), set);
  };
  const enterAs = (caller: Caller) => {
    setWrong('');
    setOffer(undefined);
    isEntered.current = true;
    set(caller);
  };
  useRetry(who, ask);
  useEffect(() => {
    onSignedOut(() => set(old => {
      if (isSso(old)) location.reload(); /* nginx redirects to the sign-on */
      return old === 'asking' ? old : 'over';
    }));
    ask();
    /* a link pasted while this page is open changes only the address */
    addEventListener('hashchange', () => {
      if (location.hash.startsWith(LINK)) location.reload();
    });
  }, []);
  if (who === 'asking') return <main class="page"><Skeleton /></main>;
  if (who instanceof Error)
    return <main class="page"><Failure error={who} again={() => {
      set('asking');
      ask();
    }} /></main>;
  if (who === 'nobody' && offer)
    return <Offer caller={offer} accept={() =>
      signIn(link).then(enterAs, refuse)} decline={() => setOffer(undefined)} />;
  if (who === 'nobody' || who === 'over')
    return <SignIn isOver={who === 'over'} wrong={wrong} done={enterAs} />;
  return <Frame caller={who} isEntered={isEntered.current}
    leave={() => set('nobody')} />;
}

function find(path: string) {
  for (const page of PAGES) {
    const args = match(page.pattern, path);
    if (args) return { page, args };
  }
  return null;
}

/* isEntered: the user has just signed in, without loading the page again. */
function Frame({ caller, isEntered, leave }: { caller: Caller;
  isEntered: boolean; leave: () => void }) {
  const { path, query } = usePlace(), found = find(path);
  const main = useRef<HTMLElement>(null), before = useRef('');
  useEffect(() => keepFocus(main.current!), []);
  useEffect(() => {
    if (!path) return go(to(HOME), 'replace');
    if (before.current || isEntered) enter(main.current!);
    before.current = path;
  }, [path]);
  return <>
    <a class="skip" href="#page" onClick={e => {
      e.preventDefault(); /* the fragment belongs to the flame graph */
      main.current!.focus();
    }}>Skip to the page</a>
    <Bar at={found?.page} caller={caller} leave={leave} />
    <main id="page" class={found?.page.isWide ? 'page fills' : 'page'}
      ref={main} tabIndex={-1}>
      {found ? <Loaded key={path} page={found.page}
        args={found.args} query={query} caller={caller} />
        : path && <Empty title="There is no such page">
          <p><a href={to(HOME)}>Go to the services</a></p></Empty>}
    </main>
  </>;
}

function Loaded({ page, ...props }: { page: Page } & PageProps) {
  const [Body, set] = useState<ComponentType<PageProps>>();
  const [error, setError] = useState<Error>();
  useEffect(() => {
    page.load().then(m => set(() => m.default), setError);
  }, [page]);
  /* when the server answers again, it has the module, or a newer release's
   * page */
  useEffect(() => {
    if (!error) return;
    const timer = setInterval(() => whoIsThere().then(() => location.reload(),
      () => {}), RELOAD_MS);
    return () => clearInterval(timer);
  }, [error]);
  if (error) return <Failure again={() => location.reload()} error={new Error(
    'A part of the page could not be loaded. The page is loaded again when '
    + 'Stoker can be reached')} />;
  return Body ? <Body {...props} /> : <Skeleton />;
}

function Bar({ at, caller, leave }:
  { at?: Page; caller: Caller; leave: () => void }) {
  const [problem, setProblem] = useState<Error>(), menu = usePop();
  const out = () => signOut().then(leave, (e: Error) =>
    e instanceof ApiError && e.status === 401 ? leave() : setProblem(e));
  return <header class="bar">
    <a class="home" href={to(HOME)}><Mark />Stoker</a>
    <nav aria-label="Pages">
      {PAGES.filter(p => p.word && (!p.forAdmins || caller.role === 'admin') &&
        (!p.forOperators || caller.role !== 'viewer')).map(p => <a key={p.pattern}
        href={to(p.pattern)} aria-current={p === at ? 'page' : undefined}>
        {p.word}</a>)}
    </nav>
    <Theme />
    <Keys />
    <details class="menu" ref={menu}>
      <summary>{caller.role}</summary>
      <div>
        <p>Signed in as <b>{caller.actor}</b>,<br />{caller.role} of
          tenant {caller.tenant}</p>
        {!isSso(caller) && caller.tenants.filter(t => t !== caller.tenant)
          .map(t => <button type="button" key={t} onClick={() =>
            switchTenant(t).then(() => location.reload(), setProblem)}>
            Switch to {t}</button>)}
        <a href="/docs/manual/">Manual</a>
        <a href="/docs/">API</a>
        {isSso(caller) ? <p>Signed in by this site.</p>
          : <button type="button" onClick={out}>Sign out</button>}
        {problem && <p class="bad" role="alert">{problem.message}</p>}
      </div>
    </details>
  </header>;
}

function Theme() {
  const [dark, set] = useState(isDark);
  useEffect(() => {
    const repaint = () => set(isDark());
    document.addEventListener('stoker-theme', repaint);
    return () => document.removeEventListener('stoker-theme', repaint);
  }, []);
  return <button type="button" class="plain" aria-pressed={dark}
    onClick={turnTheme}>Dark</button>;
}

beginTheme();
listen();
render(<App />, document.getElementById('app')!);
