/*
 * The current page: the path and the query of the address. Links are plain <a
 * href>; those that lead to pages of the application change the address without
 * loading it again. The fragment belongs to the flame graph.
 */
import { useEffect, useState } from 'preact/hooks';

const BASE = '/ui';
const listeners = new Set<() => void>();
const tell = () => { for (const listener of listeners) listener(); };

export type Place = { path: string; query: URLSearchParams };

/* The path is below /ui/, without a slash at its end. */
function place(): Place {
  return {
    path: location.pathname.slice(BASE.length).replace(/\/$/, ''),
    query: new URLSearchParams(location.search),
  };
}

/* An address of the application; values that are '' are left out. */
export function to(path: string, query: Record<string, string> = {}) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value) q.set(name, value);
  return BASE + path + (String(q) ? '?' + q : '');
}

export function go(url: string, how: 'push' | 'replace' = 'push') {
  history[how === 'push' ? 'pushState' : 'replaceState'](null, '', url);
  if (how === 'push') scrollTo(0, 0);
  tell();
}

export function usePlace(): Place {
  const [now, set] = useState(place);
  useEffect(() => {
    const listener = () => set(place());
    listeners.add(listener);
    return () => { listeners.delete(listener); };
  }, []);
  return now;
}

function onClick(e: MouseEvent) {
  const a = (e.target as Element).closest?.('a');
  if (!a || e.defaultPrevented || e.button !== 0 || e.ctrlKey || e.metaKey ||
      e.shiftKey || e.altKey || a.target || a.download ||
      a.origin !== location.origin || !a.pathname.startsWith(BASE + '/') ||
      a.getAttribute('href')!.startsWith('#')) return;
  e.preventDefault();
  go(a.href);
}

export function listen() {
  addEventListener('popstate', tell);
  document.addEventListener('click', onClick);
}
