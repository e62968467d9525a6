/* The listener of HTTP: what a client gets over a socket, options, addresses, the end. */
#include "http_tools.h"

#include <pthread.h>

static void whoever_comes_is_served(void) {
    struct shared shared;
    shared_open(&shared);
    fmcp_server *server = http_server(&shared);
    CHECK(fmcp_server_port(server) == 0 && fmcp_server_address(server).data == NULL);
    CHECK(fmcp_server_start_http(server, fmcp_text_of("{\"port\":0,\"announce\":false,\"maxThreads\":8}"),
                                 NULL) == FMCP_STATUS_OK);
    const unsigned port = fmcp_server_port(server);
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    CHECK(port != 0 && TEXT_IS(fmcp_server_address(server), address));
    modern_requests(port);
    a_stream(port, &shared);
    a_client_that_goes(port, &shared);
    a_session(port, server);
    a_stream_that_is_let_go(port, &shared);
    struct http *idle = http_send(port, "POST", POST_OF("tools/call", "quick"), CALL_OF("quick"));
    CHECK(holds(http_body(idle), "\"text\":\"quick\""));
    CHECK(fmcp_server_stop(server, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_wait(server, NULL) == FMCP_STATUS_OK);
    /* Nothing is left open, and nobody listens. */
    CHECK(recv(idle->socket, idle->rest, 1, 0) == 0);
    http_close(idle);
    CHECK(http_connect(port) < 0);
    fmcp_server_free(server);
    shared_close(&shared);
}

static void options_are_looked_at(void) {
    static const char *const WRONG[] = {"[]", "{\"prot\":1}", "{\"port\":-1}", "{\"maxThreads\":\"x\"}", "{\"path\":\"mcp\"}"};
    struct shared shared;
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        fmcp_server *server = http_server(&shared);
        fmcp_error *error = NULL;
        CHECK(fmcp_server_start_http(server, fmcp_text_of(WRONG[i]), &error) == FMCP_STATUS_INVALID_ARGUMENT);
        CHECK(fmcp_error_text(error).len > 0);
        fmcp_error_free(error);
        fmcp_server_free(server);
    }
}

static void an_address_is_had_once(void) {
    struct shared shared;
    fmcp_server *first = http_server(&shared), *second = http_server(&shared);
    char options[64];
    fmcp_error *error = NULL;
    CHECK(fmcp_server_start_http(first, fmcp_text_of("{\"port\":0,\"announce\":false}"), NULL) == FMCP_STATUS_OK);
    snprintf(options, sizeof options, "{\"port\":%u,\"announce\":false}", (unsigned)fmcp_server_port(first));
    CHECK(fmcp_server_start_http(second, fmcp_text_of(options), &error) == FMCP_STATUS_IO);
    fmcp_error_free(error);
    CHECK(fmcp_server_port(second) == 0);
    CHECK(fmcp_server_start_http(first, FMCP_NONE, NULL) == FMCP_STATUS_STATE);
    fmcp_server_free(second);
    fmcp_server_free(first);
}

static void *run(void *server) {
    const fmcp_text options = fmcp_text_of("{\"port\":0,\"announce\":false}");
    CHECK(fmcp_server_run_http((fmcp_server *)server, options, NULL) == FMCP_STATUS_OK);
    return NULL;
}

static void running_lasts_until_it_is_stopped(void) {
    struct shared shared;
    fmcp_server *server = http_server(&shared);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, server) == 0);
    for (int waited = 0; fmcp_server_port(server) == 0 && waited < DEADLINE_MS; waited++) {
        poll(NULL, 0, 1);
    }
    const unsigned port = fmcp_server_port(server);
    CHECK(http_status(port, "POST", POST_OF("tools/call", "quick"), CALL_OF("quick")) == 200);
    CHECK(fmcp_server_stop(server, NULL) == FMCP_STATUS_OK);
    CHECK(pthread_join(thread, NULL) == 0);
    fmcp_server_free(server);
}

int main(void) {
    whoever_comes_is_served();
    options_are_looked_at();
    an_address_is_had_once();
    running_lasts_until_it_is_stopped();
    client_threads_end();
    return check_report("http");
}
