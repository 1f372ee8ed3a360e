/* Events of a service, as marks on its chart. */
import { useMemo } from 'preact/hooks';
import { all, get } from './api';
import type { Baseline, Process, Service, Worker } from './replies';
import { toFirst, toResult, type Result } from './result';
import { useData } from './use';

export type Mark = { at: number; kind: 'capture' | 'baseline' | 'trigger' |
  'restart' | 'shift'; text: string; href?: string; result?: Result;
  baseline?: Baseline;
  within?: [number, number] /* bounds of the time, if it is uncertain */ };

/* The singular and the plural. */
export const KINDS: Record<Mark['kind'], [string, string]> = {
  capture: ['capture', 'captures'],
  baseline: ['baseline', 'baselines'],
  trigger: ['trigger fired', 'triggers fired'],
  restart: ['restart', 'restarts'],
  shift: ['change', 'changes'],
};

/* A worker that starts, or a service that is added, finds what already
 * runs. */
const FOUND_MS = 10e3;

async function load(service: string, type: string, signal: AbortSignal) {
  const name = encodeURIComponent(service);
  const [baselines, processes, workers, { createdAt }] = await Promise.all([
    all<Baseline>(`/api/v1/profiling/baselines?${new URLSearchParams({
      service, profileType: type })}`, signal),
    all<Process>(`/api/v1/services/${name}/processes`, signal),
    all<Worker>('/api/v1/workers', signal),
    get<Service>(`/api/v1/services/${name}`, signal)]);
  const began = new Map(workers.map(w => [w.host, Date.parse(w.startedAt)]));
  return { baselines, restarts: processes.filter(p =>
    Date.parse(p.seenAt) > FOUND_MS + Math.max(Date.parse(createdAt),
      began.get(p.host) ?? 0)) };
}

const NAMED = { capture: ({ durationSeconds: n }: Result) =>
  n > 0 ? `capture of ${n} s` : 'capture', trigger: ({ labels }: Result) =>
  `trigger ${labels.trigger} fired` };

/* Captures at the same time are distinguished by their hosts. */
const whereIs = (captures: Result[]) => new Set(captures.map(r => r.host)).size
  > 1 ? ({ host }: Result) => host && ` on ${host}` : () => '';

function marksOf(captures: Result[], { baselines, restarts }:
  Awaited<ReturnType<typeof load>>) {
  const where = whereIs(captures);
  const marks: Mark[] = captures.map(result => {
    const kind = result.labels.trigger ? 'trigger' : 'capture';
    return { at: Date.parse(result.startedAt), kind, result,
      href: toFirst(result.id, result.profileType), text: NAMED[kind](result) + where(result) };
  });
  for (const b of baselines) {
    const of = captures.find(r => r.id === b.sessionId);
    marks.push({ at: Date.parse(of?.startedAt ?? b.createdAt),
      kind: 'baseline', text: `baseline ${b.baselineLabel}`, baseline: b,
      href: toResult(b.sessionId) });
  }
  for (const p of restarts)
    marks.push({ at: Date.parse(p.seenAt), kind: 'restart',
      text: `process ${p.pid} of ${p.host} began` });
  return marks.sort((a, b) => a.at - b.at);
}

const NONE = { baselines: [], restarts: [] };

/* The marks of a service and type up to a time, oldest first. */
export function useMarks(service: string, type: string, captures: Result[],
  now: number): Mark[] {
  const { data } = useData(`marks ${service} ${type}`, signal =>
    load(service, type, signal), 0, String(now));
  return useMemo(() => marksOf(captures, data ?? NONE), [captures, data]);
}
