/* Small parts that pages are made of. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { clock, local, utc } from '../flame/text.js';
import { ApiError } from './api';

/* An error, and what to do next. */
export function Failure({ error, again }:
  { error: Error; again?: () => void }) {
  const code = error instanceof ApiError && error.status > 0
    ? error.code : '';
  return <div class="failure" role="alert">
    <p>{sentence(error.message)}</p>
    {code && <p class="quiet">{code}</p>}
    {again && <button type="button" onClick={again}>Try again</button>}
  </div>;
}

export const capital = (text: string) =>
  text.charAt(0).toUpperCase() + text.slice(1);

/* A message of the API, which begins with a lower-case letter, as a
 * sentence. */
export function sentence(text: string) {
  const whole = capital(text);
  return /[.!?]$/.test(whole) ? whole : whole + '.';
}

/* Grey lines in place of data that is being loaded. */
export function Skeleton({ lines = 6 }: { lines?: number }) {
  return <div class="skeleton" role="status" aria-label="Loading">
    {Array.from({ length: lines }, (_, i) => <i key={i} />)}
  </div>;
}

export function Empty({ title, children }:
  { title: string; children?: ComponentChildren }) {
  return <div class="nothing"><h2>{title}</h2>{children}</div>;
}

/* The heading of a page, and its actions. */
export function Head({ title, children }:
  { title: ComponentChildren; children?: ComponentChildren }) {
  return <div class="head"><h1>{title}</h1>{children}</div>;
}

const STEPS: [number, Intl.RelativeTimeFormatUnit][] = [[86400, 'day'],
  [3600, 'hour'], [60, 'minute'], [1, 'second']];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always',
  style: 'short' });

function ago(at: number, now: number) {
  const seconds = Math.round((at - now) / 1000);
  if (Math.abs(seconds) < 2) return 'now';
  const [size, unit] = STEPS.find(([s]) => Math.abs(seconds) >= s)!;
  return relative.format(Math.trunc(seconds / size), unit);
}

/* A time, relative to now or in the browser's time zone; UTC on hover. */
export function Time({ at, isExact }: { at: string; isExact?: boolean }) {
  const ms = Date.parse(at), [now, set] = useState(Date.now());
  useEffect(() => {
    if (isExact) return;
    const timer = setInterval(() => set(Date.now()),
      now - ms < 60e3 ? 1000 : 30e3);
    return () => clearInterval(timer);
  }, [isExact, ms, now - ms < 60e3]);
  return <time dateTime={at} title={isExact ? utc(at) : clock(ms)}>
    {isExact ? local(at) : ago(ms, now)}
  </time>;
}

/* On Escape, or on a click elsewhere, closes a <details> that covers the
   page. */
export function usePop() {
  const at = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const pop = at.current!, stop = new AbortController(), { signal } = stop;
    document.addEventListener('click', e => {
      if (!pop.contains(e.target as Node)) pop.open = false;
    }, { signal });
    pop.addEventListener('keydown', e => {
      if (e.key !== 'Escape') return;
      e.stopPropagation();
      pop.open = false;
      pop.querySelector('summary')!.focus();
    }, { signal });
    return () => stop.abort();
  }, []);
  return at;
}

/* When a signed link expires: its signature starts with the hour. */
function ends(url: string) {
  const hour = Number(new URL(url).searchParams.get('signature')?.split('.')[0]);
  return hour > 0 ? `It works until ${clock(hour * 36e5)}.` : '';
}

/*
 * A link that works for anybody who has it until it expires, and shows the
 * current view of the profile: zoom and search are in the fragment.
 */
export function Share({ find }: { find: () => Promise<string> }) {
  const [url, setUrl] = useState(''), [said, say] = useState('');
  const at = usePop();
  const begin = () => {
    if (!at.current!.open) return;
    say('');
    find().then(link => setUrl(link + location.hash),
      (e: Error) => say(sentence(e.message)));
  };
  const copy = (e: Event) => {
    const field = (e.currentTarget as Element).parentElement!
      .querySelector('input')!;
    field.select();
    navigator.clipboard.writeText(url).then(() => say('Copied'),
      () => say('Copy the selected text'));
  };
  return <details class="pop" ref={at} onToggle={begin}>
    <summary>Share</summary>
    <div>
      <label>Anybody who has this link sees the profile, without signing in:
        <input readOnly value={url} onFocus={e => e.currentTarget.select()} />
      </label>
      {url && <p class="quiet">{ends(url)}</p>}
      <button type="button" disabled={!url} onClick={copy}>Copy</button>
      {' '}<span role="status">{said}</span>
    </div>
  </details>;
}

/* A button whose action cannot be undone. */
export function Ask({ word, question, about, action }: { word: string;
  question: string; about: string; action: () => Promise<unknown> }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<Error>();
  return <>
    <button type="button" onClick={() => dialog.current!.showModal()}>
      {word}</button>
    <dialog class="form" ref={dialog} aria-label={question}>
      <h2>{question}</h2>
      <p>{about}</p>
      {error && <p class="bad" role="alert">{sentence(error.message)}</p>}
      <div class="buttons">
        <button type="button" class="main"
          onClick={() => action().catch(setError)}>{word}</button>
        <button type="button" onClick={() => dialog.current!.close()}>
          Cancel</button>
      </div>
    </dialog>
  </>;
}

const WIDTH = 120, HEIGHT = 22;

/* A cost over time, as a line; a point without neighbours is a dot. */
export function Spark({ rates, most, label }: { rates: (number | null)[];
  most: number; label: string }) {
  const x = (i: number) => (i / Math.max(rates.length - 1, 1) * (WIDTH - 4)
    + 2).toFixed(1);
  const y = (v: number) => (HEIGHT - 3 - v / most * (HEIGHT - 6)).toFixed(1);
  const path = rates.map((rate, i) => rate === null ? ''
    : `${i > 0 && rates[i - 1] !== null ? 'L' : 'M'}${x(i)} ${y(rate)}h0`)
    .join('');
  return <svg class="spark" width={WIDTH} height={HEIGHT} role="img"
    aria-label={label}><path d={path} /></svg>;
}
