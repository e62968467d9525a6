/* What stands round calls in the ready-made loop, and what is told of notifications. */
#include "tasking.h"

#include <pthread.h>

/* What was called in which order, by threads of the library's. */
static struct {
    pthread_mutex_t lock;
    char text[4096];
} seen = {PTHREAD_MUTEX_INITIALIZER, ""};

static void note(const char *what, fmcp_text more) {
    pthread_mutex_lock(&seen.lock);
    const size_t length = strlen(seen.text);
    snprintf(seen.text + length, sizeof seen.text - length, "%s%.*s;", what, (int)more.len, more.data != NULL ? more.data : "");
    pthread_mutex_unlock(&seen.lock);
}

/* Whether that is all that was noted, and forgets it. What is told after an answer is waited for. */
static int noted(const char *all) {
    for (int waited = 0; waited < DEADLINE_MS; waited++) {
        pthread_mutex_lock(&seen.lock);
        const int same = strcmp(seen.text, all) == 0;
        if (same) {
            seen.text[0] = '\0';
        }
        pthread_mutex_unlock(&seen.lock);
        if (same) {
            return 1;
        }
        poll(NULL, 0, 1);
    }
    fprintf(stderr, "noted: %s\n", seen.text);
    return 0;
}

/* A middleware of this name, and what it has come to know. */
struct layer {
    const char *name;
    fmcp_status (*refuse)(fmcp_call *call);
    uint64_t key;
    fmcp_call *kept;
    fmcp_call_outcome outcome;
    char text[64], reason[64], task[MOST_ID];
    int destroyed;
};

static struct layer layer(const char *name) {
    struct layer made;
    memset(&made, 0, sizeof made);
    made.name = name;
    return made;
}

static void count_end(void *user_data) { ((struct layer *)user_data)->destroyed++; }

static void copy(char *to, size_t size, fmcp_text text) {
    snprintf(to, size, "%.*s", (int)text.len, text.data != NULL ? text.data : "");
}

static void before(fmcp_call *call, void *user_data) {
    struct layer *layer = (struct layer *)user_data;
    char line[64];
    snprintf(line, sizeof line, "%s<", layer->name);
    note(line, fmcp_call_name(call));
    layer->key = fmcp_call_key(call);
    CHECK(!fmcp_call_is_cancelled(call));
    if (layer->refuse != NULL) {
        CHECK(layer->refuse(call) == FMCP_STATUS_OK);
    }
}

static void after(const fmcp_call *call, const fmcp_call_outcome *outcome, void *user_data) {
    struct layer *layer = (struct layer *)user_data;
    char line[64];
    CHECK(layer->key == fmcp_call_key(call));
    layer->outcome = *outcome;
    copy(layer->text, sizeof layer->text, outcome->text);
    copy(layer->reason, sizeof layer->reason, fmcp_call_cancel_reason(call));
    copy(layer->task, sizeof layer->task, fmcp_call_task_id(call));
    CHECK(fmcp_call_is_cancelled(call) == (outcome->end == FMCP_END_CANCELLED));
    snprintf(line, sizeof line, ">%s %d", layer->name, (int)outcome->end);
    note(line, FMCP_NONE);
}

static void add(fmcp_server *server, struct layer *layer, bool wants_text) {
    CHECK(fmcp_server_add_middleware(server, before, after, wants_text, layer, count_end, NULL) == FMCP_STATUS_OK);
}

static void answer(fmcp_call *call, void *user_data) {
    (void)user_data;
    note("run", FMCP_NONE);
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("done"), NULL) == FMCP_STATUS_OK);
    /* Handlers answer; they do not refuse. */
    CHECK(fmcp_call_refuse(call, fmcp_text_of("no"), -1, NULL) == FMCP_STATUS_STATE);
}

static void tool_error(fmcp_call *call, void *user_data) {
    (void)user_data;
    CHECK(fmcp_call_refuse(call, fmcp_text_of("no"), -1, NULL) == FMCP_STATUS_STATE);
    CHECK(fmcp_call_tool_error(call, fmcp_text_of("why"), NULL) == FMCP_STATUS_OK);
}

static void fails(fmcp_call *call, void *user_data) {
    (void)user_data;
    CHECK(fmcp_call_fail(call, 17, fmcp_text_of("no"), FMCP_NONE, NULL) == FMCP_STATUS_OK);
}

