/* Loading of data, once and repeatedly, for all pages. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from './api';

export type Loaded<T> = {
  data?: T;
  error?: Error;
  isLoading: boolean;
  isOld: boolean; /* data belongs to an earlier key */
  again: () => void;
};

const RETRY_MS = 5e3;
const IS_AWAY = ['ApiTimeout', 'ApiUnavailable', 'StoreUnavailable'];
/* True for an error that goes away when the server, the API behind it or the
   store is back. */
const isUnreachable = (e: unknown) => e instanceof ApiError &&
  (e.status === 0 || IS_AWAY.includes(e.code));

/* Calls again() some time after such an error. */
export function useRetry(error: unknown, again: () => void) {
  useEffect(() => {
    if (!isUnreachable(error)) return;
    const timer = setTimeout(again, RETRY_MS);
    return () => clearTimeout(timer);
  }, [error]);
}

/*
 * Loads data when the key or its part changes, and periodically while the page
 * is visible. Old data stays until new data arrives, unless the key changed. A
 * part with an error has no data, unless the server cannot be reached.
 */
export function useData<T>(key: string,
  load: (signal: AbortSignal) => Promise<T>, everyMs = 0, part = ''):
  Loaded<T> {
  const [state, set] = useState<{ key: string; part?: string; data?: T;
    error?: Error }>({ key: '' });
  const [turn, next] = useState(0);
  const loader = useRef(load);
  loader.current = load;
  const again = useCallback(() => next(n => n + 1), []);
  useEffect(() => {
    const stop = new AbortController();
    loader.current(stop.signal).then(
      data => { if (!stop.signal.aborted) set({ key, part, data }); },
      error => {
        if (!stop.signal.aborted)
          set(old => ({ key, part: old.part, error, data: old.key === key &&
            (old.part === part || isUnreachable(error)) ? old.data
            : undefined }));
      });
    return () => stop.abort();
  }, [key, part, turn]);
  useRetry(everyMs === 0 && state.error, again);
  useEffect(() => {
    if (everyMs === 0) return;
    const timer = setInterval(() => { if (!document.hidden) again(); },
      everyMs);
    const seen = () => { if (!document.hidden) again(); };
    document.addEventListener('visibilitychange', seen);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [everyMs]);
  const isFresh = state.key === key;
  return { data: isFresh ? state.data : undefined,
    error: isFresh ? state.error : undefined,
    isLoading: !isFresh, isOld: isFresh && state.part !== part, again };
}
