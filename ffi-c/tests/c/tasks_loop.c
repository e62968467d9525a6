/* Tasks in a loop of one's own: kept in the engine, with its time, and begun without waiting. */
#include "tasking.h"

/* UNIX milliseconds at the clock's zero: 2026-07-28T00:00:00Z. */
#define EPOCH 1785196800000

struct loop {
    fmcp_engine *engine;
    uint32_t stream;
    uint64_t now;
};

static struct loop make(const char *config) {
    struct loop loop = {NULL, 99, 0};
    CHECK(fmcp_engine_new(fmcp_text_of(config), &loop.engine, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_set_epoch(loop.engine, EPOCH, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_add_tool(loop.engine, fmcp_text_of(OPTIONAL("job")), 1, 0, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_add_tool(loop.engine, fmcp_text_of(TOOL("plain")), 2, 0, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_open(loop.engine, 0, &loop.stream, NULL) == FMCP_STATUS_OK);
    return loop;
}

static void receive(struct loop *loop, const char *text) {
    CHECK(fmcp_engine_receive(loop->engine, loop->stream, (const uint8_t *)text, strlen(text), loop->now, NULL) ==
          FMCP_STATUS_OK);
}

/* The next output, which is of this kind. */
static fmcp_output *next(struct loop *loop, fmcp_event event) {
    fmcp_output *output = NULL;
    CHECK(fmcp_engine_poll(loop->engine, &output, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_output_event(output) == event);
    return output;
}

static void nothing_more(struct loop *loop) { CHECK(next(loop, FMCP_EVENT_NONE) == NULL); }

/* The next output is to send a text that holds this; the text, until the next is asked for. */
static const char *sends(struct loop *loop, const char *text) {
    static char line[MOST_LINE];
    fmcp_output *output = next(loop, FMCP_EVENT_TRANSMIT);
    const fmcp_text sent = fmcp_output_text(output);
    CHECK(sent.len > 0 && sent.len < sizeof line);
    snprintf(line, sizeof line, "%.*s", (int)sent.len, sent.data != NULL ? sent.data : "");
    CHECK(holds(line, text));
    fmcp_output_free(output);
    return line;
}

static fmcp_call *called(struct loop *loop) {
    fmcp_output *output = next(loop, FMCP_EVENT_CALL);
    fmcp_call *call = fmcp_call_retain(fmcp_output_call(output));
    fmcp_output_free(output);
    return call;
}

/* Asks for a task, which is as this says. */
static const char *looks(struct loop *loop, const char *id, const char *text) {
    char line[MOST_LINE];
    receive(loop, about_task(line, 50, "tasks/get", id, ""));
    return sends(loop, text);
}

static void a_task_is_answered_later(void) {
    struct loop loop = make("{\"info\":{\"name\":\"test\",\"version\":\"1\"}}");
    char id[MOST_ID], line[MOST_LINE];
    uint64_t ask = 0;
    fmcp_answers *answers = NULL;
    loop.now = 5;
    receive(&loop, CALL_TASK("1", "job"));
    task_of(sends(&loop, "\"createdAt\":\"2026-07-28T00:00:00.005Z\""), id);
    fmcp_call *call = called(&loop);
    CHECK(TEXT_IS(fmcp_call_task_id(call), id));
    nothing_more(&loop);
    looks(&loop, id, "\"status\":\"working\"");
    const fmcp_input_request request = {fmcp_text_of("who"), fmcp_text_of("elicitation/create"), fmcp_text_of(FORM)};
    CHECK(fmcp_call_begin_ask(call, &request, 1, FMCP_REENTRY_REPLAY, -1, &ask, &answers, NULL) == FMCP_STATUS_OK);
    CHECK(answers == NULL);
    nothing_more(&loop);
    looks(&loop, id, "\"status\":\"input_required\"");
    receive(&loop, about_task(line, 2, "tasks/update", id, ",\"inputResponses\":{\"who\":" ADA "}"));
    fmcp_output *output = NULL;
    sends(&loop, "\"id\":2,\"result\":");
    output = next(&loop, FMCP_EVENT_ANSWERS);
    CHECK(fmcp_output_ask(output) == ask);
    CHECK(fmcp_call_respond_text(call, fmcp_answers_content(fmcp_output_answers(output), 0), NULL) == FMCP_STATUS_OK);
    fmcp_output_free(output);
    nothing_more(&loop);
    CHECK(holds(looks(&loop, id, "\"status\":\"completed\""), "{\\\"name\\\":\\\"Ada\\\"}"));
    /* What it was stays known. */
    CHECK(TEXT_IS(fmcp_call_task_id(call), id));
    fmcp_call_free(call);
    fmcp_engine_free(loop.engine);
}

static void begun_without_waiting(void) {
    struct loop loop = make("{\"info\":{\"name\":\"test\",\"version\":\"1\"}}");
    char id[MOST_ID];
    bool begun = false;
    receive(&loop, CALL_TASK("1", "plain"));
    fmcp_call *call = called(&loop);
    CHECK(fmcp_call_task_id(call).data == NULL);
    CHECK(fmcp_call_begin_task(call, &begun, NULL) == FMCP_STATUS_OK && begun);
    CHECK(fmcp_call_begin_task(call, &begun, NULL) == FMCP_STATUS_OK && !begun);
    task_of(sends(&loop, "\"resultType\":\"task\""), id);
    fmcp_output *output = next(&loop, FMCP_EVENT_TASK_BEGUN);
    CHECK(fmcp_output_key(output) == fmcp_call_key(call) && TEXT_IS(fmcp_output_text(output), id));
    fmcp_output_free(output);
    CHECK(TEXT_IS(fmcp_call_task_id(call), id));
    /* Nobody answers it any more. */
    fmcp_call_free(call);
    looks(&loop, id, "\"status\":\"failed\"");
    /* Whose client takes none goes on as it is. */
    receive(&loop, CALL_TOOL("2", "plain", "{}"));
    call = called(&loop);
    CHECK(fmcp_call_begin_task(call, &begun, NULL) == FMCP_STATUS_OK && !begun);
    nothing_more(&loop);
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("done"), NULL) == FMCP_STATUS_OK);
    sends(&loop, "\"text\":\"done\"");
    fmcp_call_free(call);
    /* Nor does one become a task that is cancelled meanwhile. */
    receive(&loop, CALL_TASK("3", "plain"));
    call = called(&loop);
    CHECK(fmcp_call_begin_task(call, &begun, NULL) == FMCP_STATUS_OK && begun);
    receive(&loop, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}\n");
    fmcp_output_free(next(&loop, FMCP_EVENT_CANCELLED));
    output = next(&loop, FMCP_EVENT_TASK_BEGUN);
    CHECK(fmcp_output_key(output) == fmcp_call_key(call) && fmcp_output_text(output).data == NULL);
    fmcp_output_free(output);
    fmcp_call_free(call);
    nothing_more(&loop);
    fmcp_engine_free(loop.engine);
}

static void tasks_end_with_their_time(void) {
    struct loop loop = make("{\"info\":{\"name\":\"test\",\"version\":\"1\"},\"tasks\":{\"ttlMs\":1000,\"pollMs\":10}}");
    char id[MOST_ID], line[MOST_LINE];
    receive(&loop, CALL_TASK("1", "job"));
    task_of(sends(&loop, "\"ttlMs\":1000"), id);
    fmcp_call *call = called(&loop);
    loop.now = 1000;
    CHECK(fmcp_engine_handle_timeout(loop.engine, loop.now, NULL) == FMCP_STATUS_OK);
    fmcp_output_free(next(&loop, FMCP_EVENT_CANCELLED));
    CHECK(fmcp_call_is_cancelled(call));
    fmcp_call_free(call);
    receive(&loop, about_task(line, 2, "tasks/get", id, ""));
    sends(&loop, "\"code\":-32602");
    fmcp_engine_free(loop.engine);
}

static void an_older_client_asks_for_its_task(void) {
    struct loop loop = make("{\"info\":{\"name\":\"test\",\"version\":\"1\"}}");
    char id[MOST_ID], line[MOST_LINE];
    receive(&loop, LEGACY(ALL) INITIALIZED);
    sends(&loop, "\"tasks\":{");
    fmcp_output_free(next(&loop, FMCP_EVENT_INITIALIZED));
    receive(&loop, LEGACY_TASK("1", "job"));
    task_of(sends(&loop, "\"result\":{\"task\":{"), id);
    fmcp_call *call = called(&loop);
    CHECK(TEXT_IS(fmcp_call_task_id(call), id));
    receive(&loop, about_legacy_task(line, 2, "tasks/result", id));
    nothing_more(&loop);
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("done"), NULL) == FMCP_STATUS_OK);
    CHECK(holds(sends(&loop, "\"id\":2,\"result\":"), "\"io.modelcontextprotocol/related-task\""));
    fmcp_call_free(call);
    fmcp_engine_free(loop.engine);
}

int main(void) {
    a_task_is_answered_later();
    begun_without_waiting();
    tasks_end_with_their_time();
    an_older_client_asks_for_its_task();
    return check_report("tasks_loop");
}
