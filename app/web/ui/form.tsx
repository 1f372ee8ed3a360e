/*
 * Forms for operations of the API: names, types, bounds, defaults and
 * descriptions come from the server's own description.
 */
import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { get, post, put } from './api';
import { fromLines, toLines } from './lines';
import { Matching } from './matching';
import { capital, Failure, sentence, Skeleton } from './parts';
import { useData } from './use';

export type Field = { type?: string; description?: string; enum?: string[];
  minimum?: number; maximum?: number; maxLength?: number;
  default?: string | number; examples?: string[]; items?: Field;
  properties?: Record<string, Field>; required?: string[];
  additionalProperties?: unknown };
type Schema = { required?: string[]; properties: Record<string, Field> };
type Method = 'post' | 'put';
type Described = { paths: Record<string, Partial<Record<Method, { requestBody:
  { content: Record<string, { schema: Schema }> } }>>> };
type Values = Record<string, unknown>;

let described: Promise<Described> | undefined;
const describe = () => described ??= get<Described>('/openapi.json')
  .catch(e => {
    described = undefined;
    throw e;
  });

async function schemaOf(path: string, method: Method) {
  const { paths } = await describe();
  return paths[path][method]!.requestBody.content['application/json'].schema;
}

/* Objects with arbitrary names are typed as lines. So is a match; it may also
   be a word to search for. */
const EXAMPLES: Record<string, string> = {
  match: 'unit = nginx.service',
  labels: 'team = web',
};

/* A name of the API, as words: expiresInDays is "Expires in days". */
export function words(name: string) {
  const text = name.replace(/[A-Z]/g, c => ' ' + c.toLowerCase());
  return capital(text)
    .replace(/\b(cpu|rss|url|pid)\b/gi, word => word.toUpperCase());
}

/* Titles that people read instead of a name of the API, and hints instead of
   its description; '' if the title needs none. */
const PLAIN: Record<string, [title: string, hint?: string]> = {
  match: ['Match', 'One rule, such as unit, exe, cmdline or container; the '
    + 'manual has all. Processes that the matching ones start in their unit '
    + 'are profiled, too.'],
  trigger: ['Name', 'Unique within the service.'],
  capture: ['Capture', ''],
  profileType: ['Type', ''],
  profileTypes: ['Types', 'Only Go programs have block and mutex all the time.'],
  shift: ['Change'],
  durationSeconds: ['Seconds', ''],
  sampleRate: ['CPU samples per second', ''],
  retentionDays: ['Days kept', ''],
  cooldownSeconds: ['Seconds until it may fire again', ''],
  description: ['Description', ''],
  pprofUrl: ['Address of pprof pages'],
  sourceLink: ['Link to the source'],
  traceLink: ['Link to a trace'],
  collector: ['Collector of OpenTelemetry'],
  metrics: ['Functions that are metrics'],
};
/* The last part of a name such as when.rss.bytes. */
const lastOf = (name: string) => name.slice(name.lastIndexOf('.') + 1);
export const titleOf = (name: string) => PLAIN[lastOf(name)]?.[0] ??
  words(lastOf(name));
const hintOf = ({ name, field }: Entry) => PLAIN[lastOf(name)]?.[1] ??
  field.description;

/* An object is a choice if all members are objects: {"rss": {"bytes": 1}} */
const isChoice = ({ properties = {} }: Field) => Object.values(properties)
  .every(p => p.type === 'object');
const hasMembers = (name: string, f: Field): f is Required<Field> =>
  f.properties !== undefined && !(name in EXAMPLES);

function linesOf(name: string, text: string, isText: boolean) {
  try {
    return fromLines(text, isText);
  } catch (e) {
    throw new Error(`${words(name)}: ${(e as Error).message}`);
  }
}

/* The separator of the texts in a list: names of functions have commas. */
const separator = (name: string) => lastOf(name) === 'metrics' ? ';' : ',';

