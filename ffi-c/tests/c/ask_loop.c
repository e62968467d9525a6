/* Asking the client in a loop of one's own: questions that nobody waits for, and answers that are events. */
#include "asking.h"

static const char CONFIG[] = "{\"info\":{\"name\":\"test\",\"version\":\"1\"},\"limits\":{\"heldMs\":500}}";
static const char WHO[] = "{\"who\":{\"method\":\"elicitation/create\",\"params\":" FORM "}}";

/* An engine with a tool, a stream, and the time. */
struct loop {
    fmcp_engine *engine;
    uint32_t stream;
    uint64_t now;
};

static struct loop make(void) {
    struct loop loop = {NULL, 99, 0};
    CHECK(fmcp_engine_new(fmcp_text_of(CONFIG), &loop.engine, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_add_tool(loop.engine, fmcp_text_of(TOOL("tool")), 1, 0, NULL) == FMCP_STATUS_OK);
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
    static char line[1 << 14];
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
    CHECK(fmcp_output_answers(output) == NULL && fmcp_output_ask(output) == 0);
    fmcp_call *call = fmcp_call_retain(fmcp_output_call(output));
    fmcp_output_free(output);
    return call;
}

/* The call is over, and says so. */
static void over(struct loop *loop, fmcp_call *call) {
    fmcp_output *output = next(loop, FMCP_EVENT_CANCELLED);
    CHECK(fmcp_output_key(output) == fmcp_call_key(call) && fmcp_output_text(output).data == NULL);
    fmcp_output_free(output);
    CHECK(fmcp_call_is_cancelled(call) && fmcp_call_cancel_reason(call).len > 0);
}

/* Asks for a name. */
static fmcp_status begin(fmcp_call *call, int32_t reentry, int64_t timeout_ms, uint64_t *ask, fmcp_answers **answers) {
    const fmcp_input_request request = {fmcp_text_of("who"), fmcp_text_of("elicitation/create"), fmcp_text_of(FORM)};
    return fmcp_call_begin_ask(call, &request, 1, reentry, timeout_ms, ask, answers, NULL);
}

/* The first round of a call that is replayed, up to its state. */
static void first_round(struct loop *loop, char state[MOST_STATE]) {
    uint64_t ask = 7;
    fmcp_answers *answers = NULL;
    receive(loop, CALL_CAPABLE("1", "tool"));
    fmcp_call *call = called(loop);
    CHECK(begin(call, FMCP_REENTRY_REPLAY, -1, &ask, &answers) == FMCP_STATUS_SUSPENDED && ask == 7 && answers == NULL);
    /* The call knows it before the loop does. */
    CHECK(fmcp_call_is_cancelled(call));
    CHECK(begin(call, FMCP_REENTRY_REPLAY, -1, &ask, &answers) == FMCP_STATUS_SUSPENDED && answers == NULL);
    state_of(sends(loop, "\"resultType\":\"input_required\",\"inputRequests\":{\"who\":"), state);
    over(loop, call);
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("too late"), NULL) == FMCP_STATUS_OK);
    fmcp_call_free(call);
    nothing_more(loop);
}

static void a_call_comes_again_with_the_answer(void) {
    struct loop loop = make();
    char state[MOST_STATE], line[1 << 14];
    uint64_t ask = 7;
    fmcp_answers *answers = NULL;
    first_round(&loop, state);
    receive(&loop, retry(line, 2, "tool", state, "{\"who\":" ADA "}"));
    fmcp_call *call = called(&loop);
    CHECK(begin(call, FMCP_REENTRY_REPLAY, -1, &ask, &answers) == FMCP_STATUS_OK && ask == 0);
    CHECK(fmcp_answers_count(answers) == 1 && fmcp_answers_outcome(answers, 0) == FMCP_OUTCOME_RESULT);
    CHECK(fmcp_answers_action(answers, 0) == FMCP_ACTION_ACCEPT);
    CHECK(TEXT_IS(fmcp_answers_content(answers, 0), "{\"name\":\"Ada\"}") && TEXT_IS(fmcp_answers_result(answers, 0), ADA));
    CHECK(fmcp_call_respond_text(call, fmcp_answers_content(answers, 0), NULL) == FMCP_STATUS_OK);
    CHECK(begin(call, FMCP_REENTRY_REPLAY, -1, &ask, &answers) == FMCP_STATUS_STATE);
    fmcp_call_free(call);
    sends(&loop, "\"resultType\":\"complete\"");
    nothing_more(&loop);
    /* The answers are ours, whatever becomes of call and engine. */
    fmcp_engine_free(loop.engine);
    CHECK(TEXT_IS(fmcp_answers_content(answers, 0), "{\"name\":\"Ada\"}"));
    fmcp_answers_free(answers);
}

