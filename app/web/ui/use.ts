/* What pages share: data that is asked for, and asked for again. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from './api';

export type Loaded<T> = {
  data?: T;
  error?: Error;
  isLoading: boolean;
  again: () => void;
};

const RETRY_MS = 5e3;
/* True of an error that ends by itself when the server is there again. */
const isUnreachable = (e: unknown) =>
  e instanceof ApiError && e.status === 0;

/* Calls again() some time after an error that ends by itself. */
export function useRetry(error: unknown, again: () => void) {
  useEffect(() => {
    if (!isUnreachable(error)) return;
    const timer = setTimeout(again, RETRY_MS);
    return () => clearTimeout(timer);
  }, [error]);
}

/*
 * Loads when the key changes, and every so many milliseconds while the page is
 * looked at. Older data stays until newer is there, unless the key changed.
 */
export function useData<T>(key: string,
  load: (signal: AbortSignal) => Promise<T>, everyMs = 0): Loaded<T> {
  const [state, set] = useState<{ key: string; data?: T; error?: Error }>(
    { key: '' });
  const [turn, next] = useState(0);
  const loader = useRef(load);
  loader.current = load;
  const again = useCallback(() => next(n => n + 1), []);
  useEffect(() => {
    const stop = new AbortController();
    loader.current(stop.signal).then(
      data => { if (!stop.signal.aborted) set({ key, data }); },
      error => {
        if (!stop.signal.aborted)
          set(old => ({ key, error,
            data: old.key === key ? old.data : undefined }));
      });
    return () => stop.abort();
  }, [key, turn]);
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
    isLoading: !isFresh, again };
}
