/*
 * Forms of what operations of the API take: names, types, bounds, defaults and
 * descriptions are those of the server's own description.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, post, put } from './api';
import { fromLines, toLines } from './lines';
import { Matching } from './matching';
import { Failure, sentence, Skeleton } from './parts';
import { useData } from './use';

export type Field = { type?: string; description?: string; enum?: string[];
  minimum?: number; maximum?: number; maxLength?: number;
  default?: string | number; examples?: string[];
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

/* Fields that are objects are typed as lines, "cpu.percent = 80". */
const EXAMPLES: Record<string, string> = {
  match: 'unit = nginx.service',
  labels: 'team = web',
  allow: 'javaPerfMap = true',
  when: 'cpu.percent = 80',
  capture: 'durationSeconds = 30',
};

/* A name of the API, as words: expiresInDays is "Expires in days". */
export function words(name: string) {
  const text = name.replace(/[A-Z]/g, c => ' ' + c.toLowerCase());
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function linesOf(name: string, text: string, isText: boolean) {
  try {
    return fromLines(text, isText);
  } catch (e) {
    throw new Error(`${words(name)}: ${(e as Error).message}`);
  }
}

/* Fields that were left empty are not sent: the server has their defaults. */
function bodyOf(data: FormData, { properties }: Schema, fixed: Values) {
  const body = { ...fixed };
  for (const [name, { type, additionalProperties }] of
    Object.entries(properties)) {
    const text = String(data.get(name) ?? '').trim();
    if (name in fixed || (text === '' && type !== 'boolean')) continue;
    body[name] = type === 'integer' || type === 'number' ? Number(text)
      : type === 'array' ? text.split(',').map(s => s.trim()).filter(Boolean)
        : type === 'object' ? linesOf(name, text, !!additionalProperties)
          : type === 'boolean' ? text === 'on' : text;
  }
  return body;
}

/*
 * A button that opens a form, and sends what is typed to the path. operation is
 * the path as the description has it, where that is another; values are what
 * the fields begin with, and fixed is sent without being asked for.
 */
type Making<T> = { word: string; title: string; path: string;
  operation?: string; method?: Method; values?: Values; fixed?: Values;
  made: (what: T) => void };

export function Make<T>(props: Making<T> & { isMain?: boolean }) {
  const [isOpen, setOpen] = useState(false);
  return <>
    <button type="button" class={props.isMain === false ? '' : 'main'}
      onClick={() => setOpen(true)}>{props.word}</button>
    {isOpen && <Dialog<T> {...props} close={() => setOpen(false)} />}
  </>;
}

function Dialog<T>({ word, title, path, operation = path, method = 'post',
  values = {}, fixed = {}, made, close }: Making<T> & { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const schema = useData(`schema ${method} ${operation}`,
    () => schemaOf(operation, method));
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => dialog.current!.showModal(), []);

  async function submit(e: SubmitEvent) {
    e.preventDefault();
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

  return <dialog class="form fields" ref={dialog} onClose={close}
    aria-labelledby="form-title">
    <h2 id="form-title">{title}</h2>
    {schema.data ? <form onSubmit={submit}>
      {Object.entries(schema.data.properties)
        .filter(([name]) => !(name in fixed)).map(([name, field]) =>
          <Input key={name} name={name} field={field} value={values[name]}
            isRequired={!!schema.data!.required?.includes(name)} />)}
      {error && <p class="bad" role="alert">{sentence(error.message)}</p>}
      <div class="buttons">
        <button class="main" disabled={isBusy}>{word}</button>
        <button type="button" onClick={() => dialog.current!.close()}>
          Cancel</button>
      </div>
    </form> : schema.error
      ? <Failure error={schema.error} again={schema.again} />
      : <Skeleton lines={3} />}
  </dialog>;
}

/* What a field begins with, as it is typed. */
function typed(value: unknown) {
  return value === undefined || value === null ? undefined
    : Array.isArray(value) ? value.join(', ')
      : typeof value === 'object' ? toLines(value as Values) : String(value);
}

function Input({ name, field, value, isRequired }: { name: string;
  field: Field; value: unknown; isRequired: boolean }) {
  const isNumber = field.type === 'integer' || field.type === 'number';
  const hint = String(field.default ?? field.examples?.[0] ?? '');
  const about = `about-${name}`, common = { name, required: isRequired,
    'aria-describedby': about, defaultValue: typed(value) };
  const [lines, setLines] = useState(typed(value) ?? '');
  const area = useRef<HTMLTextAreaElement>(null);
  const choose = (text: string) => {
    setLines(text);
    area.current!.focus();
  };
  return <div class={field.type === 'object' ? 'field lines' : 'field'}>
    <label>{words(name)}
      {field.enum ? <select {...common}
        defaultValue={typed(value) ?? field.default}>
        {!isRequired && field.default === undefined && <option />}
        {field.enum.map(v => <option key={v}>{v}</option>)}</select>
        : field.type === 'boolean' ? <input {...common} type="checkbox"
          defaultChecked={value !== false} />
          : field.type === 'object' ? <textarea {...common} ref={area} rows={2}
            spellcheck={false} placeholder={EXAMPLES[name] ?? ''} value={lines}
            onInput={e => setLines(e.currentTarget.value)} />
            : isNumber ? <input {...common} type="number" min={field.minimum}
              max={field.maximum} placeholder={hint} />
              : <input {...common} maxLength={field.maxLength}
                autoComplete="off" placeholder={hint} />}
    </label>
    {name === 'match' && <Matching text={lines} choose={choose} />}
    <p class="quiet" id={about}>{sentence(field.description ?? '')}
      {field.type === 'array' && ' Separate them by commas.'}</p>
  </div>;
}
