/* HTTP by functions: a request's head and body go in, the parts of its response come out; and a whole HTTP server on them. */
#include "../../../tests/fixtures/http_loop.h"
#include "http_tools.h"

#include <pthread.h>

static const fmcp_http_header HEADERS[] = {
    {{"Host", 4}, {"localhost", 9}},
    {{"Content-Type", 12}, {"application/json", 16}},
    {{"Accept", 6}, {"application/json, text/event-stream", 35}},
    {{"MCP-Protocol-Version", 20}, {"2026-07-28", 10}},
    {{"Mcp-Method", 10}, {"tools/call", 10}},
    {{"Mcp-Name", 8}, {"name", 4}}, /* In the place of the tool's. */
};
enum { COUNT = sizeof HEADERS / sizeof HEADERS[0], LEGACY = 3 };

static fmcp_server *start(struct shared *shared, const char *options) {
    fmcp_server *server = http_server(shared);
    CHECK(fmcp_server_start_carrier(server, fmcp_text_of(options), NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_port(server) == 0 && fmcp_server_address(server).data == NULL);
    return server;
}

/* Shows the head of a modern call of a tool. */
static fmcp_http *admit_call(fmcp_server *server, const char *tool) {
    fmcp_http_header headers[COUNT];
    fmcp_http *http = NULL;
    memcpy(headers, HEADERS, sizeof headers);
    headers[COUNT - 1].value = fmcp_text_of(tool);
    CHECK(fmcp_http_admit(server, fmcp_text_of("POST"), fmcp_text_of("/mcp?x=1"), headers, COUNT, FMCP_NONE, &http, NULL) ==
          FMCP_STATUS_OK);
    return http;
}

static fmcp_status serve(fmcp_http *http, const char *body) {
    return fmcp_http_serve(http, (const uint8_t *)body, strlen(body), NULL);
}

/* The next part, which must come in time. */
static fmcp_http_part *next(fmcp_http *http) {
    fmcp_http_part *part = NULL;
    CHECK(fmcp_http_next(http, DEADLINE_MS, &part, NULL) == FMCP_STATUS_OK);
    CHECK(part != NULL);
    return part;
}

/* Whether there is nothing yet. */
static int is_silent(fmcp_http *http) {
    char something;
    fmcp_http_part *part = (fmcp_http_part *)(void *)&something; /* It is to be written over. */
    CHECK(fmcp_http_next(http, 0, &part, NULL) == FMCP_STATUS_OK);
    return part == NULL;
}

static int part_holds(const fmcp_http_part *part, const char *text) {
    char body[4096];
    const fmcp_text found = fmcp_http_part_body(part);
    snprintf(body, sizeof body, "%.*s", (int)found.len, found.data != NULL ? found.data : "");
    return holds(body, text);
}

/* Whether the part has this header field, and each field a name and a value. */
static int has_header(const fmcp_http_part *part, const char *name, const char *value) {
    int found = 0;
    const size_t count = fmcp_http_part_header_count(part);
    for (size_t at = 0; at < count; at++) {
        CHECK(fmcp_http_part_header_name(part, at).len > 0 && fmcp_http_part_header_value(part, at).data != NULL);
        found = found || (TEXT_IS(fmcp_http_part_header_name(part, at), name) &&
                          TEXT_IS(fmcp_http_part_header_value(part, at), value));
    }
    CHECK(fmcp_http_part_header_name(part, count).data == NULL && fmcp_http_part_header_value(part, count).data == NULL);
    return found;
}

static void an_answer_in_one_part(fmcp_server *server) {
    fmcp_http *http = admit_call(server, "quick");
    fmcp_http_part *part = NULL;
    fmcp_error *error = NULL;
    CHECK(fmcp_http_body_limit(http) == 1000);
    CHECK(fmcp_http_next(http, 0, &part, &error) == FMCP_STATUS_STATE);
    CHECK(TEXT_IS(fmcp_error_text(error), "fmcp_http_serve() comes before this"));
    fmcp_error_free(error);
    CHECK(serve(http, CALL_OF("quick")) == FMCP_STATUS_OK);
    CHECK(serve(http, CALL_OF("quick")) == FMCP_STATUS_STATE);
    part = next(http);
    CHECK(fmcp_http_part_status(part) == 200 && has_header(part, "content-type", "application/json"));
    CHECK(part_holds(part, "\"text\":\"quick\"") && fmcp_http_part_is_last(part) && !fmcp_http_part_is_aborted(part));
    fmcp_http_part_free(part);
    CHECK(fmcp_http_next(http, -1, &part, NULL) == FMCP_STATUS_STATE);
    CHECK(serve(http, CALL_OF("quick")) == FMCP_STATUS_STATE);
    fmcp_http_free(http);
}

/* A response that is there before a body is read, whether or not one is shown. */
static void what_is_refused_is_a_response(fmcp_server *server) {
    fmcp_http_header headers[COUNT];
    memcpy(headers, HEADERS, sizeof headers);
    headers[0].value = fmcp_text_of("evil.example");
    for (int is_served = 0; is_served < 2; is_served++) {
        fmcp_http *http = NULL;
        CHECK(fmcp_http_admit(server, fmcp_text_of("POST"), fmcp_text_of("/mcp"), headers, COUNT, FMCP_NONE, &http, NULL) ==
              FMCP_STATUS_OK);
        CHECK(fmcp_http_body_limit(http) == 0);
        if (is_served) {
            CHECK(fmcp_http_serve(http, NULL, 0, NULL) == FMCP_STATUS_OK);
            CHECK(fmcp_http_serve(http, NULL, 0, NULL) == FMCP_STATUS_STATE);
        }
        fmcp_http_part *part = next(http);
        CHECK(fmcp_http_part_status(part) == 403 && fmcp_http_part_is_last(part) && !fmcp_http_part_is_aborted(part));
        fmcp_http_part_free(part);
        CHECK(fmcp_http_next(http, 0, &part, NULL) == FMCP_STATUS_STATE);
        fmcp_http_free(http);
    }
    /* What a client writes is no fault of the program's, whatever its bytes are. */
    const fmcp_text bytes = {"\xff\xfe", 2};
    fmcp_http_header odd[] = {{fmcp_text_of("Host"), fmcp_text_of("localhost")}, {bytes, bytes}};
    fmcp_http *http = NULL;
    CHECK(fmcp_http_admit(server, bytes, bytes, odd, 2, FMCP_NONE, &http, NULL) == FMCP_STATUS_OK);
    fmcp_http_part *part = next(http);
    CHECK(fmcp_http_part_status(part) == 404);
    fmcp_http_part_free(part);
    fmcp_http_free(http);
}

static void a_body_has_a_bound(fmcp_server *server) {
    char body[1002];
    memset(body, ' ', sizeof body);
    memcpy(body, CALL_OF("quick"), strlen(CALL_OF("quick")));
    for (size_t length = 1000; length <= 1001; length++) {
        fmcp_http *http = admit_call(server, "quick");
        CHECK(fmcp_http_serve(http, (const uint8_t *)body, length, NULL) == FMCP_STATUS_OK);
        fmcp_http_part *part = next(http);
        CHECK(fmcp_http_part_status(part) == (length == 1000 ? 200 : 413) && fmcp_http_part_is_last(part));
        fmcp_http_part_free(part);
        fmcp_http_free(http);
    }
}

static void told(void *descriptor) { shared_say(*(const int *)descriptor, 'r'); }

static void told_end(void *descriptor) { shared_say(*(const int *)descriptor, 'd'); }

/* Without waiting in the library: it tells when there is more. */
static void a_stream_by_asking(fmcp_server *server, const struct shared *shared) {
    int ready[2], other = -1;
    CHECK(pipe(ready) == 0);
    fmcp_http *http = admit_call(server, "steps");
    CHECK(fmcp_http_on_ready(http, told, &ready[1], told_end, NULL) == FMCP_STATUS_OK);
    /* Refused, and so not taken over. */
    CHECK(fmcp_http_on_ready(http, NULL, &other, told_end, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    /* One in the place of another ends that one's life. */
    CHECK(fmcp_http_on_ready(http, told, &ready[1], told_end, NULL) == FMCP_STATUS_OK);
    CHECK(shared_hear(ready[0]) == 'd');
    CHECK(serve(http, REQUEST("1", "tools/call", "\"name\":\"steps\",\"arguments\":{}", PROGRESS)) == FMCP_STATUS_OK);
    int parts = 0, is_last = 0, has_gone_on = 0;
    while (!is_last && parts < 100) {
        fmcp_http_part *part = NULL;
        CHECK(fmcp_http_next(http, 0, &part, NULL) == FMCP_STATUS_OK);
        if (part == NULL) {
            /* It waits after the first report. */
            if (parts >= 2 && !has_gone_on) {
                shared_say(shared->to_handler[1], 'g');
                has_gone_on = 1;
            }
            if (shared_hear(ready[0]) != 'r') {
                CHECK(!"it does not tell");
                break;
            }
            continue;
        }
        CHECK((parts == 0) == (fmcp_http_part_status(part) == 200));
        CHECK(parts != 0 || has_header(part, "content-type", "text/event-stream"));
        CHECK(parts != 1 || (part_holds(part, "\"progress\":1") && fmcp_http_part_header_count(part) == 0));
        is_last = fmcp_http_part_is_last(part);
        CHECK(!is_last || fmcp_http_part_body(part).data == NULL);
        parts++;
        fmcp_http_part_free(part);
    }
    CHECK(is_last && has_gone_on);
    fmcp_http_free(http);
    char what;
    while ((what = shared_hear(ready[0])) == 'r') {
    }
    CHECK(what == 'd');
    close(ready[0]);
    close(ready[1]);
}

static void freeing_says_that_the_client_is_gone(fmcp_server *server, const struct shared *shared) {
    fmcp_http *http = admit_call(server, "wait");
    CHECK(serve(http, CALL_OF("wait")) == FMCP_STATUS_OK);
    CHECK(shared_hear(shared->from_handler[0]) == 'b');
    CHECK(is_silent(http));
    fmcp_http_free(http);
    CHECK(shared_hear(shared->from_handler[0]) == 'c');
    /* And before it is served, nothing. */
    fmcp_http_free(admit_call(server, "wait"));
}

/* 2025-11-25, "Session Hijacking": a session is for whoever has opened it. */
static void a_principal_has_its_own_session(fmcp_server *server, const struct shared *shared) {
    static const struct {
        const char *principal;
        int status;
    } CASES[] = {{"anna", 202}, {"bert", 404}, {NULL, 404}};
    fmcp_http_header headers[LEGACY + 1];
    char session[256];
    fmcp_http *http = NULL;
    memcpy(headers, HEADERS, sizeof headers);
    CHECK(fmcp_http_admit(server, fmcp_text_of("POST"), fmcp_text_of("/mcp"), headers, LEGACY, fmcp_text_of("anna"), &http,
                          NULL) == FMCP_STATUS_OK);
    CHECK(serve(http, INITIALIZE) == FMCP_STATUS_OK);
    fmcp_http_part *part = next(http);
    for (size_t at = 0; at < fmcp_http_part_header_count(part); at++) {
        if (TEXT_IS(fmcp_http_part_header_name(part, at), "mcp-session-id")) {
            const fmcp_text value = fmcp_http_part_header_value(part, at);
            snprintf(session, sizeof session, "%.*s", (int)value.len, value.data);
            headers[LEGACY].name = fmcp_text_of("Mcp-Session-Id");
            headers[LEGACY].value = fmcp_text_of(session);
        }
    }
    fmcp_http_part_free(part);
    fmcp_http_free(http);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        CHECK(fmcp_http_admit(server, fmcp_text_of("POST"), fmcp_text_of("/mcp"), headers, LEGACY + 1,
                              fmcp_text_of(CASES[i].principal), &http, NULL) == FMCP_STATUS_OK);
        CHECK(serve(http, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}") == FMCP_STATUS_OK);
        part = next(http);
        CHECK(fmcp_http_part_status(part) == CASES[i].status);
        fmcp_http_part_free(part);
        fmcp_http_free(http);
    }
    CHECK(fmcp_http_admit(server, fmcp_text_of("POST"), fmcp_text_of("/mcp"), headers, LEGACY + 1, fmcp_text_of("anna"), &http,
                          NULL) == FMCP_STATUS_OK);
    CHECK(serve(http, LEGACY_TOOL("who")) == FMCP_STATUS_OK);
    part = next(http);
    CHECK(part_holds(part, "\"text\":\"anna\"") && strcmp(shared->principal, "anna") == 0);
    fmcp_http_part_free(part);
    fmcp_http_free(http);
}

static void *wait_for_part(void *http) { return next((fmcp_http *)http); }

/* The end of the server is the end of every response, and whoever waits for one is woken. */
static void stopping_ends_responses(fmcp_server *server, const struct shared *shared) {
    pthread_t thread;
    void *given = NULL;
    fmcp_http *http = admit_call(server, "wait"), *late = admit_call(server, "quick");
    CHECK(serve(http, CALL_OF("wait")) == FMCP_STATUS_OK);
    CHECK(shared_hear(shared->from_handler[0]) == 'b');
    CHECK(pthread_create(&thread, NULL, wait_for_part, http) == 0);
    CHECK(fmcp_server_stop(server, NULL) == FMCP_STATUS_OK);
    CHECK(pthread_join(thread, &given) == 0);
    CHECK(shared_hear(shared->from_handler[0]) == 'c');
    fmcp_http_part *part = (fmcp_http_part *)given;
    CHECK(fmcp_http_part_is_last(part) && fmcp_http_part_is_aborted(part) && fmcp_http_part_status(part) == 0);
    fmcp_http_part_free(part);
    fmcp_http_free(http);
    /* What was admitted before, and what comes later. */
    CHECK(serve(late, CALL_OF("quick")) == FMCP_STATUS_OK);
    part = next(late);
    CHECK(part_holds(part, "\"code\":-32603") && fmcp_http_part_is_last(part));
    fmcp_http_part_free(part);
    fmcp_http_free(late);
    http = admit_call(server, "quick");
    part = next(http);
    CHECK(fmcp_http_part_status(part) == 503 && fmcp_http_part_is_last(part));
    fmcp_http_part_free(part);
    fmcp_http_free(http);
}

static void by_functions(void) {
    struct shared shared;
    shared_open(&shared);
    fmcp_server *server = start(&shared, "{\"maxBodyBytes\":1000,\"maxThreads\":8}");
    an_answer_in_one_part(server);
    what_is_refused_is_a_response(server);
    a_body_has_a_bound(server);
    a_stream_by_asking(server, &shared);
    freeing_says_that_the_client_is_gone(server, &shared);
    a_principal_has_its_own_session(server, &shared);
    stopping_ends_responses(server, &shared);
    fmcp_server_free(server);
    shared_close(&shared);
}

static void by_a_server_of_the_program(void) {
    struct shared shared;
    struct http_loop *loop = malloc(sizeof *loop);
    shared_open(&shared);
    fmcp_server *server = start(&shared, "{}");
    CHECK(http_loop_start(loop, server, 0));
    modern_requests(loop->port);
    a_stream(loop->port, &shared);
    a_client_that_goes(loop->port, &shared);
    a_session(loop->port, server);
    a_stream_that_is_let_go(loop->port, &shared);
    CHECK(fmcp_server_stop(server, NULL) == FMCP_STATUS_OK);
    http_loop_stop(loop);
    fmcp_server_free(server);
    shared_close(&shared);
    free(loop);
}

static void a_carrier_is_started_first(void) {
    static const char *const WRONG[] = {"[]", "{\"port\":0}", "{\"path\":\"mcp\"}"};
    struct shared shared;
    fmcp_http *http = NULL;
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        fmcp_server *server = http_server(&shared);
        CHECK(fmcp_http_admit(server, fmcp_text_of("GET"), fmcp_text_of("/"), NULL, 0, FMCP_NONE, &http, NULL) ==
              FMCP_STATUS_STATE);
        CHECK(fmcp_server_start_carrier(server, fmcp_text_of(WRONG[i]), NULL) == FMCP_STATUS_INVALID_ARGUMENT);
        fmcp_server_free(server);
    }
}

int main(void) {
    by_functions();
    by_a_server_of_the_program();
    a_carrier_is_started_first();
    client_threads_end();
    return check_report("carrier");
}