static void a_call_may_wait_instead(void) {
    struct loop loop = make();
    char state[MOST_STATE], line[1 << 14];
    uint64_t ask = 7;
    fmcp_answers *answers = (fmcp_answers *)&checks_passed;
    receive(&loop, CALL_CAPABLE("1", "tool"));
    fmcp_call *call = called(&loop);
    CHECK(begin(call, FMCP_REENTRY_HELD, -1, &ask, &answers) == FMCP_STATUS_OK && answers == NULL);
    state_of(sends(&loop, "input_required"), state);
    nothing_more(&loop);
    receive(&loop, retry(line, 2, "tool", state, "{\"who\":{\"action\":\"decline\"}}"));
    fmcp_output *output = next(&loop, FMCP_EVENT_ANSWERS);
    CHECK(fmcp_output_key(output) == fmcp_call_key(call) && fmcp_output_ask(output) == ask);
    CHECK(fmcp_answers_count(fmcp_output_answers(output)) == 1);
    CHECK(fmcp_answers_action(fmcp_output_answers(output), 0) == FMCP_ACTION_DECLINE);
    CHECK(fmcp_answers_content(fmcp_output_answers(output), 0).data == NULL);
    fmcp_output_free(output);
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("well"), NULL) == FMCP_STATUS_OK);
    fmcp_call_free(call);
    sends(&loop, "\"id\":2,\"result\":{\"resultType\":\"complete\"");
    /* Who does not come back is waited for no longer than the limits say. */
    receive(&loop, CALL_CAPABLE("3", "tool"));
    call = called(&loop);
    CHECK(begin(call, FMCP_REENTRY_HELD, -1, &ask, &answers) == FMCP_STATUS_OK && answers == NULL);
    sends(&loop, "input_required");
    CHECK(fmcp_engine_poll_timeout(loop.engine) == 500);
    CHECK(fmcp_engine_handle_timeout(loop.engine, 500, NULL) == FMCP_STATUS_OK);
    over(&loop, call);
    CHECK(begin(call, FMCP_REENTRY_HELD, -1, &ask, &answers) == FMCP_STATUS_CANCELLED);
    fmcp_call_free(call);
    fmcp_engine_free(loop.engine);
}

