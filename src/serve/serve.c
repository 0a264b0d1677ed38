// SPDX-License-Identifier: MIT
/*
 * The server: a socket on 127.0.0.1, and one on ::1 where there is IPv6, libmicrohttpd in a thread
 * of its own for each, and the answerer, which serves both. A connection with a question is put
 * aside until there is an answer, so that a question that takes long, or a client that reads or
 * writes slowly, keeps nobody else waiting.
 */
#include "serve/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "html/page.h"
#include "query/query.h"
#include "serve/answer.h"
#include "serve/check.h"
#include "serve/http.h"
#include "serve/listen.h"
#include "serve/strangers.h"

enum {
	FAMILIES = 2,
	CLIENTS_MAX = 512,	  /* of each family */
	FILES_SPARE = 64,	  /* that are not connections */
	CLIENT_BYTES = 256 << 10, /* headers, the address with its list of threads among them */
	IDLE_SECONDS = 30,
	STOP_MS = 500,
};

/* One socket to listen on, and who came there. */
struct serve_listener {
	struct serve *serve;
	struct MHD_Daemon *daemon;
	struct strangers strangers;
};

struct serve {
	struct http http;
	struct host_check check;
	char address[64 + TOKEN_CHARS];
	struct answerer *answerer;
	struct serve_listener listeners[FAMILIES]; /* IPv4; IPv6, or without a daemon */
	struct MHD_Response *page, *refusal, *busy;
	struct buf document, page_policy;
};

enum state { CLIENT_NEW, CLIENT_ASKED, CLIENT_ANSWERED, CLIENT_TURNED_AWAY };

/* A connection. */
struct client {
	struct serve *serve;
	struct serve_listener *listener;
	struct stranger stranger;
	struct MHD_Connection *connection;
	char *uri; /* of the request that it is at */
	enum state state;
	struct question question;
};

/* ---- responses ---- */

static void add_headers(const struct http *h, struct MHD_Response *r, const char *type,
			const char *policy)
{
	static const char *const always[][2] = {
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"Cache-Control", "no-store"},
	};

	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		h->add_response_header(r, always[i][0], always[i][1]);
	h->add_response_header(r, "Content-Security-Policy", policy);
	if (type)
		h->add_response_header(r, "Content-Type", type);
}

#define POLICY_NOTHING "default-src 'none'; frame-ancestors 'none'"

static struct MHD_Response *empty_response(const struct http *h, bool close)
{
	struct MHD_Response *r =
		h->create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);

	if (!r)
		return NULL;
	add_headers(h, r, NULL, POLICY_NOTHING);
	if (close)
		h->add_response_header(r, "Connection", "close");
	return r;
}

static int make_responses(struct serve *s, const char *title)
{
	page_begin(&s->document, PAGE_SERVED,
		   &(struct page_head){.title = title, .token = s->check.token});
	page_end(&s->document);
	page_policy(&s->page_policy, PAGE_SERVED);
	buf_printf(&s->page_policy, "; frame-ancestors 'none'");
	s->page = s->http.create_response_from_buffer(s->document.len, s->document.p,
						      MHD_RESPMEM_PERSISTENT);
	s->refusal = empty_response(&s->http, true);
	s->busy = empty_response(&s->http, false);
	if (!s->page || !s->refusal || !s->busy)
		return err_set(-ENOMEM, "no memory for the page");
	add_headers(&s->http, s->page, "text/html; charset=utf-8", buf_cstr(&s->page_policy));
	return 0;
}

/* The answer's memory goes with the response. */
static enum MHD_Result send_answer(struct client *c)
{
	const struct http *h = &c->serve->http;
	struct question *qn = &c->question;
	struct MHD_Response *r;
	enum MHD_Result sent;

