/* Asking the client in the ready-made loop: replay, held, by hand, older clients, and what misuse gives. */
#include "asking.h"

/* What a handler that asks has seen. Where no answer tells that it is written, it is waited for. */
struct seen {
    int runs;
    volatile fmcp_status status;
    fmcp_action action;
    volatile int destroyed;
};

static void destroy(void *user_data) { ((struct seen *)user_data)->destroyed++; }

static void wait_for(struct seen *seen, fmcp_status status) {
    for (int waited = 0; seen->status != status && waited < DEADLINE_MS; waited++) {
        poll(NULL, 0, 1);
    }
    CHECK(seen->status == status);
}

/* Ends a call whose question has no answer, and counts on the library where it may. */
static void give_up(fmcp_call *call, fmcp_status status, fmcp_error *error) {
    CHECK(fmcp_error_status(error) == status);
    CHECK((fmcp_error_capability(error).data != NULL) == (status == FMCP_STATUS_CAPABILITY_NOT_DECLARED));
    if (status == FMCP_STATUS_SUSPENDED) {
        fmcp_answers *answers = NULL;
        CHECK(fmcp_call_is_cancelled(call) && fmcp_call_cancel_reason(call).len > 0);
        /* Whoever does not return at once gets no further. */
        CHECK(fmcp_call_list_roots(call, FMCP_NONE, -1, &answers, NULL) == FMCP_STATUS_SUSPENDED && answers == NULL);
        CHECK(fmcp_call_respond_text(call, fmcp_text_of("too late"), NULL) == FMCP_STATUS_OK);
    } else if (status != FMCP_STATUS_CAPABILITY_NOT_DECLARED) {
        CHECK(fmcp_call_tool_error(call, fmcp_error_text(error), NULL) == FMCP_STATUS_OK);
    }
    fmcp_error_free(error);
}

/* Answers with what the client said; takes the answers over. */
static void say(fmcp_call *call, fmcp_answers *answers) {
    CHECK(fmcp_answers_count(answers) == 1 && fmcp_answers_outcome(answers, 0) == FMCP_OUTCOME_RESULT);
    CHECK(fmcp_answers_outcome(answers, 1) == FMCP_OUTCOME_NONE && fmcp_answers_action(answers, 1) == FMCP_ACTION_NONE);
    CHECK(fmcp_answers_result(answers, 1).data == NULL && fmcp_answers_content(answers, 1).data == NULL);
    CHECK(fmcp_answers_error_code(answers, 0) == 0 && fmcp_answers_error_message(answers, 0).data == NULL);
    CHECK(fmcp_call_respond_text(call, fmcp_answers_result(answers, 0), NULL) == FMCP_STATUS_OK);
    fmcp_answers_free(answers);
}

static void greet(fmcp_call *call, void *user_data) {
    struct seen *seen = (struct seen *)user_data;
    fmcp_answers *const untouched = (fmcp_answers *)&checks_passed;
    fmcp_answers *answers = untouched;
    fmcp_error *error = NULL;
    seen->runs++;
    seen->status = fmcp_call_elicit(call, fmcp_text_of("Who?"), fmcp_text_of(SCHEMA), fmcp_text_of("who"), -1, &answers, &error);
    if (seen->status != FMCP_STATUS_OK) {
        CHECK(answers == untouched);
        give_up(call, seen->status, error);
        return;
    }
    seen->action = fmcp_answers_action(answers, 0);
    if (seen->action == FMCP_ACTION_ACCEPT) {
        CHECK(fmcp_call_respond_text(call, fmcp_answers_content(answers, 0), NULL) == FMCP_STATUS_OK);
    } else {
        CHECK(fmcp_answers_content(answers, 0).data == NULL);
        CHECK(fmcp_call_respond_text(call, fmcp_text_of("nobody"), NULL) == FMCP_STATUS_OK);
    }
    fmcp_answers_free(answers);
}

static void visit(fmcp_call *call, void *user_data) {
    struct seen *seen = (struct seen *)user_data;
    fmcp_answers *answers = NULL;
    fmcp_error *error = NULL;
    seen->status = fmcp_call_elicit_url(call, fmcp_text_of("Pay \"it\""), fmcp_text_of("https://example.com/pay"), FMCP_NONE,
                                        -1, &answers, &error);
    if (seen->status != FMCP_STATUS_OK) {
        give_up(call, seen->status, error);
        return;
    }
    seen->action = fmcp_answers_action(answers, 0);
    say(call, answers);
}

