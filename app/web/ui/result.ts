/* A capture as the API returns it, and functions about captures that pages
 * share. */
import { get, PROFILING } from './api';
import { sentence } from './parts';
import { WAYS, type ProfileResult } from './replies';
import { to } from './route';

export type Result = ProfileResult & {
  labels: Record<string, string>;
  quality: { verdict: string; goroutines?: number };
};

/* True for a capture; windows of continuous profiling are sums, without times
 * inside. */
export const isSession = (id: string) => id.startsWith('sess-');

/* The reliability of a completed capture, in a word. */
export const verdictOf = (r: Result) =>
  r.sampleCount > 0 ? r.quality.verdict : 'empty';

/* A part of a capture has a separate id: ID.FROM-TO, or ID.FROM-TO.TID. */
export const partId = (id: string, from: number, to: number, tid = '') =>
  `${id}.${from}-${to}${tid && '.' + tid}`;
export function partOf(id: string) {
  const [, whole, from, to, tid] =
    /^([^.]+)\.(\d+)-(\d+)(?:\.(\d+))?$/.exec(id) ?? [];
  return to === undefined ? null
    : { whole, from: Number(from), to: Number(to), tid };
}
/* A length of time as seconds. */
export const lengthOf = (ms: number) => `${Number((ms / 1000).toFixed(2))} s`;

export const resultPath = (id: string) =>
  `${PROFILING}/${encodeURIComponent(id)}`;
export const toResult = (id: string) => to(`/p/${encodeURIComponent(id)}`);
/* The page to open first: for goroutines and threads, the page of their
 * stacks. */
export const toFirst = (id: string, type: string) => toResult(id) +
  (type === 'goroutine' ? '/threads' : '');
export const toService = (name: string, query?: Record<string, string>) =>
  to(`/s/${encodeURIComponent(name)}`, query);

export const toSettings = (name: string) =>
  to(`/s/${encodeURIComponent(name)}/settings`);

/* The reason why a type is not profiled continuously. Only Go programs count
   their waits all the time; waits of other programs are measured during
   captures. */
const has = (profileType: string, by: string) =>
  WAYS.some(({ type, engine }) => type === profileType && engine === by);
const isOfGo = (type: string) => has(type, 'BUCKETS') && !has(type, 'HEAP');
export const whyNot = ({ profileType: type, message }:
  { profileType: string; message: string }) =>
  isOfGo(type) && message.startsWith('no process of the service runs')
    ? `Only Go programs have profiles of type ${type} all the time; of other ${
      ''}programs, Profile now takes one.` : sentence(message);

/* The newest capture, of one type or of all. */
export async function latest(service: string, signal: AbortSignal,
  profileType = '') {
  const q = new URLSearchParams({ service, limit: '1', resolution: 'none',
    ...profileType && { profileType } });
  const { items } = await get<{ items: Result[] }>(
    `${PROFILING}/history?${q}`, signal);
  return items[0] as Result | undefined;
}