/* "1.5 GiB", or a number of bytes. */
const UNITS = ['', 'K', 'M', 'G', 'T'];
const isSize = (name: string) => lastOf(name) === 'bytes';
function sizeOf(name: string, text: string) {
  const [, n, unit] = /^(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?$/i.exec(text) ?? [];
  if (n === undefined) throw new Error(
    `${titleOf(name)}: "${text}" should be a size, such as 1 GiB`);
  return Math.round(Number(n) * 1024 ** UNITS.indexOf(unit.toUpperCase()));
}

/* The value typed in a field; undefined if it was left empty, since the server
   knows the default. */
function valueOf(data: FormData, name: string, field: Field): unknown {
  const text = String(data.get(name) ?? '').trim();
  if (field.type === 'boolean') return text === 'on';
  if (field.items?.enum) return data.getAll(name);
  if (hasMembers(name, field)) return membersOf(data, name, field);
  if (text === '') return undefined;
  return isSize(name) ? sizeOf(name, text)
    : field.type === 'integer' || field.type === 'number' ? Number(text)
    : field.type === 'array' ? text.split(separator(name)).map(s => s.trim())
      .filter(Boolean)
      : field.type === 'object'
        ? linesOf(name, text, !!field.additionalProperties) : text;
}

function membersOf(data: FormData, name: string, field: Required<Field>) {
  const chosen = isChoice(field) ? [String(data.get(name))]
    : Object.keys(field.properties);
  const all = chosen.flatMap(of => of in field.properties ? [[of,
    valueOf(data, `${name}.${of}`, field.properties[of])]] : []);
  return Object.fromEntries(all.filter(([, v]) => v !== undefined));
}

function bodyOf(data: FormData, { properties }: Schema, fixed: Values) {
  const body = { ...fixed };
  for (const [name, field] of Object.entries(properties)) {
    const value = name in fixed ? undefined : valueOf(data, name, field);
    if (value !== undefined) body[name] = value;
  }
  return body;
}

type Known = Partial<Record<string, () => Promise<string[]>>>;
const Knows = createContext<Known>({});

/*
 * A button that opens a form, and sends its values to the path. operation: the
 * path in the description, if it differs; values: initial values of the fields;
 * fixed: values that are sent without a field; main: the fields shown first,
 * if not all; the others are folded; known: values to choose from, by the last
 * part of a field's name.
 */
type Making<T> = { word: string; title: string; path: string;
  operation?: string; method?: Method; values?: Values; fixed?: Values;
  main?: string[]; known?: Known; made: (what: T) => void };

export function Make<T>(props: Making<T> & { isMain?: boolean }) {
  const [isOpen, setOpen] = useState(false);
  return <>
    <button type="button" class={props.isMain === false ? '' : 'main'}
      onClick={() => setOpen(true)}>{props.word}</button>
    {isOpen && <Dialog<T> {...props} close={() => setOpen(false)} />}
  </>;
}

function Dialog<T>({ word, title, path, operation = path, method = 'post',
  values = {}, fixed = {}, main, known = {}, made, close }: Making<T> &
  { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const schema = useData(`schema ${method} ${operation}`,
    () => schemaOf(operation, method));
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => dialog.current!.showModal(), []);

  async function submit(e: SubmitEvent) {
    e.preventDefault();
    if (isBusy) return;
    const data = new FormData(e.currentTarget as HTMLFormElement);
    setBusy(true);
    try {
      const what = await (method === 'put' ? put : post)<T>(path,
        bodyOf(data, schema.data!, fixed));
      dialog.current!.close();
      made(what);
    } catch (e) {
      setError(e as Error);
      setBusy(false);
    }
  }

  const inputs = (names: string[]) => names.map(name => <Input key={name}
    name={name} field={schema.data!.properties[name]} value={values[name]}
    isRequired={!!schema.data!.required?.includes(name)} />);
  const all = Object.keys(schema.data?.properties ?? {}).filter(name =>
    !(name in fixed));
  const first = main ?? all, more = all.filter(name => !first.includes(name));
  return <dialog class="form fields" ref={dialog} onClose={close}
    aria-labelledby="form-title">
    <h2 id="form-title">{title}</h2>
    {schema.data ? <Knows.Provider value={known}><form onSubmit={submit}>
      {inputs(first)}
      {more.length > 0 && <details class="more" onInvalidCapture={e => {
        e.currentTarget.open = true;
      }}><summary>More</summary>{inputs(more)}</details>}
      {error && <p class="bad" role="alert">{sentence(error.message)}</p>}
      <div class="buttons">
        <button class="main" aria-disabled={isBusy}>{word}</button>
        <button type="button" onClick={() => dialog.current!.close()}>
          Cancel</button>
      </div>
    </form></Knows.Provider> : schema.error
      ? <Failure error={schema.error} again={schema.again} />
      : <Skeleton lines={3} />}
  </dialog>;
}

/* The initial value of a field, as text. */
function typed(name: string, value: unknown) {
  return value === undefined || value === null ? undefined
    : Array.isArray(value) ? value.join(separator(name) + ' ')
      : typeof value === 'object' ? toLines(value as Values) : String(value);
}

type Entry = { name: string; field: Field; value: unknown;
  isRequired: boolean };

function Input(entry: Entry) {
  const { name, field } = entry;
  return hasMembers(name, field) ? isChoice(field)
    ? <Choice {...entry} field={field} /> : <Members {...entry}
      field={field} /> : field.items?.enum ? <Several {...entry} />
    : <One {...entry} />;
}

function About(entry: Entry) {
  const { name, field } = entry, hint = hintOf(entry);
  return hint ? <p class="quiet" id={`about-${name}`}>{sentence(hint)}
    {field.type === 'array' && !field.items?.enum &&
      ` Separate them by ${separator(name) === ';' ? 'semicolons' : 'commas'}.`
    }</p> : null;
}

/* An object, as a group of fields. */
function Members(entry: Entry & { field: Required<Field> }) {
  const { name, field, value } = entry;
  return <fieldset class="group"><legend>{titleOf(name)}</legend>
    <About {...entry} />
    <Fields name={name} field={field} value={value} /></fieldset>;
}

const Fields = ({ name, field: { properties = {}, required = [] }, value }:
  Omit<Entry, 'isRequired'>) => <>{Object.entries(properties).map(
  ([of, field]) => <Input key={of} name={`${name}.${of}`} field={field}
    value={(value as Values | undefined)?.[of] ??
      (field.type === 'boolean' ? false : undefined)}
    isRequired={required.includes(of)} />)}</>;

/* A choice among several objects, and the fields of the chosen one. */
function Choice(entry: Entry & { field: Required<Field> }) {
  const { name, field: { properties }, value } = entry;
  const of = value as Values | undefined, kinds = Object.keys(properties);
  const [kind, set] = useState(Object.keys(of ?? {})[0] ?? kinds[0]);
  return <fieldset class="group"><legend>{titleOf(name)}</legend>
    <div class="field"><label>What
      <select name={name} value={kind} aria-describedby={`about-${name}`}
        onChange={e => set(e.currentTarget.value)}>
        {kinds.map(k => <option key={k} value={k}>{titleOf(k)}</option>)}
      </select></label>
    <About {...entry} field={properties[kind]} /></div>
    <Fields key={kind} name={`${name}.${kind}`} field={properties[kind]}
      value={of?.[kind]} /></fieldset>;
}

/* A choice of any number of words. */
function Several(entry: Entry) {
  const { name, field, value } = entry, chosen = value as string[] | undefined;
  return <fieldset class="group several"><legend>{titleOf(name)}</legend>
    <About {...entry} />
    {field.items!.enum!.map(word => <label key={word}>
      <input type="checkbox" name={name} value={word}
        defaultChecked={chosen?.includes(word)} />{word}</label>)}
  </fieldset>;
}

function Choices({ id, ask }: { id: string; ask: () => Promise<string[]> }) {
  const [all, set] = useState<string[]>([]);
  useEffect(() => { ask().then(set, () => {}); }, []);
  return <datalist id={id}>{all.map(text => <option key={text}>{text}</option>)}
  </datalist>;
}

/* The default name comes from the match: nginx for nginx.service. */
const nameFor = (text: string) => text.replace(/^.*[/ ]/, '')
  .replace(/\.service$/, '').replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 63);