static void sample(fmcp_call *call, void *user_data) {
    struct seen *seen = (struct seen *)user_data;
    fmcp_answers *answers = NULL;
    fmcp_error *error = NULL;
    seen->status = fmcp_call_sample(call, fmcp_text_of("{\"messages\":[],\"maxTokens\":5}"), FMCP_NONE, -1, &answers, &error);
    if (seen->status != FMCP_STATUS_OK) {
        give_up(call, seen->status, error);
        return;
    }
    seen->action = fmcp_answers_action(answers, 0);
    say(call, answers);
}

static void roots(fmcp_call *call, void *user_data) {
    struct seen *seen = (struct seen *)user_data;
    fmcp_answers *answers = NULL;
    fmcp_error *error = NULL;
    seen->status = fmcp_call_list_roots(call, FMCP_NONE, -1, &answers, &error);
    if (seen->status != FMCP_STATUS_OK) {
        give_up(call, seen->status, error);
        return;
    }
    say(call, answers);
}

static void several(fmcp_call *call, void *user_data) {
    struct seen *seen = (struct seen *)user_data;
    const fmcp_input_request requests[] = {
        {fmcp_text_of("who"), fmcp_text_of("elicitation/create"), fmcp_text_of(FORM)},
        {fmcp_text_of("roots"), fmcp_text_of("roots/list"), FMCP_NONE},
    };
    fmcp_answers *answers = NULL;
    fmcp_error *error = NULL;
    seen->status = fmcp_call_ask(call, requests, 2, -1, &answers, &error);
    if (seen->status != FMCP_STATUS_OK) {
        give_up(call, seen->status, error);
        return;
    }
    CHECK(fmcp_answers_count(answers) == 2 && fmcp_answers_action(answers, 0) == FMCP_ACTION_ACCEPT);
    CHECK(fmcp_answers_action(answers, 1) == FMCP_ACTION_NONE && fmcp_answers_content(answers, 1).data == NULL);
    CHECK(fmcp_call_respond_text(call, fmcp_answers_result(answers, 1), NULL) == FMCP_STATUS_OK);
    fmcp_answers_free(answers);
}