static void by_hand(fmcp_call *call, void *user_data) {
    (void)user_data;
    const char *who = "{\"who\":{\"method\":\"elicitation/create\",\"params\":" FORM "}}";
    CHECK(fmcp_call_input_required(call, fmcp_text_of(who), FMCP_NONE, NULL) == FMCP_STATUS_OK);
}

static void endless(fmcp_call *call, void *user_data) {
    (void)user_data;
    note("run", FMCP_NONE);
    for (int waited = 0; !fmcp_call_is_cancelled(call) && waited < DEADLINE_MS; waited++) {
        poll(NULL, 0, 1);
    }
}

static fmcp_server *make(void) {
    const struct {
        const char *definition;
        fmcp_call_handler handler;
    } tools[] = {{TOOL("tool"), answer},   {TOOL("wrong"), tool_error}, {TOOL("fails"), fails},
                 {TOOL("asks"), by_hand}, {TOOL("endless"), endless},  {OPTIONAL("job"), answer}};
    fmcp_server *server = NULL;
    CHECK(fmcp_server_from_config(fmcp_text_of("{\"info\":{\"name\":\"test\",\"version\":\"1\"},\"extraMethods\":[\"own/method\"]}"),
                                  &server, NULL) == FMCP_STATUS_OK);
    for (size_t at = 0; at < sizeof tools / sizeof tools[0]; at++) {
        CHECK(fmcp_server_add_tool(server, fmcp_text_of(tools[at].definition), tools[at].handler, NULL, NULL, NULL) ==
              FMCP_STATUS_OK);
    }
    CHECK(fmcp_server_add_resource(server, fmcp_text_of("{\"uri\":\"mem://a\",\"name\":\"a\"}"), answer, NULL, NULL, NULL) ==
          FMCP_STATUS_OK);
    CHECK(fmcp_server_set_delegate(server, fails, NULL, NULL, NULL) == FMCP_STATUS_OK);
    return server;
}

static void the_first_is_the_outermost(void) {
    static struct client client;
    struct layer outer = layer("a"), inner = layer("b");
    fmcp_server *server = make();
    add(server, &outer, false);
    add(server, &inner, false);
    client_start(&client, server);
    CHECK(holds(client_ask(&client, CALL_TOOL("1", "tool", "{}")), "\"text\":\"done\""));
    CHECK(noted("a<tool;b<tool;run;>b 1;>a 1;"));
    CHECK(!outer.outcome.refused && outer.outcome.bytes > 0 && outer.outcome.error_code == 0);
    /* Nobody wants texts, and so none is there. */
    CHECK(outer.outcome.text.data == NULL && inner.outcome.text.data == NULL);
    CHECK(holds(client_ask(&client, REQUEST("2", "resources/read", "\"uri\":\"mem:\\/\\/a\"", MODERN)), "\"text\":\"done\""));
    CHECK(noted("a<mem://a;b<mem://a;run;>b 1;>a 1;"));
    /* What the library answers by itself does not come here. */
    CHECK(holds(client_ask(&client, REQUEST("3", "tools/list", "\"x\":1", MODERN)), "\"tools\":["));
    CHECK(holds(client_ask(&client, CALL_TOOL("4", "unknown", "{}")), "\"error\":"));
    CHECK(holds(client_ask(&client, REQUEST("5", "own/method", "\"x\":1", MODERN)), "\"code\":17"));
    CHECK(noted("a<;b<;>b 3;>a 3;"));
    client_end(&client, server);
    CHECK(outer.destroyed == 0 && inner.destroyed == 0);
    fmcp_server_free(server);
    CHECK(outer.destroyed == 1 && inner.destroyed == 1);
}

/* What a request says of itself, looked at before and after. */
static void facts(const fmcp_call *call) {
    CHECK(TEXT_IS(fmcp_call_method(call), "tools/call") && TEXT_IS(fmcp_call_name(call), "tool"));
    CHECK(TEXT_IS(fmcp_call_arguments(call), "{\"n\":1}") && TEXT_IS(fmcp_call_argument(call, "n"), "1"));
    CHECK(TEXT_IS(fmcp_call_id(call), "7") && TEXT_IS(fmcp_call_protocol_version(call), "2026-07-28"));
    CHECK(fmcp_call_target(call) == FMCP_TARGET_TOOL && fmcp_call_task_id(call).data == NULL);
    CHECK(TEXT_IS(fmcp_call_client_info(call), "{\"name\":\"host\",\"version\":\"3\"}"));
    CHECK(TEXT_IS(fmcp_call_client_capabilities(call), "{}") && fmcp_call_meta(call).len > 0);
    note("facts", FMCP_NONE);
}

