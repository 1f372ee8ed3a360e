/*
 * Reads an OpenAPI document for the page. All functions are pure.
 */
const METHODS = ['get', 'post', 'put', 'delete'];

export function resolve(doc, node) {
  if (!node || !node.$ref) return node || {};
  return node.$ref.slice(2).split('/').reduce((at, key) => at[key], doc);
}

export const nameOf = ref => ref.slice(ref.lastIndexOf('/') + 1);

/* Every operation, in the order of the document. */
export function operations(doc) {
  const all = [];
  for (const [path, item] of Object.entries(doc.paths))
    for (const method of METHODS)
      if (item[method]) all.push(operation(path, method, item[method]));
  return all;
}

function operation(path, method, o) {
  const content = (o.requestBody || {}).content || {};
  const json = content['application/json'];
  const uploads = Object.entries(content).filter(([, c]) => !c.schema);
  return {
    id: o.operationId, path, method: method.toUpperCase(),
    summary: o.summary, tag: (o.tags || ['Other'])[0],
    role: o['x-role'] || '', open: !(o.security || []).length,
    link: (o.security || []).some(s => s.link),
    params: o.parameters || [],
    body: json && json.schema ? json.schema : null,
    uploads: uploads.map(([type, c]) => ({ type, doc: c['x-input'] || '' })),
    responses: o.responses || {},
  };
}

/* Operations by tag, in the order of the document's tags. */
export function groups(doc) {
  const all = operations(doc);
  const tags = doc.tags || [...new Set(all.map(o => o.tag))]
    .map(name => ({ name }));
  return tags.map(t => ({
    name: t.name, doc: t.description || '',
    operations: all.filter(o => o.tag === t.name),
  })).filter(g => g.operations.length);
}

/* "list of TopFunction" as pieces: text, or { ref } for a schema. */
export function typeOf(schema) {
  if (!schema) return ['nothing'];
  if (schema.$ref) return [{ ref: nameOf(schema.$ref) }];
  if (schema.type === 'array') return ['list of ', ...typeOf(schema.items)];
  const type = [].concat(schema.type || 'anything').join(' or ');
  const format = { 'date-time': 'time', uri: 'URL' }[schema.format];
  return [format ? type.replace('string', format) : type];
}

/* The bounds of a value, in words. */
export function bounds(schema) {
  const said = [];
  const { minimum, maximum, minLength, maxLength } = schema;
  if (schema.enum) said.push(schema.enum.join(', '));
  if (maximum !== undefined) said.push(`${minimum} to ${maximum}`);
  if (maxLength !== undefined)
    said.push(minLength === maxLength ? `${maxLength} characters`
      : `${minLength} to ${maxLength} characters`);
  if (schema.examples) said.push('as ' + schema.examples.join(', '));
  if (schema.maxProperties) said.push(`up to ${schema.maxProperties} members`);
  if (schema.default !== undefined) said.push(`default ${schema.default}`);
  return said.join('; ');
}

/* A body to start from: the required fields. */
export function example(schema) {
  const body = {};
  for (const name of schema.required || []) {
    const field = schema.properties[name];
    body[name] = field.default ?? (field.enum || [])[0] ??
      { integer: field.minimum, boolean: false, array: [], object: {} }[
        field.type] ?? '';
  }
  return JSON.stringify(body, null, 2);
}

/* The replies of an operation: status, meaning, contents. */
export function replies(doc, op) {
  return Object.entries(op.responses).map(([status, node]) => {
    const r = resolve(doc, node);
    const content = Object.entries(r.content || {});
    const json = content.find(([, c]) => c.schema);
    const formats = content.filter(([, c]) => c['x-format'])
      .map(([type, c]) => `${c['x-format']} (${type})`);
    const types = content.filter(([, c]) => !c.schema && !c['x-format']);
    return {
      status: status === 'default' ? 'else' : status,
      doc: r.description || '',
      schema: json ? json[1].schema : null,
      formats: formats.concat(types.map(([type]) => type)),
    };
  }).sort((a, b) => a.status < b.status ? -1 : 1);
}

/* True if the texts contain each word. */
export function matches(query, texts) {
  const all = texts.join(' ').toLowerCase();
  return query.toLowerCase().split(/\s+/).every(word => all.includes(word));
}

/* The texts of an operation that a search looks at, including names of
 * fields. */
export function textsOf(doc, op) {
  return [op.id, op.method, op.path, op.summary, op.tag, op.role,
    ...op.params.map(p => p.name),
    ...Object.keys((op.body || {}).properties || {}),
    ...replies(doc, op).filter(r => r.schema && r.status !== 'else')
      .flatMap(r => typeOf(r.schema)).map(p => p.ref || '')];
}