	c->state = CLIENT_NEW;
	if (!qn->answer.len)
		return h->queue_response(c->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
					 c->serve->busy);
	r = h->create_response_from_buffer(qn->answer.len, qn->answer.p, MHD_RESPMEM_MUST_FREE);
	if (!r)
		return MHD_NO;
	qn->answer = (struct buf){0};
	add_headers(h, r, qn->binary ? "application/octet-stream" : "application/json",
		    POLICY_NOTHING);
	sent = h->queue_response(c->connection, MHD_HTTP_OK, r);
	h->destroy_response(r);
	return sent;
}

/* ---- requests ---- */

static enum MHD_Result note_header(void *arg, enum MHD_ValueKind kind, const char *key,
				   const char *value)
{
	struct http_asked *a = arg;
	const char **to = !strcasecmp(key, "Host")	       ? &a->host
			  : !strcasecmp(key, "Origin")	       ? &a->origin
			  : !strcasecmp(key, "Sec-Fetch-Site") ? &a->site
			  : !strcasecmp(key, "X-Thaw-Token")   ? &a->token
							       : NULL;

	if (to) {
		a->twice |= *to != NULL;
		*to = value ? value : "";
	}
	return MHD_YES;
}

static enum asked_for serve_judge(struct client *c, const char *method)
{
	struct http_asked a = {.method = method, .uri = c->uri ? c->uri : ""};

	c->serve->http.get_connection_values(c->connection, MHD_HEADER_KIND, note_header, &a);
	return check_asked(&c->serve->check, &a);
}

static void answered(void *arg)
{
	struct client *c = arg;

	c->state = CLIENT_ANSWERED;
	c->serve->http.resume_connection(c->connection);
}

/* Suspends the connection first: the answer may be there before this returns. */
static enum MHD_Result serve_ask(struct client *c)
{
	c->state = CLIENT_ASKED;
	c->question.text = c->uri + strlen(CHECK_QUERY);
	c->question.arg = c;
	c->question.done = answered;
	c->serve->http.suspend_connection(c->connection);
	if (!answerer_ask(c->serve->answerer, &c->question)) {
		c->state = CLIENT_TURNED_AWAY;
		c->serve->http.resume_connection(c->connection);
	}
	return MHD_YES;
}

static enum MHD_Result reply(struct client *c, enum asked_for what)
{
	if (what == ASKED_QUERY)
		return serve_ask(c);
	if (what == ASKED_NOTHING)
		return c->serve->http.queue_response(c->connection, MHD_HTTP_FORBIDDEN,
						     c->serve->refusal);
	return c->serve->http.queue_response(c->connection, MHD_HTTP_OK, c->serve->page);
}

/*
 * Called when the headers are there, for each piece of a body, at the end of it, and again when a
 * connection goes on that was put aside. No legitimate request has a body.
 */
static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **con_cls)
{
	const struct http *h = &((struct serve *)cls)->http;
	const union MHD_ConnectionInfo *info =
		h->get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct client *c = info ? info->socket_context : NULL;
	enum asked_for what;

	if (!c)
		return MHD_NO;
	if (*upload_size) {
		*upload_size = 0;
		return MHD_NO;
	}
	if (c->state == CLIENT_ANSWERED)
		return send_answer(c);
	if (c->state == CLIENT_TURNED_AWAY) {
		c->state = CLIENT_NEW;
		return h->queue_response(connection, MHD_HTTP_SERVICE_UNAVAILABLE, c->serve->busy);
	}
	what = serve_judge(c, method);
	if (what != ASKED_NOTHING)
		stranger_leave(&c->listener->strangers, &c->stranger);
	if (!*con_cls && what != ASKED_NOTHING) {
		*con_cls = c;
		return MHD_YES;
	}
	return reply(c, what);
}

static void *note_uri(void *cls, const char *uri, struct MHD_Connection *connection)
{
	const struct http *h = &((struct serve *)cls)->http;
	const union MHD_ConnectionInfo *info =
		h->get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct client *c = info ? info->socket_context : NULL;

	if (c) {
		free(c->uri);
		c->uri = mem_strdup(uri);
	}
	return NULL;
}

static void note_client(void *cls, struct MHD_Connection *connection, void **context,
			enum MHD_ConnectionNotificationCode code)
{
	struct client *c = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info;
		struct serve_listener *f = cls;