static void facts_before(fmcp_call *call, void *user_data) {
    (void)user_data;
    facts(call);
}

static void facts_after(const fmcp_call *call, const fmcp_call_outcome *outcome, void *user_data) {
    (void)user_data;
    facts(call);
    CHECK(outcome->end == FMCP_END_RESULT && outcome->duration_us < (uint64_t)DEADLINE_MS * 1000);
}

static void both_see_the_request(void) {
    static struct client client;
    fmcp_server *server = make();
    /* One of the two is enough. */
    CHECK(fmcp_server_add_middleware(server, facts_before, NULL, false, NULL, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_middleware(server, NULL, facts_after, false, NULL, NULL, NULL) == FMCP_STATUS_OK);
    client_start(&client, server);
    client_ask(&client, REQUEST("7", "tools/call", "\"name\":\"tool\",\"arguments\":{\"n\":1}",
                                MODERN ",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"host\",\"version\":\"3\"}"));
    CHECK(holds(client.line, "\"text\":\"done\""));
    CHECK(noted("facts;run;facts;"));
    client_end(&client, server);
    fmcp_server_free(server);
}

static void every_end_is_told(void) {
    static struct client client;
    struct layer one = layer("m");
    char id[MOST_ID];
    fmcp_server *server = make();
    add(server, &one, true);
    client_start(&client, server);
    CHECK(holds(client_ask(&client, CALL_TOOL("1", "tool", "{}")), "\"text\":\"done\""));
    CHECK(noted("m<tool;run;>m 1;") && strcmp(one.text, "done") == 0);
    CHECK(holds(client_ask(&client, CALL_TOOL("2", "wrong", "{}")), "\"isError\":true"));
    CHECK(noted("m<wrong;>m 2;") && strcmp(one.text, "why") == 0 && one.outcome.error_code == 0);
    CHECK(holds(client_ask(&client, CALL_TOOL("3", "fails", "{}")), "\"code\":17"));
    CHECK(noted("m<fails;>m 3;") && strcmp(one.text, "no") == 0 && one.outcome.error_code == 17);
    CHECK(holds(client_ask(&client, CALL_CAPABLE("4", "asks")), "input_required"));
    CHECK(noted("m<asks;>m 4;"));
    client_send(&client, CALL_TOOL("5", "endless", "{}"));
    CHECK(noted("m<endless;run;"));
    client_send(&client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5,"
                         "\"reason\":\"tired of it\"}}\n");
    CHECK(noted(">m 5;") && holds(one.reason, "tired of it") && one.outcome.bytes == 0 && one.task[0] == '\0');
    /* A task is one call, which has ended when its handler has answered. */
    task_of(client_ask(&client, CALL_TASK("6", "job")), id);
    CHECK(noted("m<job;run;>m 1;") && strcmp(one.task, id) == 0);
    client_end(&client, server);
    fmcp_server_free(server);
}

static fmcp_status refuse_for_a_while(fmcp_call *call) { return fmcp_call_refuse(call, fmcp_text_of("Closed."), 1500, NULL); }
static fmcp_status refuse_for_good(fmcp_call *call) { return fmcp_call_refuse(call, fmcp_text_of("Closed."), -1, NULL); }
static fmcp_status refuse_by_error(fmcp_call *call) {
    return fmcp_call_fail(call, 42, fmcp_text_of("not you"), fmcp_text_of("[1]"), NULL);
}

static void a_call_is_refused(void) {
    static struct client client;
    struct layer outer = layer("a"), strict = layer("s"), inner = layer("b");
    fmcp_server *server = make();
    add(server, &outer, true);
    add(server, &strict, false);
    add(server, &inner, false);
    strict.refuse = refuse_for_a_while;
    client_start(&client, server);
    /* A tool error, which the model reads; other methods have only errors. */
    CHECK(holds(client_ask(&client, CALL_TOOL("1", "tool", "{}")), "\"text\":\"Closed. Try again in 1.500 s.\""));
    CHECK(holds(client.line, "\"isError\":true") && holds(client.line, "\"ferromcp/retryAfterMs\":1500"));
    /* Neither the handler nor what is further in hears of it; who has refused knows. */
    CHECK(noted("a<tool;s<tool;>a 2;") && outer.outcome.refused);
    CHECK(holds(client_ask(&client, REQUEST("2", "resources/read", "\"uri\":\"mem://a\"", MODERN)), "\"code\":-32603"));
    CHECK(holds(client.line, "\"data\":{\"retryAfterMs\":1500}"));
    CHECK(noted("a<mem://a;s<mem://a;>a 3;") && outer.outcome.error_code == -32603);
    strict.refuse = refuse_for_good;
    CHECK(holds(client_ask(&client, CALL_TOOL("3", "tool", "{}")), "\"text\":\"Closed.\""));
    CHECK(strstr(client.line, "retryAfter") == NULL && noted("a<tool;s<tool;>a 2;"));
    strict.refuse = refuse_by_error;
    CHECK(holds(client_ask(&client, CALL_TOOL("4", "tool", "{}")), "\"error\":{\"code\":42,\"message\":\"not you\",\"data\":[1]}"));
    CHECK(noted("a<tool;s<tool;>a 3;") && outer.outcome.refused && outer.outcome.error_code == 42);
    strict.refuse = NULL;
    CHECK(holds(client_ask(&client, CALL_TOOL("5", "tool", "{}")), "\"text\":\"done\""));
    CHECK(noted("a<tool;s<tool;b<tool;run;>b 1;>s 1;>a 1;") && !outer.outcome.refused);
    client_end(&client, server);
    fmcp_server_free(server);
}

static void the_policy_is_outside(void) {
    static struct client client;
    struct layer one = layer("m");
    fmcp_server *server = make();
    const char *policy = "{\"rateLimits\":{\"few\":{\"calls\":1,\"periodMs\":3600000}}}";
    add(server, &one, false);
    CHECK(fmcp_server_set_policy(server, fmcp_text_of(policy), NULL) == FMCP_STATUS_OK);
    client_start(&client, server);
    CHECK(holds(client_ask(&client, CALL_TOOL("1", "tool", "{}")), "\"text\":\"done\""));
    CHECK(noted("m<tool;run;>m 1;"));
    CHECK(holds(client_ask(&client, CALL_TOOL("2", "tool", "{}")), "\"isError\":true"));
    client_end(&client, server);
    CHECK(noted(""));
    fmcp_server_free(server);
}

#define ONLY_FOR_HANDLERS(call) CHECK((call) == FMCP_STATUS_STATE)

/* Everything that only a handler may do, and words that do not count. */
static void meddle(fmcp_call *call, void *user_data) {
    fmcp_answers *answers = NULL;
    fmcp_error *error = NULL;
    bool begun = true;
    const fmcp_text text = fmcp_text_of("meddled");
    ONLY_FOR_HANDLERS(fmcp_call_respond_text(call, text, NULL));
    ONLY_FOR_HANDLERS(fmcp_call_tool_error(call, text, &error));
    CHECK(fmcp_error_text(error).len > 0);
    fmcp_error_free(error);
    ONLY_FOR_HANDLERS(fmcp_call_respond_result(call, fmcp_text_of("{}"), NULL));
    ONLY_FOR_HANDLERS(fmcp_call_fail_not_found(call, NULL));
    ONLY_FOR_HANDLERS(fmcp_call_fail_capability(call, fmcp_text_of("roots"), NULL));
    ONLY_FOR_HANDLERS(fmcp_call_report_progress(call, 1, 2, FMCP_NONE, NULL));
    ONLY_FOR_HANDLERS(fmcp_call_log(call, FMCP_LOG_LEVEL_ERROR, text, NULL));
    ONLY_FOR_HANDLERS(fmcp_call_notify(call, fmcp_text_of("own/note"), FMCP_NONE, NULL));
    ONLY_FOR_HANDLERS(fmcp_call_list_roots(call, FMCP_NONE, -1, &answers, NULL));
    ONLY_FOR_HANDLERS(fmcp_call_begin_task(call, &begun, NULL));
    /* A refusal that can't be sent is none. */
    CHECK(fmcp_call_fail(call, 1, text, fmcp_text_of("{"), NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_call_refuse(call, FMCP_NONE, -1, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(answers == NULL);
    ((struct layer *)user_data)->kept = fmcp_call_retain(call);
}

static void refuse_twice(fmcp_call *call, void *user_data) {
    (void)user_data;
    CHECK(fmcp_call_refuse(call, fmcp_text_of("first"), 0, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_call_refuse(call, fmcp_text_of("second"), 0, NULL) == FMCP_STATUS_STATE);
    CHECK(fmcp_call_fail(call, 1, fmcp_text_of("third"), FMCP_NONE, NULL) == FMCP_STATUS_STATE);
}

static void what_middleware_can_not_do(void) {
    static struct client client;
    struct layer one = layer("m"), refused = layer("r");
    fmcp_server *server = make();
    CHECK(fmcp_server_add_middleware(server, NULL, NULL, false, &refused, count_end, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_server_add_middleware(server, meddle, NULL, false, &one, count_end, NULL) == FMCP_STATUS_OK);
    client_start(&client, server);
    CHECK(fmcp_server_add_middleware(server, before, after, false, &refused, count_end, NULL) == FMCP_STATUS_STATE);
    CHECK(holds(client_ask(&client, CALL_TOOL("1", "tool", "{}")), "\"text\":\"done\""));
    /* Nor later. What was kept can still be looked at. */
    CHECK(fmcp_call_refuse(one.kept, fmcp_text_of("late"), -1, NULL) == FMCP_STATUS_STATE);
    CHECK(fmcp_call_fail(one.kept, 1, fmcp_text_of("late"), FMCP_NONE, NULL) == FMCP_STATUS_STATE);
    client_end(&client, server);
    fmcp_server_free(server);
    CHECK(one.destroyed == 1 && refused.destroyed == 0);
    CHECK(TEXT_IS(fmcp_call_name(one.kept), "tool"));
    fmcp_call_free(one.kept);

    server = make();
    CHECK(fmcp_server_add_middleware(server, refuse_twice, NULL, false, NULL, NULL, NULL) == FMCP_STATUS_OK);
    client_start(&client, server);
    CHECK(holds(client_ask(&client, CALL_TOOL("1", "tool", "{}")), "\"text\":\"first Try again in 0.000 s.\""));
    client_end(&client, server);
    fmcp_server_free(server);
    CHECK(noted("run;"));
}

static void on_poke(fmcp_text params, void *user_data) {
    note(((struct layer *)user_data)->name, params.data != NULL ? params : fmcp_text_of("-"));
}

static void notifications_of_extensions_are_told(void) {
    static struct client client;
    struct layer old = layer("old"), poke = layer("poke"), late = layer("late"), refused = layer("refused");
    const fmcp_text method = fmcp_text_of("notifications/com.example/poke");
    fmcp_server *server = make();
    CHECK(fmcp_server_on_notification(server, method, on_poke, &old, count_end, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_on_notification(server, method, NULL, &refused, count_end, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_server_on_notification(server, FMCP_NONE, on_poke, &refused, count_end, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(old.destroyed == 0);
    CHECK(fmcp_server_on_notification(server, method, on_poke, &poke, count_end, NULL) == FMCP_STATUS_OK);
    CHECK(old.destroyed == 1);
    client_start(&client, server);
    client_send(&client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/com.example/unknown\",\"params\":{}}\n"
                         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/com.example/poke\",\"params\":{\"hard\":true}}\n"
                         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/com.example/poke\"}\n");
    CHECK(noted("poke{\"hard\":true};poke-;"));
    /* At any time. */
    CHECK(fmcp_server_on_notification(server, fmcp_text_of("own/late"), on_poke, &late, count_end, NULL) == FMCP_STATUS_OK);
    client_send(&client, "{\"jsonrpc\":\"2.0\",\"method\":\"own/late\",\"params\":{}}\n");
    CHECK(noted("late{};"));
    client_end(&client, server);
    fmcp_server_free(server);
    CHECK(old.destroyed == 1 && poke.destroyed == 1 && late.destroyed == 1 && refused.destroyed == 0);
}

int main(void) {
    the_first_is_the_outermost();
    both_see_the_request();
    every_end_is_told();
    a_call_is_refused();
    the_policy_is_outside();
    what_middleware_can_not_do();
    notifications_of_extensions_are_told();
    client_threads_end();
    return check_report("middleware");
}
