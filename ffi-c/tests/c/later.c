/* Calls that are kept and answered on other threads, and handlers that run at the same time. Run under valgrind too. */
#include "client.h"

#include <pthread.h>

enum { WORKERS = 4, CALLS = 64 };

/* Calls on their way from the handlers to the workers. NULL tells a worker to end. */
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    fmcp_call *calls[CALLS + WORKERS];
    size_t length;
};

static void put(struct queue *queue, fmcp_call *call) {
    pthread_mutex_lock(&queue->lock);
    queue->calls[queue->length++] = call;
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}

static fmcp_call *take(struct queue *queue) {
    pthread_mutex_lock(&queue->lock);
    while (queue->length == 0) {
        pthread_cond_wait(&queue->filled, &queue->lock);
    }
    fmcp_call *call = queue->calls[0];
    queue->length--;
    memmove(queue->calls, queue->calls + 1, queue->length * sizeof call);
    pthread_mutex_unlock(&queue->lock);
    return call;
}

static void keep(fmcp_call *call, void *user_data) { put((struct queue *)user_data, fmcp_call_retain(call)); }

/* Gives the number of failures, as a pointer-sized number. */
static void *work(void *shared) {
    size_t failures = 0;
    fmcp_call *call;
    while ((call = take((struct queue *)shared)) != NULL) {
        fmcp_text text = FMCP_NONE;
        failures += fmcp_call_string(call, "text", &text, NULL) != FMCP_STATUS_OK;
        failures += fmcp_call_report_progress(call, 1, 2, FMCP_NONE, NULL) != FMCP_STATUS_OK;
        failures += fmcp_call_is_cancelled(call);
        failures += fmcp_call_respond_text(call, text, NULL) != FMCP_STATUS_OK;
        fmcp_call_free(call);
    }
    return (void *)failures;
}

static void kept_calls_are_answered_elsewhere(void) {
    static struct queue queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {NULL}, 0};
    fmcp_server *server = NULL;
    CHECK(fmcp_server_new(fmcp_text_of("test"), fmcp_text_of("1"), &server, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("keep")), keep, &queue, NULL, NULL) == FMCP_STATUS_OK);
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        CHECK(pthread_create(&workers[i], NULL, work, &queue) == 0);
    }
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    char request[1024];
    for (int i = 0; i < CALLS; i++) {
        snprintf(request, sizeof request, REQUEST("%d", "tools/call", "\"name\":\"keep\",\"arguments\":{\"text\":\"n%d\\n\"}", MODERN),
                 i, i);
        client_send(client, request);
    }
    int seen[CALLS] = {0};
    for (int i = 0; i < CALLS; i++) {
        const char *line = client_line(client);
        int id = -1;
        CHECK(sscanf(line, "{\"jsonrpc\":\"2.0\",\"id\":%d,", &id) == 1 && id >= 0 && id < CALLS);
        snprintf(request, sizeof request, "\"text\":\"n%d\\n\"", id);
        CHECK(holds(line, request));
        seen[id >= 0 && id < CALLS ? id : 0]++;
    }
    for (int i = 0; i < CALLS; i++) {
        CHECK(seen[i] == 1);
    }
    for (int i = 0; i < WORKERS; i++) {
        put(&queue, NULL);
    }
    for (int i = 0; i < WORKERS; i++) {
        void *failures = NULL;
        CHECK(pthread_join(workers[i], &failures) == 0);
        CHECK((size_t)failures == 0);
    }
    client_end(client, server);
    free(client);
    fmcp_server_free(server);
}

/* Two handlers that wait for each other end only if they run at the same time. */
struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int here;
};

static void meet(fmcp_call *call, void *user_data) {
    struct meeting *meeting = (struct meeting *)user_data;
    pthread_mutex_lock(&meeting->lock);
    meeting->here++;
    pthread_cond_broadcast(&meeting->changed);
    while (meeting->here < 2) {
        pthread_cond_wait(&meeting->changed, &meeting->lock);
    }
    pthread_mutex_unlock(&meeting->lock);
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("met"), NULL) == FMCP_STATUS_OK);
}