static void an_older_client_gets_requests(void) {
    struct loop loop = make();
    const fmcp_input_request both[] = {
        {FMCP_NONE, fmcp_text_of("elicitation/create"), fmcp_text_of(FORM)},
        {FMCP_NONE, fmcp_text_of("roots/list"), FMCP_NONE},
    };
    uint64_t ask = 7, later = 7;
    fmcp_answers *answers = (fmcp_answers *)&checks_passed;
    receive(&loop, LEGACY(ALL) INITIALIZED);
    sends(&loop, "\"id\":\"i\"");
    fmcp_output_free(next(&loop, FMCP_EVENT_INITIALIZED));
    receive(&loop, LEGACY_CALL("1", "tool"));
    fmcp_call *call = called(&loop);
    CHECK(fmcp_call_begin_ask(call, both, 2, FMCP_REENTRY_REPLAY, -1, &ask, &answers, NULL) == FMCP_STATUS_OK && answers == NULL);
    CHECK(holds(sends(&loop, "\"method\":\"elicitation/create\""), "\"id\":1,\"method\":\"roots/list\"}"));
    receive(&loop, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":5,\"message\":\"no\"}}\n");
    nothing_more(&loop);
    receive(&loop, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"action\":\"accept\",\"content\":{}}}\n");
    fmcp_output *output = next(&loop, FMCP_EVENT_ANSWERS);
    const fmcp_answers *given = fmcp_output_answers(output);
    CHECK(fmcp_output_ask(output) == ask && fmcp_answers_count(given) == 2);
    CHECK(fmcp_answers_outcome(given, 0) == FMCP_OUTCOME_INVALID && fmcp_answers_action(given, 0) == FMCP_ACTION_NONE);
    CHECK(fmcp_answers_error_code(given, 0) == 0 && fmcp_answers_error_message(given, 0).len > 0);
    CHECK(fmcp_answers_result(given, 0).data == NULL && fmcp_answers_content(given, 0).data == NULL);
    CHECK(fmcp_answers_outcome(given, 1) == FMCP_OUTCOME_ERROR && fmcp_answers_error_code(given, 1) == 5);
    CHECK(TEXT_IS(fmcp_answers_error_message(given, 1), "no"));
    fmcp_output_free(output);
    /* The time that it has is told here. */
    CHECK(begin(call, FMCP_REENTRY_REPLAY, 50, &later, &answers) == FMCP_STATUS_OK && later != ask);
    sends(&loop, "elicitation/create");
    CHECK(fmcp_engine_handle_timeout(loop.engine, 50, NULL) == FMCP_STATUS_OK);
    sends(&loop, "notifications/cancelled");
    output = next(&loop, FMCP_EVENT_ANSWERS);
    CHECK(fmcp_output_ask(output) == later);
    CHECK(fmcp_answers_outcome(fmcp_output_answers(output), 0) == FMCP_OUTCOME_TIMED_OUT);
    CHECK(fmcp_answers_error_message(fmcp_output_answers(output), 0).data == NULL);
    fmcp_output_free(output);
    CHECK(begin(call, FMCP_REENTRY_REPLAY, 0, &later, &answers) == FMCP_STATUS_OK);
    sends(&loop, "elicitation/create");
    CHECK(fmcp_engine_end_of_input(loop.engine, loop.stream, 60, NULL) == FMCP_STATUS_OK);
    output = next(&loop, FMCP_EVENT_ANSWERS);
    CHECK(fmcp_answers_outcome(fmcp_output_answers(output), 0) == FMCP_OUTCOME_CLOSED);
    fmcp_output_free(output);
    fmcp_call_free(call);
    fmcp_engine_free(loop.engine);
}

static void rounds_by_hand_come_back(void) {
    struct loop loop = make();
    char state[MOST_STATE], line[1 << 14];
    receive(&loop, CALL_CAPABLE("1", "tool"));
    fmcp_call *call = called(&loop);
    CHECK(fmcp_call_request_state(call).data == NULL && fmcp_call_input_responses(call).data == NULL);
    CHECK(fmcp_call_input_required(call, fmcp_text_of(WHO), fmcp_text_of(""), NULL) == FMCP_STATUS_OK);
    fmcp_call_free(call);
    state_of(sends(&loop, "input_required"), state);
    receive(&loop, retry(line, 2, "tool", state, "{\"who\":" ADA "}"));
    call = called(&loop);
    CHECK(TEXT_IS(fmcp_call_request_state(call), "") && TEXT_IS(fmcp_call_input_responses(call), "{\"who\":" ADA "}"));
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("done"), NULL) == FMCP_STATUS_OK);
    fmcp_call_free(call);
    sends(&loop, "done");

    receive(&loop, LEGACY(ALL) INITIALIZED);
    sends(&loop, "\"id\":\"i\"");
    fmcp_output_free(next(&loop, FMCP_EVENT_INITIALIZED));
    receive(&loop, LEGACY_CALL("3", "tool"));
    call = called(&loop);
    CHECK(fmcp_call_input_required(call, fmcp_text_of(WHO), FMCP_NONE, NULL) == FMCP_STATUS_OK);
    sends(&loop, "\"id\":0,\"method\":\"elicitation/create\"");
    receive(&loop, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":" ADA "}\n");
    fmcp_call *again = called(&loop);
    CHECK(again != call && fmcp_call_key(again) == fmcp_call_key(call));
    /* The first object goes, and the second still hears of what becomes of their call. */
    fmcp_call_free(call);
    receive(&loop, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}\n");
    over(&loop, again);
    fmcp_call_free(again);
    nothing_more(&loop);
    fmcp_engine_free(loop.engine);
}

