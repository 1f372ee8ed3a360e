#include "container_json.h"

#include "base/json_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	const char *id;
	struct container_facts facts;
	bool mine;     /* STORAGE: the object has our id */
	bool sandbox;  /* it only holds the namespaces of a pod */
	unsigned from; /* whose labels are read: enum from */
	int rc;        /* -ENOMEM */
};

/* --- facts ---------------------------------------------------------------- */

/*
 * The labels and annotations that are believed, by who writes them. CRI-O
 * copies annotations that the owner of a pod chose into its bundle: of these,
 * only CRI-O's own are believed, and labels, which the kubelet sets.
 */
enum from {
	FROM_DOCKER = 1,
	FROM_CONTAINERD = 2,
	FROM_CRIO = 4,
	FROM_CRIO_LABELS = 8,
};
#define FROM_KUBELET (FROM_DOCKER | FROM_CRIO_LABELS)
static const struct {
	unsigned from;
	enum container_fact fact;
	const char *key;
} keys[] = {
	{FROM_DOCKER, CONTAINER_PROJECT, "com.docker.compose.project"},
	{FROM_DOCKER, CONTAINER_SERVICE, "com.docker.compose.service"},
	{FROM_KUBELET, CONTAINER_NAME, "io.kubernetes.container.name"},
	{FROM_KUBELET, CONTAINER_POD, "io.kubernetes.pod.name"},
	{FROM_KUBELET, CONTAINER_NAMESPACE, "io.kubernetes.pod.namespace"},
	{FROM_CONTAINERD, CONTAINER_NAME, "io.kubernetes.cri.container-name"},
	{FROM_CONTAINERD, CONTAINER_POD, "io.kubernetes.cri.sandbox-name"},
	{FROM_CONTAINERD, CONTAINER_NAMESPACE,
         "io.kubernetes.cri.sandbox-namespace"},
	{FROM_CONTAINERD, CONTAINER_IMAGE, "io.kubernetes.cri.image-name"},
	{FROM_CONTAINERD, CONTAINER_NAME, "nerdctl/name"},
	{FROM_CONTAINERD, CONTAINER_PROJECT, "com.docker.compose.project"},
	{FROM_CONTAINERD, CONTAINER_SERVICE, "com.docker.compose.service"},
	{FROM_CRIO, CONTAINER_IMAGE, "io.kubernetes.cri-o.ImageName"},
};

/* Labels whose value says that a container only holds the pod's namespaces. */
static const struct {
	unsigned from;
	const char *key, *value;
} sandboxes[] = {
	{FROM_DOCKER, "io.kubernetes.docker.type", "podsandbox"},
	{FROM_CONTAINERD, "io.kubernetes.cri.container-type", "sandbox"},
	{FROM_CRIO, "io.kubernetes.cri-o.ContainerType", "sandbox"},
};

static void
set(char **to, const char *text, int *rc)
{
	char *copy = strdup(text);

	if (!copy) {
		*rc = -ENOMEM;
		return;
	}
	free(*to);
	*to = copy;
}

static void
set_fact(struct reading *r, enum container_fact fact, const char *text)
{
	if (container_text_ok(text, strlen(text)))
		set(&r->facts.facts[fact], text, &r->rc);
}

static void
add_label(struct reading *r, const char *key, const char *value)
{
	struct container_label *label = &r->facts.labels[r->facts.nlabels];

	if (r->facts.nlabels == CONTAINER_LABELS ||
	    !container_text_ok(key, strlen(key)) ||
	    !container_text_ok(value, strlen(value)))
		return;
	r->facts.nlabels++;
	set(&label->key, key, &r->rc);
	set(&label->value, value, &r->rc);
}

/* --- members -------------------------------------------------------------- */

/* Takes a member of an object, whose value begins with token t; false if the
 * document is malformed. */
typedef bool take_member(struct reading *r, struct json_scan *s,
                         const char *name, enum json_token t);

/* Passes the members of an object, whose opening token was read, to take(). A
 * name that could not be that of a fact is passed as "". */