static void a_blocked_handler_holds_nobody_up(void) {
    static struct meeting meeting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    fmcp_server *server = NULL;
    CHECK(fmcp_server_new(fmcp_text_of("test"), fmcp_text_of("1"), &server, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("meet")), meet, &meeting, NULL, NULL) == FMCP_STATUS_OK);
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    client_send(client, CALL_TOOL("1", "meet", "{}") CALL_TOOL("2", "meet", "{}"));
    CHECK(holds(client_line(client), "\"text\":\"met\""));
    CHECK(holds(client_line(client), "\"text\":\"met\""));
    client_end(client, server);
    free(client);
    fmcp_server_free(server);
}

/* Waits until it is cancelled; that is told by fmcp_call_is_cancelled() and fmcp_call_cancel_reason() alone. */
static void wait_for_cancellation(fmcp_call *call, void *user_data) {
    int *seen = (int *)user_data;
    CHECK(fmcp_call_cancel_reason(call).data == NULL);
    CHECK(fmcp_call_report_progress(call, 1, 1, FMCP_NONE, NULL) == FMCP_STATUS_OK);
    for (int waited = 0; !fmcp_call_is_cancelled(call) && waited < DEADLINE_MS; waited++) {
        poll(NULL, 0, 1);
    }
    *seen = fmcp_call_is_cancelled(call);
    fmcp_text reason = fmcp_call_cancel_reason(call);
    CHECK(TEXT_IS(reason, "enough"));
    CHECK(fmcp_call_cancel_reason(call).data == reason.data);
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("late"), NULL) == FMCP_STATUS_OK);
    /* After the answer nobody is told any more, and the text that was asked for is there all the same. */
    CHECK(!fmcp_call_is_cancelled(call) && fmcp_call_cancel_reason(call).data == NULL);
    CHECK(TEXT_IS(reason, "enough"));
}

static void a_call_kept_over_the_end(fmcp_call *call, void *user_data) {
    *(fmcp_call **)user_data = fmcp_call_retain(call);
}

static void cancellation_and_the_end(void) {
    int cancelled = 0;
    fmcp_call *kept = NULL;
    fmcp_server *server = NULL;
    static const char CONFIG[] = "{\"info\":{\"name\":\"test\",\"version\":\"1\"},\"limits\":{\"drainMs\":10}}";
    CHECK(fmcp_server_from_config(fmcp_text_of(CONFIG), &server, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("wait")), wait_for_cancellation, &cancelled, NULL, NULL) ==
          FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("keep")), a_call_kept_over_the_end, &kept, NULL, NULL) ==
          FMCP_STATUS_OK);
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    /* It has begun when its progress is there; a call that has not would be taken back. */
    CHECK(holds(client_ask(client, REQUEST("1", "tools/call", "\"name\":\"wait\"", PROGRESS)), "notifications/progress"));
    client_send(client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                        "\"params\":{\"requestId\":1,\"reason\":\"enough\"}}\n");
    client_send(client, CALL_TOOL("2", "keep", "{}"));
    /* The cancelled call has no answer, and the kept one is given up with the drain's bound. */
    client_end(client, server);
    fmcp_server_free(server);
    CHECK(cancelled == 1);
    CHECK(kept != NULL && TEXT_IS(fmcp_call_id(kept), "2"));
    CHECK(fmcp_call_is_cancelled(kept) && fmcp_call_cancel_reason(kept).len > 0);
    CHECK(fmcp_call_respond_text(kept, fmcp_text_of("late"), NULL) == FMCP_STATUS_OK);
    fmcp_call_free(kept);
    free(client);
}

int main(void) {
    kept_calls_are_answered_elsewhere();
    a_blocked_handler_holds_nobody_up();
    cancellation_and_the_end();
    client_threads_end();
    return check_report("later");
}