		c = mem_zalloc(sizeof(*c));
		c->listener = f;
		c->serve = f->serve;
		c->connection = connection;
		*context = c;
		info = c->serve->http.get_connection_info(connection,
							  MHD_CONNECTION_INFO_CONNECTION_FD);
		if (info)
			stranger_comes(&f->strangers, &c->stranger, info->connect_fd);
		return;
	}
	if (!c)
		return;
	stranger_leave(&c->listener->strangers, &c->stranger);
	free(c->uri);
	buf_done(&c->question.answer);
	free(c);
	*context = NULL;
}

/* ---- beginning and end ---- */

/* Each connection takes a descriptor. */
static unsigned clients_max(void)
{
	struct rlimit lim;
	rlim_t most = CLIENTS_MAX;

	if (!getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur < FAMILIES * most + FILES_SPARE)
		most = lim.rlim_cur > FILES_SPARE ? (lim.rlim_cur - FILES_SPARE) / FAMILIES : 0;
	return most < 8 ? 8 : (unsigned)most;
}

static bool start_daemon(struct serve *s, struct serve_listener *f, int fd)
{
	unsigned clients = clients_max();

	f->serve = s;
	f->strangers.most = clients / 2;
	f->daemon = s->http.start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, s->check.port, NULL, NULL,
		handle, s, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, clients,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CLIENT_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_URI_LOG_CALLBACK,
		note_uri, s, MHD_OPTION_NOTIFY_CONNECTION, note_client, f,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	return f->daemon != NULL;
}

static int start_daemons(struct serve *s, int fd)
{
	int second = listen_on_loopback6(s->check.port);
	bool started = start_daemon(s, &s->listeners[0], fd);

	if (second >= 0 && !(started && start_daemon(s, &s->listeners[1], second)))
		close(second);
	return started ? 0 : err_set(-EIO, "the web server does not start");
}

static void serve_release(struct serve *s)
{
	struct MHD_Response *all[] = {s->page, s->refusal, s->busy};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i])
			s->http.destroy_response(all[i]);
	buf_done(&s->document);
	buf_done(&s->page_policy);
	free(s);
}

/* All that can fail because of what the user asked for. */
static int serve_prepare(struct serve *s, const char *title, uint16_t port, int *ret_fd)
{
	int fd, rc = http_load(&s->http);

	fd = rc ? rc : listen_on_loopback(port, &port);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	rc = check_init(&s->check, port);
	rc = rc ? rc : make_responses(s, title);
	snprintf(s->address, sizeof(s->address), "http://127.0.0.1:%u/%s/", port, s->check.token);
	return rc;
}

static int serve_begin(struct serve *s, struct query *q, int fd)
{
	int rc = answerer_start(q, &s->answerer);

	if (rc)
		return rc;
	rc = start_daemons(s, fd);
	if (rc && answerer_stop(s->answerer, STOP_MS))
		answerer_free(s->answerer);
	return rc;
}

int serve_start(struct query *q, const char *title, uint16_t port, struct serve **ret)
{
	struct serve *s = mem_zalloc(sizeof(*s));
	int fd = -1, rc = serve_prepare(s, title, port, &fd);

	if (rc)
		query_close(q);
	else
		rc = serve_begin(s, q, fd);
	if (!rc) {
		*ret = s;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	serve_release(s);
	return rc;
}

const char *serve_address(const struct serve *s)
{
	return s->address;
}

int serve_fd(const struct serve *s)
{
	return answerer_fd(s->answerer);
}

int serve_loaded(struct serve *s)
{
	return answerer_loaded(s->answerer);
}

bool serve_stop(struct serve *s)
{
	if (!answerer_stop(s->answerer, STOP_MS))
		return false;
	for (size_t i = 0; i < FAMILIES; i++)
		if (s->listeners[i].daemon)
			s->http.stop_daemon(s->listeners[i].daemon);
	answerer_free(s->answerer);
	serve_release(s);
	return true;
}