static bool
each_member(struct reading *r, struct json_scan *s, take_member *take)
{
	enum json_token t;

	while ((t = json_scan_next(s)) == JSON_NAME) {
		char name[CONTAINER_TEXT] = "";

		if (container_text_ok(buf_str(s->text), s->text->len))
			memcpy(name, buf_str(s->text), s->text->len + 1);
		if (!take(r, s, name, json_scan_next(s)))
			return false;
	}
	return t == JSON_OBJECT_END;
}

/* Takes all members of a value that should be an object. */
static bool
members_of(struct reading *r, struct json_scan *s, enum json_token t,
           take_member *take)
{
	return t == JSON_OBJECT ? each_member(r, s, take)
	                        : json_scan_skip(s, t);
}

/* Returns the text of a token that has one without a NUL, else "". */
static const char *
text_of(const struct json_scan *s, enum json_token t)
{
	return t == JSON_STRING && strlen(buf_str(s->text)) == s->text->len
	               ? buf_str(s->text)
	               : "";
}

static void read_nested(struct reading *r, unsigned from, const char *text,
                        take_member *take);

static bool
take_label(struct reading *r, struct json_scan *s, const char *name,
           enum json_token t)
{
	const char *text = text_of(s, t);

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (keys[i].from & r->from && !strcmp(keys[i].key, name))
			set_fact(r, keys[i].fact, text);
	for (size_t i = 0; i < ARRAY_LEN(sandboxes); i++)
		if (sandboxes[i].from & r->from &&
		    !strcmp(sandboxes[i].key, name))
			r->sandbox = !strcmp(sandboxes[i].value, text);
	if (r->from == FROM_CRIO && !strcmp(name, "io.kubernetes.cri-o.Labels"))
		read_nested(r, FROM_CRIO_LABELS, text, take_label);
	else if (r->from != FROM_CRIO)
		add_label(r, name, text);
	return json_scan_skip(s, t);
}

/* --- documents ------------------------------------------------------------ */

static bool
take_config(struct reading *r, struct json_scan *s, const char *name,
            enum json_token t)
{
	if (!strcmp(name, "Labels"))
		return members_of(r, s, t, take_label);
	if (!strcmp(name, "Image"))
		set_fact(r, CONTAINER_IMAGE, text_of(s, t));
	return json_scan_skip(s, t);
}

static bool
take_docker(struct reading *r, struct json_scan *s, const char *name,
            enum json_token t)
{
	const char *text = text_of(s, t);

	if (!strcmp(name, "Config"))
		return members_of(r, s, t, take_config);
	/* in a pod, the label is the name */
	if (!strcmp(name, "Name") && *text == '/' &&
	    !r->facts.facts[CONTAINER_NAME])
		set_fact(r, CONTAINER_NAME, text + 1);
	return json_scan_skip(s, t);
}

static bool
take_bundle(struct reading *r, struct json_scan *s, const char *name,
            enum json_token t)
{
	if (!strcmp(name, "annotations"))
		return members_of(r, s, t, take_label);
	return json_scan_skip(s, t);
}

static bool
take_metadata(struct reading *r, struct json_scan *s, const char *name,
              enum json_token t)
{
	if (!strcmp(name, "image-name"))
		set_fact(r, CONTAINER_IMAGE, text_of(s, t));
	return json_scan_skip(s, t);
}

/* Takes the first of a list of names. */
static bool
take_names(struct reading *r, struct json_scan *s, enum json_token t)
{
	bool first = true;

	if (t != JSON_ARRAY)
		return json_scan_skip(s, t);
	while ((t = json_scan_next(s)) != JSON_ARRAY_END) {
		if (t == JSON_STRING && first)
			set_fact(r, CONTAINER_NAME, text_of(s, t));
		first = false;
		if (!json_scan_skip(s, t))
			return false;
	}
	return true;
}

static bool
take_stored(struct reading *r, struct json_scan *s, const char *name,
            enum json_token t)
{
	const char *text = text_of(s, t);

