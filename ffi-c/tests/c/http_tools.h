/* Tools for the tests of HTTP, and what holds for every way in which they are served: both eras, streams, sessions. */
#ifndef FERROMCP_TEST_HTTP_TOOLS_H
#define FERROMCP_TEST_HTTP_TOOLS_H

#include "http_client.h"

#include <time.h>

#define CALL_OF(name) CALL_TOOL("1", name, "{}")

/* What handlers and tests tell each other. */
struct shared {
    int from_handler[2], to_handler[2];
    char principal[32]; /* What middleware has seen; to be read when the call is answered. */
};

static inline void shared_open(struct shared *shared) { CHECK(pipe(shared->from_handler) == 0 && pipe(shared->to_handler) == 0); }

static inline void shared_close(struct shared *shared) {
    for (int i = 0; i < 2; i++) {
        close(shared->from_handler[i]);
        close(shared->to_handler[i]);
    }
}

static inline void shared_say(int descriptor, char what) { CHECK(write(descriptor, &what, 1) == 1); }

/* What the other side has said; 0 when it says nothing in time. */
static inline char shared_hear(int descriptor) {
    struct pollfd readable = {descriptor, POLLIN, 0};
    char what = 0;
    return poll(&readable, 1, DEADLINE_MS) == 1 && read(descriptor, &what, 1) == 1 ? what : 0;
}

static inline void tool_quick(fmcp_call *call, void *unused) {
    (void)unused;
    fmcp_call_respond_text(call, fmcp_text_of("quick"), NULL);
}

/* Says who has called. */
static inline void tool_who(fmcp_call *call, void *unused) {
    (void)unused;
    const fmcp_text principal = fmcp_call_principal(call);
    fmcp_call_respond_text(call, principal.data != NULL ? principal : fmcp_text_of("nobody"), NULL);
}

/* Reports, waits for the word to go on, reports again. */
static inline void tool_steps(fmcp_call *call, void *user_data) {
    const struct shared *shared = (const struct shared *)user_data;
    fmcp_call_report_progress(call, 1, 2, FMCP_NONE, NULL);
    CHECK(shared_hear(shared->to_handler[0]) == 'g');
    fmcp_call_report_progress(call, 2, 2, FMCP_NONE, NULL);
    fmcp_call_respond_text(call, fmcp_text_of("stepped"), NULL);
}

/* Waits until it is cancelled. */
static inline void tool_wait(fmcp_call *call, void *user_data) {
    const struct shared *shared = (const struct shared *)user_data;
    shared_say(shared->from_handler[1], 'b');
    for (int waited = 0; !fmcp_call_is_cancelled(call) && waited < DEADLINE_MS; waited++) {
        poll(NULL, 0, 1);
    }
    shared_say(shared->from_handler[1], fmcp_call_is_cancelled(call) ? 'c' : 'x');
}

/* Ends its connection, waits for the word to go on, and answers. */
static inline void tool_let_go(fmcp_call *call, void *user_data) {
    const struct shared *shared = (const struct shared *)user_data;
    bool closed = false;
    CHECK(fmcp_call_close_sse_stream(call, &closed, NULL) == FMCP_STATUS_OK);
    /* Now there is none any more, and nobody asks. */
    CHECK(fmcp_call_close_sse_stream(call, NULL, NULL) == FMCP_STATUS_OK);
    shared_say(shared->from_handler[1], closed ? 'y' : 'n');
    CHECK(shared_hear(shared->to_handler[0]) == 'g');
    fmcp_call_respond_text(call, fmcp_text_of("let go"), NULL);
}

static inline void before_who(fmcp_call *call, void *user_data) {
    struct shared *shared = (struct shared *)user_data;
    const fmcp_text principal = fmcp_call_principal(call);
    if (TEXT_IS(fmcp_call_name(call), "who")) {
        snprintf(shared->principal, sizeof shared->principal, "%.*s", (int)principal.len,
                 principal.data != NULL ? principal.data : "");
    }
}

static inline fmcp_server *http_server(struct shared *shared) {
    fmcp_server *server = NULL;
    CHECK(fmcp_server_new(fmcp_text_of("test"), fmcp_text_of("1"), &server, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("quick")), tool_quick, NULL, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("who")), tool_who, NULL, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("steps")), tool_steps, shared, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("wait")), tool_wait, shared, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("let_go")), tool_let_go, shared, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_middleware(server, before_who, NULL, false, shared, NULL, NULL) == FMCP_STATUS_OK);
    return server;
}

