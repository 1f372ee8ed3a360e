/* The upload of a profile: a file that is dropped or chosen. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { all, ApiError, post, send } from './api';
import { types } from './start';
import type { PageProps } from './pages';
import { Empty, Head, sentence } from './parts';
import { toResult } from './result';
import { go, to } from './route';
import type { Service } from './replies';
import { useData } from './use';

export default function Upload({ caller, query }: PageProps) {
  const [file, setFile] = useState<File>(), [isOver, setOver] = useState(false);
  const [error, setError] = useState<Error>(), [isBusy, setBusy] =
    useState(false);
  const { data } = useData('types', types), form =
    useRef<HTMLFormElement>(null);
  const services = useData('names', signal =>
    all<Service>('/api/v1/services', signal));
  useEffect(() => { document.title = 'Upload · Stoker'; }, []);
  if (caller.role === 'viewer') return <Empty title="For operators">
    <p>Profiles are uploaded by operators and administrators. You are signed in
      as viewer.</p></Empty>;

  /* isNew: the service is added first */
  async function upload(isNew = false) {
    const q = new URLSearchParams();
    for (const [name, value] of new FormData(form.current!))
      if (typeof value === 'string' && value) q.set(name, value);
    setBusy(true);
    try {
      if (isNew) await post('/api/v1/services', { name: q.get('service') });
      const reply = await send(`/api/v1/profiling/sessions?${q}`, {
        method: 'POST', body: file,
        headers: { 'Content-Type': 'application/octet-stream' } });
      go(toResult((await reply.json()).id));
    } catch (e) {
      setError(e as Error);
      setBusy(false);
    }
  }
  const submit = (e: SubmitEvent) => {
    e.preventDefault();
    upload();
  };
  const drop = (e: DragEvent) => {
    e.preventDefault();
    setOver(false);
    setFile(e.dataTransfer!.files[0]);
  };
  const over = (e: DragEvent) => {
    e.preventDefault();
    setOver(true);
  };

  return <form class="upload" ref={form} onSubmit={submit}>
    <Head title="Upload a profile" />
    <label class={isOver ? 'drop over' : 'drop'} onDragOver={over}
      onDragLeave={() => setOver(false)} onDrop={drop}>
      {file ? <b>{file.name}</b> : 'Drop a file here, or choose one'}
      <input type="file" class="unseen" required={!file}
        onChange={e => setFile(e.currentTarget.files![0])} />
      <span class="quiet">pprof, folded stacks, Speedscope, perf script,
        profiles of V8, Java (JFR) and callgrind, or goroutines as Go prints
        them; plain, or compressed with gzip or zstd</span>
    </label>
    <div class="row">
      <label>Service <input name="service" required maxLength={63}
        autoComplete="off" list="known"
        defaultValue={query.get('service') ?? ''} /></label>
      <datalist id="known">{services.data?.map(s =>
        <option key={s.name}>{s.name}</option>)}</datalist>
      <label>Type <select name="type">
        <option value="">as in the file</option>{data?.map(t =>
          <option key={t}>{t}</option>)}</select></label>
      <button class="main" disabled={isBusy || !file}>Upload</button>
    </div>
    {error && <p class="bad" role="alert">{sentence(error.message)}
      {error instanceof ApiError && error.code === 'UnknownService' &&
        <> {caller.role === 'admin' ? <button type="button" disabled={isBusy}
          onClick={() => upload(true)}>Add the service and upload</button>
          : <a href={to('/services')}>See which there are</a>}</>}</p>}
  </form>;
}
