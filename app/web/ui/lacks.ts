/*
 * Which types of profiles a service cannot give now, as the checks of its
 * worker tell, and the line that mends it.
 */
export type Check = { host: string; part: string; check: string;
  verdict: string; found: string; fix: string };
export type Target = { kind: string; host: string; source: string;
  match: Record<string, unknown>; pprofUrl: string };
/* isSure: not even some kind of process of the service could give it. */
export type Lack = { type: string; why: string; fix: string;
  isSure: boolean };

/* The check that a type stands on: of native programs, and of those in Go. */
const NEEDS: Record<string, [string, string]> = {
  cpu: ['events', 'events'],
  memory: ['allocations', 'memory'],
  alloc: ['allocations', 'memory'],
  block: ['waits', 'memory'],
  mutex: ['waits', 'memory'],
  io: ['waits', 'waits'],
  goroutine: ['memory', 'memory'],
};

/* Pages are asked in the place of processes. */
export const hasPagesOnly = ({ source, match, pprofUrl }: Target) =>
  source === 'endpoint' || source === 'auto' && pprofUrl !== '' &&
    Object.keys(match).length === 0;

const isPoor = ({ verdict }: Check) =>
  verdict === 'broken' || verdict === 'warning';

export function lacksOf(of: Target, checks: Check[]): Lack[] {
  if (hasPagesOnly(of)) return [{ type: 'io', isSure: true,
    why: 'pages of net/http/pprof have no io profile',
    fix: 'Let the service match its processes.' }];
  const poor = checks.filter(c => isPoor(c) && c.part === 'worker' &&
    (!of.host || c.host === of.host));
  return Object.entries(NEEDS).flatMap(([type, [native, go]]) => {
    const asked = of.kind === 'native' ? [native] : of.kind === 'go' ? [go]
      : [native, go];
    const found = asked.map(name => poor.find(c => c.check === name));
    const first = found.find(c => c !== undefined);
    return first ? [{ type, why: first.found, fix: first.fix,
      isSure: found.every(c => c !== undefined) }] : [];
  });
}
