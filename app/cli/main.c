/* stoker: the command line client. See stoker(1). */
#include "cli.h"

#include "base/version.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SERVER_DEFAULT "http://127.0.0.1:8088"

static int (*const handlers[])(struct cli *) = {
#define COMMAND(part, name, usage, handler, least, most, doc, example) handler,
#include "commands.def"
#undef COMMAND
};

/* Reports the operands that a command takes, which precede the options in its
 * usage. */
static int
operands_error(const struct cli *c, const struct command *cmd)
{
	const char *options = strstr(cmd->usage, "--");
	size_t n = options ? (size_t)(options - cmd->usage)
	                   : strlen(cmd->usage);

	while (n && strchr(" [", cmd->usage[n - 1]))
		n--;
	if (!n)
		return usage_error("%s takes options only, not '%s'\n"
		                   "  stoker help %s",
		                   cmd->name, c->operands[0], cmd->name);
	if (c->noperands > cmd->most)
		return usage_error("%s takes %.*s, and '%s' is one too many\n"
		                   "  stoker help %s",
		                   cmd->name, (int)n, cmd->usage,
		                   c->operands[cmd->most], cmd->name);
	return usage_error("%s needs %.*s\n  stoker help %s", cmd->name, (int)n,
	                   cmd->usage, cmd->name);
}

static int
run(struct cli *c, const struct command *cmd, struct buf *why)
{
	if (options_fit(&c->opt, cmd->usage, why))
		return usage_error("%s\n  stoker help %s", buf_str(why),
		                   cmd->name);
	if (c->noperands < cmd->least || c->noperands > cmd->most)
		return operands_error(c, cmd);
	/* A missing token is not an error yet: commands without the server do
	 * not need it, and `token create` may be about to fill the file. */
	if (token_find(c->opt.token, c->opt.token_file, &c->http.token, why))
		c->token_why = buf_str(why);
	return handlers[cmd - commands](c);
}

static int
dispatch(struct cli *c, struct buf *why)
{
	const struct command *cmd;
	const char *server = getenv("STOKER_URL");
	const char *authorities = getenv("SSL_CERT_FILE");
	size_t used = 0;

	c->http.server = c->opt.server       ? c->opt.server
	                 : server && *server ? server
	                                     : SERVER_DEFAULT;
	if (authorities && *authorities) /* libcurl does not read it */
		c->http.ca_file = authorities;
	c->http.tenant = c->opt.tenant;
	screen_of(STDOUT_FILENO, c->opt.wide, &c->screen);
	c->operands = c->opt.operands;
	c->noperands = c->opt.noperands;
	if (c->opt.help)
		return cmd_help(c);
	if (!c->noperands) {
		cmd_help(c);
		return LEAVE_USAGE;
	}
	cmd = command_find(c->operands, c->noperands, &used);
	if (!cmd)
		return unknown_command(c);
	c->operands += used;
	c->noperands -= used;
	return run(c, cmd, why);
}

/* Reports an error in the options, and refers to the help of the command named
 * by the words before the error. */
static int
options_error(int argc, char **argv, const char *why)
{
	CLEANUP_BUF struct buf ignored = BUF_INIT(BUF_MAX_SMALL);
	const struct command *cmd = NULL;
	const char *name = "";
	struct options o;
	size_t used;

	while (argc > 1 && options_parse(--argc, argv, &o, &ignored))
		;
	if (argc > 1)
		cmd = command_find(o.operands, o.noperands, &used);
	if (cmd)
		name = cmd->name;
	else if (argc > 1 && o.noperands && command_family(o.operands[0]))
		name = o.operands[0];
	return usage_error("%s\n  stoker help%s%s", why, *name ? " " : "",
	                   name);
}

int
main(int argc, char **argv)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct cli c = {0};
	int status;

	if (options_parse(argc, argv, &c.opt, &why))
		return options_error(argc, argv, buf_str(&why));
	if (c.opt.version) {
		printf("stoker %s\n", stoker_version);
		return LEAVE_OK;
	}
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return failed("libcurl did not start");
	status = dispatch(&c, &why);
	http_done(&c.http);
	curl_global_cleanup();
	return status;
}