function One(entry: Entry) {
  const { name, field, value, isRequired } = entry;
  const isNumber = field.type === 'integer' || field.type === 'number';
  const hint = isSize(name) ? '1 GiB'
    : String(field.default ?? field.examples?.[0] ?? '');
  const common = { name, required: isRequired,
    'aria-describedby': hintOf(entry) && `about-${name}`,
    defaultValue: typed(name, value) };
  const ask = useContext(Knows)[lastOf(name)];
  const list = ask && `known-${name}`;
  const [lines, setLines] = useState(typed(name, value) ?? '');
  const area = useRef<HTMLTextAreaElement>(null);
  const choose = (text: string, program: string) => {
    const of = area.current!.form!.elements.namedItem('name');
    if (of instanceof HTMLInputElement && !of.value)
      of.value = nameFor(program);
    setLines(text);
    area.current!.focus();
  };
  return <div class={field.type === 'object' ? 'field lines' : 'field'}>
    <label>{titleOf(name)}
      {field.enum ? <select {...common}
        defaultValue={typed(name, value) ?? field.default}>
        {!isRequired && field.default === undefined && <option />}
        {field.enum.map(v => <option key={v}>{v}</option>)}</select>
        : field.type === 'boolean' ? <input {...common} type="checkbox"
          defaultChecked={value !== false} />
          : field.type === 'object' ? <textarea {...common} ref={area} rows={2}
            spellcheck={false} placeholder={EXAMPLES[name] ?? ''} value={lines}
            onInput={e => setLines(e.currentTarget.value)} />
            : isNumber && !isSize(name) ? <input {...common} type="number"
              min={field.minimum} max={field.maximum} placeholder={hint}
              step={field.type === 'integer' ? 1 : 'any'} />
              : <input {...common} maxLength={field.maxLength} list={list}
                autoComplete="off" placeholder={hint} />}
    </label>
    {ask && <Choices id={`known-${name}`} ask={ask} />}
    {name === 'match' && <Matching text={lines} choose={choose} />}
    <About {...entry} />
  </div>;
}