/* Counts on its own account: what it asks comes back in a new call. */
static void by_hand(fmcp_call *call, void *user_data) {
    (void)user_data;
    if (fmcp_call_request_state(call).data == NULL) {
        CHECK(fmcp_call_input_responses(call).data == NULL);
        CHECK(fmcp_call_input_required(call, fmcp_text_of("{\"who\":1}"), FMCP_NONE, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
        CHECK(fmcp_call_input_required(call, FMCP_NONE, FMCP_NONE, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
        const fmcp_text requests = fmcp_text_of("{\"who\":{\"method\":\"elicitation/create\",\"params\":" FORM "}}");
        const fmcp_status status = fmcp_call_input_required(call, requests, fmcp_text_of("step 1"), NULL);
        CHECK(status == FMCP_STATUS_OK || status == FMCP_STATUS_CAPABILITY_NOT_DECLARED);
        if (status == FMCP_STATUS_OK) {
            CHECK(fmcp_call_input_required(call, requests, FMCP_NONE, NULL) == FMCP_STATUS_STATE);
        }
        return;
    }
    CHECK(TEXT_IS(fmcp_call_request_state(call), "step 1"));
    CHECK(fmcp_call_respond_text(call, fmcp_call_input_responses(call), NULL) == FMCP_STATUS_OK);
}

static void refuse(fmcp_call *call, void *user_data) {
    fmcp_answers *answers = NULL;
    fmcp_error *error = NULL;
    (void)user_data;
    CHECK(fmcp_call_sample(call, fmcp_text_of("{\"messages\":[],\"maxTokens\":5}"), FMCP_NONE, -1, &answers, &error) ==
          FMCP_STATUS_CAPABILITY_NOT_DECLARED);
    CHECK(TEXT_IS(fmcp_error_capability(error), "sampling"));
    fmcp_error_free(error);
    /* What it says itself stands, whatever it could not ask. */
    CHECK(fmcp_call_fail_capability(call, fmcp_text_of("elicitation.url"), NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_call_fail_capability(call, fmcp_text_of("sampling"), NULL) == FMCP_STATUS_STATE);
}

static void misuse(fmcp_call *call, void *user_data) {
    const fmcp_text text = fmcp_text_of("x");
    const fmcp_input_request odd = {FMCP_NONE, fmcp_text_of("tools/call"), FMCP_NONE};
    const fmcp_input_request lies = {{NULL, 3}, text, FMCP_NONE};
    const fmcp_input_request twice[] = {{text, fmcp_text_of("roots/list"), FMCP_NONE}, {text, fmcp_text_of("roots/list"), FMCP_NONE}};
    fmcp_answers *const untouched = (fmcp_answers *)&checks_passed;
    fmcp_answers *answers = untouched;
    uint64_t ask = 7;
    (void)user_data;
#define REFUSED(call) CHECK((call) == FMCP_STATUS_INVALID_ARGUMENT && answers == untouched)
    REFUSED(fmcp_call_elicit(call, text, fmcp_text_of("{"), FMCP_NONE, -1, &answers, NULL));
    REFUSED(fmcp_call_elicit(call, text, fmcp_text_of(SCHEMA ",\"mode\":\"url\""), FMCP_NONE, -1, &answers, NULL));
    REFUSED(fmcp_call_elicit(call, text, fmcp_text_of("{\"type\":\"object\",\"properties\":{\"o\":{\"type\":\"object\"}}}"),
                             FMCP_NONE, -1, &answers, NULL));
    REFUSED(fmcp_call_elicit(call, FMCP_NONE, fmcp_text_of(SCHEMA), FMCP_NONE, -1, &answers, NULL));
    REFUSED(fmcp_call_elicit(call, text, FMCP_NONE, FMCP_NONE, -1, &answers, NULL));
    REFUSED(fmcp_call_elicit(call, text, fmcp_text_of(SCHEMA), FMCP_NONE, -1, NULL, NULL));
    REFUSED(fmcp_call_elicit_url(call, text, fmcp_text_of("no URL"), FMCP_NONE, -1, &answers, NULL));
    REFUSED(fmcp_call_elicit_url(call, text, FMCP_NONE, FMCP_NONE, -1, &answers, NULL));
    REFUSED(fmcp_call_sample(call, fmcp_text_of("[]"), FMCP_NONE, -1, &answers, NULL));
    REFUSED(fmcp_call_sample(call, FMCP_NONE, FMCP_NONE, -1, &answers, NULL));
    REFUSED(fmcp_call_list_roots(call, FMCP_NONE, -1, NULL, NULL));
    REFUSED(fmcp_call_ask(call, NULL, 0, -1, &answers, NULL));
    REFUSED(fmcp_call_ask(call, NULL, 1, -1, &answers, NULL));
    REFUSED(fmcp_call_ask(call, &odd, SIZE_MAX, -1, &answers, NULL));
    REFUSED(fmcp_call_ask(call, &odd, 1, -1, &answers, NULL));
    REFUSED(fmcp_call_ask(call, &lies, 1, -1, &answers, NULL));
    REFUSED(fmcp_call_ask(call, twice, 2, -1, &answers, NULL));
    REFUSED(fmcp_call_ask(call, twice, 1, -1, NULL, NULL));
    REFUSED(fmcp_call_input_required(call, text, FMCP_NONE, NULL));
    REFUSED(fmcp_call_fail_capability(call, FMCP_NONE, NULL));
#undef REFUSED
    CHECK(fmcp_call_begin_ask(call, twice, 1, FMCP_REENTRY_HELD, -1, &ask, &answers, NULL) == FMCP_STATUS_STATE);
    CHECK(ask == 7 && answers == untouched);
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("nothing was asked"), NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_call_list_roots(call, FMCP_NONE, -1, &answers, NULL) == FMCP_STATUS_STATE && answers == untouched);
}

/* Every question, to a client that has a millisecond and does not answer. */
static void hasty(fmcp_call *call, void *user_data) {
    const fmcp_input_request request = {FMCP_NONE, fmcp_text_of("roots/list"), FMCP_NONE};
    const fmcp_text text = fmcp_text_of("x"), params = fmcp_text_of("{\"messages\":[],\"maxTokens\":5}");
    fmcp_answers *answers = NULL;
    fmcp_error *error = NULL;
    (void)user_data;
    CHECK(fmcp_call_elicit(call, text, fmcp_text_of(SCHEMA), FMCP_NONE, 1, &answers, NULL) == FMCP_STATUS_NO_ANSWER);
    CHECK(fmcp_call_elicit_url(call, text, fmcp_text_of("https://example.com/"), FMCP_NONE, 1, &answers, NULL) ==
          FMCP_STATUS_NO_ANSWER);
    CHECK(fmcp_call_sample(call, params, FMCP_NONE, 1, &answers, NULL) == FMCP_STATUS_NO_ANSWER);
    CHECK(fmcp_call_list_roots(call, FMCP_NONE, 1, &answers, NULL) == FMCP_STATUS_NO_ANSWER);
    CHECK(fmcp_call_ask(call, &request, 1, 1, &answers, &error) == FMCP_STATUS_NO_ANSWER);
    CHECK(answers == NULL && fmcp_error_code(error) == 0);
    CHECK(fmcp_call_tool_error(call, fmcp_error_text(error), NULL) == FMCP_STATUS_OK);
    fmcp_error_free(error);
}

static const struct {
    const char *definition;
    fmcp_call_handler handler;
} TOOLS[] = {{TOOL("greet"), greet},     {TOOL("visit"), visit},   {TOOL("sample"), sample}, {TOOL("roots"), roots},
             {TOOL("several"), several}, {TOOL("hand"), by_hand}, {TOOL("refuse"), refuse}, {TOOL("misuse"), misuse},
             {TOOL("hasty"), hasty}};

static fmcp_server *make(struct seen *seen) {
    fmcp_server *server = NULL;
    CHECK(fmcp_server_new(fmcp_text_of("test"), fmcp_text_of("1"), &server, NULL) == FMCP_STATUS_OK);
    for (size_t i = 0; i < sizeof TOOLS / sizeof TOOLS[0]; i++) {
        CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOLS[i].definition), TOOLS[i].handler, seen, destroy, NULL) ==
              FMCP_STATUS_OK);
    }
    return server;
}

/* Frees a server, and waits until no handler runs any more. */
static void end(fmcp_server *server, struct seen *seen) {
    fmcp_server_free(server);
    for (int waited = 0; seen->destroyed < (int)(sizeof TOOLS / sizeof TOOLS[0]) && waited < DEADLINE_MS; waited++) {
        poll(NULL, 0, 1);
    }
    CHECK(seen->destroyed == sizeof TOOLS / sizeof TOOLS[0]);
}

/* The first round of a call, up to its state. */
static void asked(struct client *client, const char *request, const char *question, char state[MOST_STATE]) {
    const char *line = client_ask(client, request);
    CHECK(holds(line, "\"resultType\":\"input_required\""));
    CHECK(holds(line, question));
    state_of(line, state);
}

static void a_handler_runs_again_with_the_answer(void) {
    struct seen seen = {0, FMCP_STATUS_OK, FMCP_ACTION_NONE, 0};
    char state[MOST_STATE], line[1 << 14];
    fmcp_server *server = make(&seen);
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    asked(client, CALL_CAPABLE("1", "greet"), "\"inputRequests\":{\"who\":{\"method\":\"elicitation/create\",\"params\":" FORM "}}", state);
    wait_for(&seen, FMCP_STATUS_SUSPENDED);
    CHECK(seen.runs == 1);
    CHECK(holds(client_ask(client, retry(line, 2, "greet", state, "{\"who\":" ADA "}")), "{\\\"name\\\":\\\"Ada\\\"}"));
    CHECK(seen.runs == 2 && seen.status == FMCP_STATUS_OK && seen.action == FMCP_ACTION_ACCEPT);
    asked(client, CALL_CAPABLE("3", "greet"), "\"who\"", state);
    CHECK(holds(client_ask(client, retry(line, 4, "greet", state, "{\"who\":{\"action\":\"decline\"}}")), "nobody"));
    CHECK(seen.action == FMCP_ACTION_DECLINE);
    asked(client, CALL_CAPABLE("5", "greet"), "\"who\"", state);
    CHECK(holds(client_ask(client, retry(line, 6, "greet", state, "{\"who\":{\"action\":\"cancel\"}}")), "nobody"));
    CHECK(seen.action == FMCP_ACTION_CANCEL);
    /* Every kind of question. */
    asked(client, CALL_CAPABLE("7", "visit"),
          "{\"mode\":\"url\",\"message\":\"Pay \\\"it\\\"\",\"url\":\"https://example.com/pay\"}", state);
    CHECK(holds(client_ask(client, retry(line, 8, "visit", state, "{\"input-1\":{\"action\":\"accept\"}}")), "accept"));
    CHECK(seen.action == FMCP_ACTION_ACCEPT);
    asked(client, CALL_CAPABLE("9", "sample"), "{\"method\":\"sampling/createMessage\"", state);
    CHECK(holds(client_ask(client, retry(line, 10, "sample", state, "{\"input-1\":" MESSAGE "}")), "assistant"));
    CHECK(seen.action == FMCP_ACTION_NONE);
    asked(client, CALL_CAPABLE("11", "roots"), "{\"input-1\":{\"method\":\"roots/list\"}}", state);
    CHECK(holds(client_ask(client, retry(line, 12, "roots", state, "{\"input-1\":{\"roots\":[]}}")), "{\\\"roots\\\":[]}"));
    /* Several in one round, and only what is missing again. */
    asked(client, CALL_CAPABLE("13", "several"), "\"roots\":{\"method\":\"roots/list\"}}", state);
    asked(client, retry(line, 14, "several", state, "{\"roots\":{\"roots\":[]}}"), "\"inputRequests\":{\"who\":", state);
    CHECK(holds(client_ask(client, retry(line, 15, "several", state, "{\"who\":" ADA "}")), "{\\\"roots\\\":[]}"));
    CHECK(holds(client_ask(client, CALL_CAPABLE("16", "misuse")), "nothing was asked"));
    client_end(client, server);
    free(client);
    end(server, &seen);
}

static void a_handler_may_wait_instead(void) {
    struct seen seen = {0, FMCP_STATUS_OK, FMCP_ACTION_NONE, 0};
    char state[MOST_STATE], line[1 << 14];
    fmcp_server *server = make(&seen);
    const fmcp_text name = fmcp_text_of("greet");
    CHECK(fmcp_server_set_reentry(server, FMCP_TARGET_TOOL, name, FMCP_REENTRY_HELD, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_set_reentry(server, FMCP_TARGET_DELEGATED, FMCP_NONE, FMCP_REENTRY_HELD, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_set_reentry(server, FMCP_TARGET_PROMPT, name, FMCP_REENTRY_HELD, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_server_set_reentry(server, FMCP_TARGET_TOOL, FMCP_NONE, FMCP_REENTRY_HELD, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_server_set_reentry(server, FMCP_TARGET_TOOL, name, 2, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_server_set_reentry(server, FMCP_TARGET_NONE, name, FMCP_REENTRY_HELD, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    asked(client, CALL_CAPABLE("1", "greet"), "\"who\"", state);
    /* Others are served meanwhile. */
    CHECK(holds(client_ask(client, CALL_CAPABLE("2", "misuse")), "nothing was asked"));
    CHECK(holds(client_ask(client, retry(line, 3, "greet", state, "{\"who\":" ADA "}")), "{\\\"name\\\":\\\"Ada\\\"}"));
    CHECK(seen.runs == 1 && seen.status == FMCP_STATUS_OK);
    /* At any time, for the calls to come. */
    CHECK(fmcp_server_set_reentry(server, FMCP_TARGET_TOOL, name, FMCP_REENTRY_REPLAY, NULL) == FMCP_STATUS_OK);
    asked(client, CALL_CAPABLE("4", "greet"), "\"who\"", state);
    CHECK(holds(client_ask(client, CALL_CAPABLE("5", "misuse")), "nothing was asked"));
    wait_for(&seen, FMCP_STATUS_SUSPENDED);
    CHECK(seen.runs == 2);
    CHECK(fmcp_server_set_reentry(server, FMCP_TARGET_TOOL, name, FMCP_REENTRY_HELD, NULL) == FMCP_STATUS_OK);
    /* A handler that waits is let go when nobody can come back. */
    asked(client, CALL_CAPABLE("6", "greet"), "\"who\"", state);
    client_end(client, server);
    free(client);
    end(server, &seen);
    CHECK(seen.runs == 3 && seen.status == FMCP_STATUS_CANCELLED);
}

static void an_older_client_has_so_long(void) {
    static const char *const METHODS[] = {"elicitation/create", "elicitation/create", "sampling/createMessage", "roots/list",
                                          "roots/list"};
    struct seen seen = {0, FMCP_STATUS_OK, FMCP_ACTION_NONE, 0};
    fmcp_server *server = make(&seen);
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    CHECK(holds(client_ask(client, LEGACY(ALL)), "\"id\":\"i\""));
    client_send(client, INITIALIZED LEGACY_CALL("1", "hasty"));
    for (size_t at = 0; at < sizeof METHODS / sizeof METHODS[0]; at++) {
        CHECK(holds(client_line(client), METHODS[at]));
        CHECK(holds(client_line(client), "\"method\":\"notifications/cancelled\""));
    }
    CHECK(holds(client_line(client), "the client did not answer in time\"}],\"isError\":true"));
    client_end(client, server);
    free(client);
    end(server, &seen);
}

static void an_older_client_gets_requests(void) {
    struct seen seen = {0, FMCP_STATUS_OK, FMCP_ACTION_NONE, 0};
    fmcp_server *server = make(&seen);
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    CHECK(holds(client_ask(client, LEGACY(ALL)), "\"id\":\"i\""));
    client_send(client, INITIALIZED);
    CHECK(holds(client_ask(client, LEGACY_CALL("1", "greet")), "\"id\":0,\"method\":\"elicitation/create\""));
    CHECK(holds(client_ask(client, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":" ADA "}\n"), "{\\\"name\\\":\\\"Ada\\\"}"));
    CHECK(seen.runs == 1 && seen.status == FMCP_STATUS_OK && seen.action == FMCP_ACTION_ACCEPT);
    /* No answer: the client's error, and one that does not fit. */
    CHECK(holds(client_ask(client, LEGACY_CALL("2", "greet")), "\"id\":1,\"method\":\"elicitation/create\""));
    CHECK(holds(client_ask(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":5,\"message\":\"no screen\"}}\n"),
                "{\"type\":\"text\",\"text\":\"no screen\"}],\"isError\":true"));
    CHECK(seen.status == FMCP_STATUS_NO_ANSWER);
    CHECK(holds(client_ask(client, LEGACY_CALL("3", "greet")), "\"id\":2,\"method\":\"elicitation/create\""));
    CHECK(holds(client_ask(client, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"action\":\"accept\",\"content\":{}}}\n"),
                "the client answered wrongly"));
    CHECK(seen.status == FMCP_STATUS_NO_ANSWER);
    /* A round by hand looks the same to the handler. */
    CHECK(holds(client_ask(client, LEGACY_CALL("4", "hand")), "\"id\":3,\"method\":\"elicitation/create\""));
    CHECK(holds(client_ask(client, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":" ADA "}\n"), "{\\\"who\\\":{\\\"action\\\""));
    /* The client takes its request back, or leaves: the handler hears of it. */
    CHECK(holds(client_ask(client, LEGACY_CALL("5", "greet")), "\"id\":4,\"method\":\"elicitation/create\""));
    client_send(client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}\n");
    CHECK(holds(client_line(client), "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":4"));
    wait_for(&seen, FMCP_STATUS_CANCELLED);
    CHECK(holds(client_ask(client, LEGACY_CALL("6", "greet")), "\"id\":5,\"method\":\"elicitation/create\""));
    CHECK(seen.runs == 5);
    close(client->input);
    CHECK(holds(client_line(client), "the client is gone"));
    CHECK(seen.status == FMCP_STATUS_NO_ANSWER);
    close(client->output);
    CHECK(fmcp_server_wait(server, NULL) == FMCP_STATUS_OK);
    free(client);
    end(server, &seen);
}

static void what_a_client_can_not_be_asked(void) {
    struct seen seen = {0, FMCP_STATUS_OK, FMCP_ACTION_NONE, 0};
    fmcp_server *server = make(&seen);
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    CHECK(holds(client_ask(client, CALL_TOOL("1", "greet", "{}")),
                "\"id\":1,\"error\":{\"code\":-32021,\"message\":\"Missing required client capability\","
                "\"data\":{\"requiredCapabilities\":{\"elicitation\":{\"form\":{}}}}}"));
    CHECK(seen.status == FMCP_STATUS_CAPABILITY_NOT_DECLARED);
    CHECK(holds(client_ask(client, CALL_TOOL("2", "hand", "{}")), "{\"requiredCapabilities\":{\"elicitation\":{\"form\":{}}}}"));
    CHECK(holds(client_ask(client, CALL_TOOL("3", "refuse", "{}")), "{\"requiredCapabilities\":{\"elicitation\":{\"url\":{}}}}"));
    CHECK(holds(client_ask(client, LEGACY("{}")), "\"id\":\"i\""));
    client_send(client, INITIALIZED);
    CHECK(holds(client_ask(client, LEGACY_CALL("4", "greet")), "\"isError\":true"));
    CHECK(holds(client_ask(client, LEGACY_CALL("5", "hand")), "\"isError\":true"));
    client_end(client, server);
    free(client);
    end(server, &seen);
}

static void rounds_by_hand_come_back(void) {
    struct seen seen = {0, FMCP_STATUS_OK, FMCP_ACTION_NONE, 0};
    char state[MOST_STATE], line[1 << 14];
    fmcp_server *server = make(&seen);
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    asked(client, CALL_CAPABLE("1", "hand"), "\"who\"", state);
    CHECK(strstr(state, "step") == NULL);
    CHECK(holds(client_ask(client, retry(line, 2, "hand", state, "{\"who\":" ADA ",\"stranger\":1}")),
                "\"text\":\"{\\\"who\\\":{\\\"action\\\":\\\"accept\\\",\\\"content\\\":{\\\"name\\\":\\\"Ada\\\"}}}\""));
    client_end(client, server);
    free(client);
    end(server, &seen);
}

/* 32 bytes of zeros, and of ones. */
#define ZEROS "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define ONES "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="

static void servers_that_share_their_keys(void) {
    struct seen seen = {0, FMCP_STATUS_OK, FMCP_ACTION_NONE, 0}, other_seen = seen;
    char state[MOST_STATE], line[1 << 14];
    const fmcp_text keys[] = {fmcp_text_of(ONES), fmcp_text_of(ZEROS)};
    const fmcp_text odd[] = {fmcp_text_of("short")};
    fmcp_server *first = make(&seen), *second = make(&other_seen);
    CHECK(fmcp_server_set_state_keys(first, keys + 1, 1, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_set_state_keys(first, odd, 1, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_server_set_state_keys(first, NULL, 1, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    /* A completion makes the engine anew, and the keys stay. */
    CHECK(fmcp_server_add_prompt(first, fmcp_text_of("{\"name\":\"p\"}"), greet, &seen, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_completion(first, fmcp_text_of("p"), fmcp_text_of("x"), greet, &seen, NULL, NULL) == FMCP_STATUS_OK);
    struct client *client = malloc(sizeof *client), *other = malloc(sizeof *other);
    client_start(client, first);
    client_start(other, second);
    asked(client, CALL_CAPABLE("1", "greet"), "\"who\"", state);
    CHECK(holds(client_ask(other, retry(line, 2, "greet", state, "{\"who\":" ADA "}")), "\"code\":-32602"));
    CHECK(fmcp_server_set_state_keys(second, keys, 2, NULL) == FMCP_STATUS_OK);
    CHECK(holds(client_ask(other, retry(line, 3, "greet", state, "{\"who\":" ADA "}")), "{\\\"name\\\":\\\"Ada\\\"}"));
    client_end(client, first);
    client_end(other, second);
    free(client);
    free(other);
    end(first, &seen);
    end(second, &other_seen);
}

int main(void) {
    a_handler_runs_again_with_the_answer();
    a_handler_may_wait_instead();
    an_older_client_gets_requests();
    an_older_client_has_so_long();
    what_a_client_can_not_be_asked();
    servers_that_share_their_keys();
    rounds_by_hand_come_back();
    client_threads_end();
    return check_report("ask");
}