/* 2026-07-28, "Streamable HTTP": one JSON object, an error's own status, headers that say what the body says. */
static inline void modern_requests(unsigned port) {
    struct http *http = http_send(port, "POST", POST_OF("tools/call", "quick"), CALL_OF("quick"));
    CHECK(http->status == 200 && strcmp(http_header(http, "content-type"), "application/json") == 0);
    CHECK(holds(http_body(http), "\"text\":\"quick\""));
    http_close(http);
    http = http_send(port, "POST", POST_OF("tools/call", "other"), CALL_OF("quick"));
    CHECK(http->status == 400 && holds(http_body(http), "\"code\":-32020"));
    http_close(http);
    http = http_send(port, "POST", "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: no/such\r\n",
                     REQUEST("1", "no/such", "\"x\":1", MODERN));
    CHECK(http->status == 404 && holds(http_body(http), "\"code\":-32601"));
    http_close(http);
    http = http_send(port, "POST", POST_OF("tools/call", "who"), CALL_OF("who"));
    CHECK(holds(http_body(http), "\"text\":\"nobody\""));
    http_close(http);
    CHECK(http_status(port, "POST", "Origin: https://evil.example\r\n", INITIALIZE) == 403);
}

/* What comes before the answer makes it a stream, and comes at once. */
static inline void a_stream(unsigned port, const struct shared *shared) {
    struct http *http = http_send(port, "POST", POST_OF("tools/call", "steps"),
                                  REQUEST("1", "tools/call", "\"name\":\"steps\",\"arguments\":{}", PROGRESS));
    CHECK(http->status == 200 && strcmp(http_header(http, "content-type"), "text/event-stream") == 0);
    CHECK(http_until(http, "\"progress\":1"));
    CHECK(strstr(http->text, "\"progress\":2") == NULL);
    shared_say(shared->to_handler[1], 'g');
    CHECK(holds(http_body(http), "\"progress\":2"));
    CHECK(holds(http->text, "\"text\":\"stepped\""));
    http_close(http);
}

/* 2026-07-28, "Cancellation": the end of the connection is the end of the request. */
static inline void a_client_that_goes(unsigned port, const struct shared *shared) {
    struct http *http = http_begin(port, "POST", POST_OF("tools/call", "wait"), CALL_OF("wait"));
    CHECK(shared_hear(shared->from_handler[0]) == 'b');
    http_close(http);
    CHECK(shared_hear(shared->from_handler[0]) == 'c');
}

/* 2025-11-25, "Session Management". */
static inline void a_session(unsigned port, fmcp_server *server) {
    char session[300], lines[400];
    http_open_session(port, session);
    struct http *http = http_send(port, "POST", session, LEGACY_TOOL("quick"));
    CHECK(http->status == 200 && holds(http_body(http), "\"text\":\"quick\""));
    http_close(http);
    CHECK(http_status(port, "POST", "", LEGACY_TOOL("quick")) == 400);
    CHECK(http_status(port, "POST", "Mcp-Session-Id: other\r\n", LEGACY_TOOL("quick")) == 404);
    snprintf(lines, sizeof lines, "%sMCP-Protocol-Version: 2025-11-25\r\n", session);
    http = http_send(port, "GET", lines, "");
    CHECK(http->status == 200 && strcmp(http_header(http, "content-type"), "text/event-stream") == 0);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("late")), tool_quick, NULL, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(http_until(http, "notifications/tools/list_changed"));
    CHECK(http_status(port, "DELETE", session, "") == 204);
    http_body(http);
    http_close(http);
    CHECK(http_status(port, "POST", session, LEGACY_TOOL("quick")) == 404);
}

/* 2025-11-25, "Sending Messages to the Server": a connection may end before its stream, and the client comes again. */
static inline void a_stream_that_is_let_go(unsigned port, const struct shared *shared) {
    char session[300], lines[400];
    http_open_session(port, session);
    struct http *http = http_send(port, "POST", session, LEGACY_TOOL("let_go"));
    CHECK(shared_hear(shared->from_handler[0]) == 'y');
    const char *text = http_body(http), *id = strstr(text, "id: ");
    CHECK(id != NULL && holds(text, "retry:") && strstr(text, "let go") == NULL);
    snprintf(lines, sizeof lines, "%sLast-Event-ID: %.*s\r\n", session, id != NULL ? (int)strcspn(id + 4, "\n") : 0,
             id != NULL ? id + 4 : "");
    http_close(http);
    http = http_send(port, "GET", lines, "");
    shared_say(shared->to_handler[1], 'g');
    CHECK(http->status == 200 && holds(http_body(http), "\"text\":\"let go\""));
    http_close(http);
    CHECK(http_status(port, "DELETE", session, "") == 204);
    /* In a modern request there is nothing to come back to. */
    shared_say(shared->to_handler[1], 'g');
    http = http_send(port, "POST", POST_OF("tools/call", "let_go"), CALL_OF("let_go"));
    CHECK(shared_hear(shared->from_handler[0]) == 'n');
    CHECK(holds(http_body(http), "\"text\":\"let go\""));
    http_close(http);
}

#endif
