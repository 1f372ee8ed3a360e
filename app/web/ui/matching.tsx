/*
 * The processes that a match selects now, while it is typed; before there is a
 * match, the programs to choose from, filtered by the typed word.
 */
import { useEffect, useState } from 'preact/hooks';
import { visible } from '../flame/text.js';
import { post } from './api';
import { fromLines } from './lines';
import { sentence } from './parts';
import { INTERPRETERS, type SurveyHost } from './replies';
import { useData } from './use';

type Process = { pid: number; unit: string; executable: string;
  command: string; container?: string; namespace?: string; pod?: string;
  project?: string; service?: string; otelService?: string;
  processes: number; cpuSeconds: number; ageSeconds: number };
/* The processes that one match selects. */
type Program = { match: string; of: Process; processes: number; cpus: number };
type Found = { processes: Process[]; matching: number; outOfScope: number };
type Host = SurveyHost & { found: Partial<Found> };
type Survey = { items: Host[] };
type Rule = Record<string, unknown>;

const PAUSE_MS = 300, REFRESH_MS = 5e3, SHOWN = 8;
const WORDS_MAX = 500; /* length of a pattern; the API accepts 512 bytes */

/* The text after typing has paused. */
function useSettled(text: string) {
  const [settled, set] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => set(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/* Parses the typed match: {} for a word, null for an incomplete line. */
function ruleOf(text: string): Rule | null {
  if (!text.includes('=')) return {};
  try {
    return fromLines(text, false);
  } catch {
    return null;
  }
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
/* Programs that run others: their executable says little. */
const INTERPRETER = new RegExp(
  `/(${INTERPRETERS.map(escaped).join('|')})[\\d.]*$`);

/*
 * A pattern for a program that an interpreter runs: the first two words
 * identify it, unless the second is an option.
 */
function patternOf(command: string) {
  const [first, second = ''] = command.split(' ');
  return second === '' || second.startsWith('-')
    ? `^${escaped(command).slice(0, WORDS_MAX)}`
    : `^${escaped(first)} ${escaped(second)}( |$)`;
}

/* The part that differs between the pods of one owner: five random letters,
 * preceded by a hash if the owner is a deployment. */
const LETTER = '[bcdfghjklmnpqrstvwxz2456789]';
const RANDOM = new RegExp(`(-${LETTER}{6,10})?-${LETTER}{5}$`);

/* The part that distinguishes a process from others, for a name. */
function programOf({ unit, executable, command, container, project,
  service }: Process) {
  const [, script = ''] = command.split(' ');
  return project && service ? service : container ? container
    : unit.endsWith('.service') && !/^user@\d+\./.test(unit) ? unit
    : INTERPRETER.test(executable) && script && !script.startsWith('-')
      ? script : executable;
}

/* The match for a process and its successors after a restart. */
function matchOf({ unit, executable, command, container, namespace, pod,
  project, service, otelService }: Process) {
  if (pod) return `pod.namespace = ${namespace}\n`
    + `pod.name = ${pod.replace(RANDOM, '-*')}\npod.container = ${container}`;
  if (project) return `compose.project = ${project}`
    + (service ? `\ncompose.service = ${service}` : '');
  if (container) return `container = ${container}`;
  if (unit.endsWith('.service') && !/^user@\d+\./.test(unit))
    return `unit = ${unit}`;
  if (otelService) return `otelService = ${otelService}`;
  /* a match is one line, so a path with control characters cannot be one */
  return executable && !INTERPRETER.test(executable) &&
    !/[\0-\x1f]/.test(executable) ? `exe = ${executable}`
    : `cmdline = ${patternOf(command)}`;
}

/* Busiest first, idle ones by name. */
const named = ({ of }: Program) => programOf(of).replace(/^.*\//, '');
const byCost = (a: Program, b: Program) => Math.round(100 * b.cpus) -
  Math.round(100 * a.cpus) || named(a).localeCompare(named(b));

function programsOf(processes: Process[]) {
  const all = new Map<string, Program>();
  for (const p of processes) {
    const match = matchOf(p), cpus = p.cpuSeconds / Math.max(p.ageSeconds, 1);
    const known = all.get(match);
    all.set(match, { match, of: known?.of ?? p,
      processes: (known?.processes ?? 0) + p.processes,
      cpus: (known?.cpus ?? 0) + cpus });
  }
  return [...all.values()].sort(byCost);
}

export function Matching({ text, choose }:
  { text: string; choose: (match: string, program: string) => void }) {
  const settled = useSettled(text), rule = ruleOf(settled);
  const isAll = rule !== null && Object.keys(rule).length === 0;
  const { data, error } = useData('survey ' + JSON.stringify(rule), async () =>
    rule && post<Survey>('/api/v1/processes', isAll ? {} : { match: rule }),
  REFRESH_MS);
  const hosts = data?.items ?? [], word = settled.trim().toLowerCase();
  const isWanted = (p: Process) => !isAll ||
    `${p.pid} ${p.command} ${p.executable} ${p.unit} ${containerOf(p)}`
      .toLowerCase().includes(word);
  return <div class="matching">
    <p role="status" class={error ? 'bad' : 'quiet'}>{error
      ? sentence(error.message) : data ? told(hosts, isAll) : ''}</p>
    {!error && hosts.map(h => <ul key={h.host} aria-label={h.host}>
      {hosts.length > 1 && <li><b>{h.host}</b></li>}
      {isAll ? programsOf((h.found.processes ?? []).filter(isWanted)).map(p =>
        <li key={p.match}><button type="button"
          title={visible(p.match) + '\n' + visible(p.of.command)}
          onClick={() => choose(p.match, programOf(p.of))}>
          <span class="quiet">{p.cpus.toFixed(2)} CPUs{p.processes > 1 &&
            ` · ${p.processes} processes`}</span>{' '}
          <Words of={p.of} /></button></li>)
        : (h.found.processes ?? []).sort((a, b) => a.pid - b.pid)
          .slice(0, SHOWN).map(p => <li key={p.pid}><span title={visible(p.command)}>
            <span class="quiet">{p.pid}</span> <Words of={p} /></span></li>)}
    </ul>)}
  </div>;
}

const containerOf = ({ container, namespace, pod, otelService }: Process) => pod
  ? `${namespace}/${pod}/${container}` : container || otelService || '';

function Words({ of }: { of: Process }) {
  const where = containerOf(of) || of.unit;
  return <>{visible(of.command || of.executable)}
    {where && <span class="quiet"> {visible(where)}</span>}</>;
}

/* The findings of all hosts in a sentence or two. */
function told(hosts: Host[], isAll: boolean) {
  const sum = (of: 'matching' | 'outOfScope') =>
    hosts.reduce((n, h) => n + (h.found[of] ?? 0), 0);
  const n = sum('matching'), out = sum('outOfScope');
  const listed = hosts.reduce((n, h) =>
    n + (h.found.processes?.length ?? 0), 0);
  const late = hosts.filter(h => !h.answered).map(h => h.host).join(', ');
  if (hosts.length === 0) return 'No worker is alive that could look.';
  const first = n === 0 ? late ? '' : isAll ? 'Nothing runs here that this '
    + 'tenant may profile: [scope] in stoker.conf says what it may.'
    : 'No process matches now.'
    : isAll ? `Choose from ${listed < n ? `the first ${listed} of ${n} `
      + 'processes' : 'what runs'}, the busiest first, or type a word:`
      : n === 1 ? 'One process matches:' : `${n} processes match:`;
  return [first, out && `${out} more outside of the tenant's scope, which is `
    + 'set in stoker.conf.', late && `No answer yet from ${late}.`]
    .filter(Boolean).join(' ');
}