	if (!strcmp(name, "id"))
		r->mine = !strcmp(text, r->id);
	else if (!strcmp(name, "names"))
		return take_names(r, s, t);
	else if (!strcmp(name, "metadata"))
		read_nested(r, 0, text, take_metadata);
	return json_scan_skip(s, t);
}

/* Takes the object of our container from a list of all. */
static bool
find_stored(struct reading *r, struct json_scan *s)
{
	enum json_token t;

	if (json_scan_next(s) != JSON_ARRAY)
		return false;
	while ((t = json_scan_next(s)) == JSON_OBJECT) {
		r->mine = false;
		if (!each_member(r, s, take_stored))
			return false;
		if (r->mine)
			return true;
		container_facts_done(&r->facts);
	}
	return false;
}

static bool
read_object(struct reading *r, struct json_scan *s, take_member *take)
{
	return json_scan_next(s) == JSON_OBJECT && each_member(r, s, take);
}

/*
 * Reads a JSON document that is a string in another one. An error in it does
 * not affect the outer one.
 */
static void
read_nested(struct reading *r, unsigned from, const char *text,
            take_member *take)
{
	CLEANUP_BUF struct buf copy = BUF_INIT(JSON_SCAN_TEXT + 1),
			       inner = BUF_INIT(JSON_SCAN_TEXT);
	unsigned outer = r->from;
	struct json_scan s;

	buf_puts(&copy, text);
	json_scan_init(&s, copy.p, copy.len, &inner);
	r->from = from;
	(void)read_object(r, &s, take);
	r->from = outer;
}

/* --- names of logs -------------------------------------------------------- */

/* Sets a fact from the text up to a character, and moves *at past it. */
static bool
take_part(struct reading *r, enum container_fact fact, const char **at,
          const char *end)
{
	char part[CONTAINER_TEXT];
	size_t n = (size_t)(end - *at);

	if (n >= sizeof(part))
		return false;
	memcpy(part, *at, n);
	part[n] = '\0';
	set_fact(r, fact, part);
	*at = end + 1;
	return r->facts.facts[fact];
}

/* Kubernetes names have no '_', and ids no '-'. */
static bool
read_log(struct reading *r, const char *name)
{
	const char *pod = strchr(name, '_'), *id = strrchr(name, '-'),
		   *space = pod ? strchr(pod + 1, '_') : NULL;

	return space && id && id > space &&
	       take_part(r, CONTAINER_POD, &name, pod) &&
	       take_part(r, CONTAINER_NAMESPACE, &name, space) &&
	       take_part(r, CONTAINER_NAME, &name, id);
}

static bool
read_form(struct reading *r, enum container_form form, const void *p, size_t n)
{
	CLEANUP_BUF struct buf text = BUF_INIT(JSON_SCAN_TEXT);
	struct json_scan s;

	json_scan_init(&s, p, n, &text);
	switch (form) {
	case CONTAINER_FORM_DOCKER:
		r->from = FROM_DOCKER;
		return read_object(r, &s, take_docker);
	case CONTAINER_FORM_STORAGE:
		return find_stored(r, &s);
	case CONTAINER_FORM_CONTAINERD:
		r->from = FROM_CONTAINERD;
		return read_object(r, &s, take_bundle);
	case CONTAINER_FORM_CRIO:
		r->from = FROM_CRIO;
		return read_object(r, &s, take_bundle);
	case CONTAINER_FORM_LOG:
		buf_add(&text, p, n);
		return !buf_err(&text) && read_log(r, buf_str(&text));
	}
	return false;
}

int
container_read(enum container_form form, const char *id, const void *p,
               size_t n, struct container_facts *out)
{
	struct reading r = {.id = id};
	bool ok;

	if (n > CONTAINER_FILE_MAX)
		return -E2BIG;
	ok = read_form(&r, form, p, n);
	if (!ok || r.rc || r.sandbox || !r.facts.facts[CONTAINER_NAME]) {
		container_facts_done(&r.facts);
		return r.rc ?: -ENODATA;
	}
	*out = r.facts;
	return 0;
}