static void what_a_client_can_not_be_asked(void) {
    struct loop loop = make();
    uint64_t ask = 7;
    fmcp_answers *answers = NULL;
    fmcp_error *error = NULL;
    const fmcp_input_request request = {FMCP_NONE, fmcp_text_of("roots/list"), FMCP_NONE};
    receive(&loop, CALL_TOOL("1", "tool", "{}"));
    fmcp_call *call = called(&loop);
    CHECK(fmcp_call_begin_ask(call, &request, 1, FMCP_REENTRY_HELD, -1, &ask, &answers, &error) ==
          FMCP_STATUS_CAPABILITY_NOT_DECLARED);
    CHECK(ask == 7 && answers == NULL && TEXT_IS(fmcp_error_capability(error), "roots"));
    fmcp_error_free(error);
    nothing_more(&loop);
    fmcp_call_free(call);
    sends(&loop, "\"code\":-32021");
    /* What can be asked in another loop only, and other misuse. */
    receive(&loop, CALL_CAPABLE("2", "tool"));
    call = called(&loop);
    CHECK(fmcp_call_list_roots(call, FMCP_NONE, -1, &answers, NULL) == FMCP_STATUS_STATE);
    CHECK(begin(call, 7, -1, &ask, &answers) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(begin(call, FMCP_REENTRY_HELD, -1, NULL, &answers) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(begin(call, FMCP_REENTRY_HELD, -1, &ask, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(ask == 7 && answers == NULL);
    nothing_more(&loop);
    fmcp_engine_free(loop.engine);
    /* A call that outlives its engine can ask nobody. */
    CHECK(begin(call, FMCP_REENTRY_HELD, -1, &ask, &answers) == FMCP_STATUS_OK);
    fmcp_call_free(call);
}

/* Whether the retry of a call runs it again, or is refused. */
static void retried(struct loop *loop, const char *state, bool runs) {
    char line[1 << 14];
    receive(loop, retry(line, 2, "tool", state, "{\"who\":" ADA "}"));
    if (runs) {
        fmcp_call_free(called(loop));
        sends(loop, "The tool gave no answer.");
    } else {
        sends(loop, "\"code\":-32602");
    }
}

static void states_are_for_those_who_were_asked(void) {
    const fmcp_text keys[] = {fmcp_text_of("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")};
    char state[MOST_STATE];
    struct loop one = make(), other = make();
    /* Of one principal. */
    CHECK(fmcp_engine_set_principal(one.engine, one.stream, fmcp_text_of("alice"), NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_set_principal(one.engine, 99, fmcp_text_of("alice"), NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    receive(&one, CALL_CAPABLE("9", "tool"));
    fmcp_call *call = called(&one);
    CHECK(TEXT_IS(fmcp_call_principal(call), "alice"));
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("seen"), NULL) == FMCP_STATUS_OK);
    sends(&one, "\"text\":\"seen\"");
    fmcp_call_free(call);
    first_round(&one, state);
    CHECK(fmcp_engine_set_principal(one.engine, one.stream, FMCP_NONE, NULL) == FMCP_STATUS_OK);
    retried(&one, state, false);
    CHECK(fmcp_engine_set_principal(one.engine, one.stream, fmcp_text_of("alice"), NULL) == FMCP_STATUS_OK);
    retried(&one, state, true);
    CHECK(fmcp_engine_set_principal(one.engine, one.stream, FMCP_NONE, NULL) == FMCP_STATUS_OK);
    /* Of one key, as long as the outside's time says. */
    first_round(&one, state);
    retried(&other, state, false);
    CHECK(fmcp_engine_set_state_keys(one.engine, keys, 1, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_set_state_keys(other.engine, keys, 1, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_set_state_keys(other.engine, NULL, 2, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_engine_set_epoch(one.engine, 1800000000000, NULL) == FMCP_STATUS_OK);
    first_round(&one, state);
    CHECK(fmcp_engine_set_epoch(other.engine, 1800000700000, NULL) == FMCP_STATUS_OK);
    retried(&other, state, false);
    CHECK(fmcp_engine_set_epoch(other.engine, 1800000500000, NULL) == FMCP_STATUS_OK);
    retried(&other, state, true);
    fmcp_engine_free(one.engine);
    fmcp_engine_free(other.engine);
}

int main(void) {
    a_call_comes_again_with_the_answer();
    a_call_may_wait_instead();
    an_older_client_gets_requests();
    rounds_by_hand_come_back();
    what_a_client_can_not_be_asked();
    states_are_for_those_who_were_asked();
    return check_report("ask_loop");
}
