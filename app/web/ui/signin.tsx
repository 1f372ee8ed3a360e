/* The page shown to a browser that is not signed in. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, signIn, type Caller } from './api';
import { sentence } from './parts';

/* The remedy for a refusal, in addition to the server's message. */
const ADVICE: Record<string, string> = {
  Unauthorized: 'This key is unknown, has expired or was revoked. Check that '
    + 'all of it was pasted, or ask an administrator for another one.',
  SecureRequired: 'Keys are accepted only over https, or on this machine '
    + 'itself. Open this page by its https address.',
};

const advice = (e: unknown) =>
  e instanceof ApiError ? ADVICE[e.code] ?? sentence(e.message) : String(e);

/* wrong: why the opened sign-in link failed. */
export function SignIn({ isOver, wrong, done }:
  { isOver: boolean; wrong: string; done: (caller: Caller) => void }) {
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState(wrong);
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = 'Sign in · Stoker';
    field.current?.focus();
  }, []);

  async function submit(e: Event) {
    e.preventDefault();
    const text = key.trim();
    if (!text) {
      setProblem('Paste an API key or a JWT first.');
      field.current?.focus();
      return;
    }
    setBusy(true);
    try {
      done(await signIn(text));
    } catch (error) {
      setProblem(advice(error));
      setBusy(false);
      field.current?.select();
    }
  }

  return <main class="signin">
    <form onSubmit={submit} noValidate>
      <h1><Mark />Stoker</h1>
      {isOver && !problem &&
        <p class="note" role="status">Your session is over. Sign in to
          continue where you were.</p>}
      <label for="key">API key or JWT</label>
      <input id="key" ref={field} type="password" value={key} maxLength={8192}
        autocomplete="current-password" spellcheck={false}
        placeholder="stk_…" aria-invalid={problem !== ''}
        aria-describedby="problem about-key"
        onInput={e => setKey(e.currentTarget.value)} />
      <p id="problem" class="bad" role="alert">{problem}</p>
      <button class="main" disabled={isBusy}>
        {isBusy ? 'Signing in…' : 'Sign in'}</button>
      <p id="about-key" class="quiet">An administrator makes a key
        with <code>stoker token create NAME</code>. On the command line, <code>stoker ui</code> prints a link that signs a
        browser in. The browser keeps a cookie
        in place of the key.</p>
    </form>
  </main>;
}

/* A link asks for confirmation: a user who follows somebody else's link would
   work under that person's key. */
export function Offer({ caller, accept, decline }: { caller: Caller;
  accept: () => void; decline: () => void }) {
  const yes = useRef<HTMLButtonElement>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    document.title = 'Sign in · Stoker';
    yes.current?.focus();
  }, []);
  return <main class="signin">
    <form onSubmit={e => {
      e.preventDefault();
      setBusy(true); /* the link works once */
      accept();
    }}>
      <h1><Mark />Stoker</h1>
      <p>Sign this browser in as <b>{caller.actor}</b>, {caller.role} of
        tenant {caller.tenant}?</p>
      <button class="main" ref={yes} disabled={isBusy}>
        {isBusy ? 'Signing in…' : 'Sign in'}</button>
      {' '}<button type="button" onClick={decline}>Cancel</button>
      <p class="quiet">Continue only if you made this link, or know who sent
        it: what you do here is done with that key.</p>
    </form>
  </main>;
}

export function Mark() {
  return <svg class="mark" viewBox="0 0 16 16" aria-hidden="true">
    <path d="M1 2h14v4H1zM1 7h9v4H1zM1 12h5v3H1z" /></svg>;
}
