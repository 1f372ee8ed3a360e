/*
 * Requests to the API of the same server. Each sends the cookie of the browser
 * session; a reply that says the session has ended ends it here, too.
 */
import type { Caller as Reply } from './replies';

export type Caller = Reply & { role: 'viewer' | 'operator' | 'admin' };

/* An error that the API returned; status 0: there was no reply. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

const UNREACHABLE = 'Stoker cannot be reached. Check the connection and that '
  + 'the server runs; the page then continues by itself.';

let signedOut = () => {};
export function onSignedOut(action: () => void) {
  signedOut = action;
}

async function refusal(reply: Response): Promise<ApiError> {
  try {
    const { message, error_code: code, details } = await reply.json();
    return new ApiError(reply.status, code, message, details);
  } catch {
    return new ApiError(reply.status, 'Unknown',
      `the server answered ${reply.status} ${reply.statusText}`);
  }
}

/* How far the server's clock is ahead of the browser's, in milliseconds:
   recent data is requested by the server's time. Replies give it in whole
   seconds. */
let ahead = 0;
const EXACT_MS = 2e3;
function readClock(reply: Response) {
  const off = Date.parse(reply.headers.get('Date') ?? '') - Date.now();
  ahead = Math.abs(off) > EXACT_MS ? off : 0;
}
export const serverNow = () => Date.now() + ahead;

/* The reply itself; errors are thrown as ApiError. */
export async function send(path: string, init: RequestInit = {}) {
  let reply: Response;
  try {
    reply = await fetch(path, { cache: 'no-cache', ...init });
  } catch (e) {
    if (init.signal?.aborted) throw e;
    throw new ApiError(0, 'Unreachable', UNREACHABLE);
  }
  readClock(reply);
  if (reply.ok) return reply;
  const error = await refusal(reply);
  const isOurs = !new Headers(init.headers).has('Authorization');
  if (reply.status === 401 && isOurs) signedOut();
  throw error;
}

/*
 * Replies that are on their way: parts of a page that need the same one share
 * it. The request is aborted when all of them have given it up.
 */
const awaited = new Map<string, { reply: Promise<unknown>; readers: number;
  stop: AbortController }>();

function ask(path: string) {
  const stop = new AbortController();
  const reply = send(path, { signal: stop.signal }).then(r => r.json())
    .finally(() => forget(path, of));
  const of = { reply, readers: 0, stop };
  awaited.set(path, of);
  return of;
}
function forget(path: string, of: object) {
  if (awaited.get(path) === of) awaited.delete(path);
}

export async function get<T>(path: string, signal?: AbortSignal) {
  signal?.throwIfAborted();
  const of = awaited.get(path) ?? ask(path);
  of.readers++;
  signal?.addEventListener('abort', () => {
    if (--of.readers > 0) return;
    forget(path, of);
    of.stop.abort();
  });
  return of.reply as Promise<T>;
}

async function change<T>(method: string, path: string, body?: unknown) {
  const reply = await send(path, body === undefined ? { method } : {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  awaited.clear(); /* they may show the state before the change */
  return (reply.status === 204 ? undefined : await reply.json()) as T;
}

export const post = <T>(path: string, body?: unknown) =>
  change<T>('POST', path, body);
export const put = <T>(path: string, body: unknown) =>
  change<T>('PUT', path, body);
export const remove = <T = void>(path: string) => change<T>('DELETE', path);

/* All items of a list, page by page. */
export async function all<T>(path: string, signal?: AbortSignal) {
  const items: T[] = [], to = new URL(path, location.origin);
  to.searchParams.set('limit', '500');
  for (;;) {
    const page = await get<{ items: T[]; nextCursor: string | null }>(
      to.pathname + to.search, signal);
    items.push(...page.items);
    if (!page.nextCursor) return items;
    to.searchParams.set('cursor', page.nextCursor);
  }
}

export const PROFILING = '/api/v1/observability/profiling';
const SESSION = '/api/v1/browser-session';

const by = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });

/* The caller; null if nobody is signed in. */
export async function whoIsThere(): Promise<Caller | null> {
  const reply = await send(SESSION + '?optional=true');
  return reply.status === 204 ? null : reply.json();
}
/* The caller that a key, or the secret of a link, signs in. */
export const whoHas = async (key: string): Promise<Caller> =>
  (await send(SESSION, by(key))).json();
export const signOut = () => remove(SESSION);
/* Switches the cookie to another tenant. */
export const switchTenant = (tenant: string) =>
  send(SESSION, { method: 'PUT', headers: { 'X-Tenant-ID': tenant } });

/* Only the cookie is kept, never the key itself. */
export async function signIn(key: string): Promise<Caller> {
  return (await send(SESSION, { method: 'POST', ...by(key) })).json();
}
