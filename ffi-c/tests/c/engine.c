/* The engine with a loop of one's own: streams, outputs, time, and what misuse gives. */
#include "client.h"

static const char CONFIG[] = "{\"info\":{\"name\":\"test\",\"version\":\"1\"},\"capabilities\":{\"logging\":{}},"
                             "\"limits\":{\"drainMs\":50}}";

enum { TOOL_TAG = 7, RESOURCE_TAG, TEMPLATE_TAG, PROMPT_TAG };

static fmcp_engine *make(void) {
    fmcp_engine *engine = NULL;
    CHECK(fmcp_engine_new(fmcp_text_of(CONFIG), &engine, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_add_tool(engine, fmcp_text_of(TOOL("tool")), TOOL_TAG, 0, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_add_resource(engine, fmcp_text_of("{\"uri\":\"mem://a\",\"name\":\"a\",\"mimeType\":\"text/x-a\"}"), RESOURCE_TAG,
                                   0, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_add_resource_template(engine, fmcp_text_of("{\"uriTemplate\":\"mem://of/{x}\",\"name\":\"t\"}"),
                                            TEMPLATE_TAG, 0, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_add_prompt(engine, fmcp_text_of("{\"name\":\"prompt\"}"), PROMPT_TAG, 0, NULL) == FMCP_STATUS_OK);
    return engine;
}

static void receive(fmcp_engine *engine, uint32_t stream, const char *text, uint64_t now) {
    CHECK(fmcp_engine_receive(engine, stream, (const uint8_t *)text, strlen(text), now, NULL) == FMCP_STATUS_OK);
}

/* The next output, or NULL. */
static fmcp_output *next(fmcp_engine *engine) {
    fmcp_output *output = NULL;
    CHECK(fmcp_engine_poll(engine, &output, NULL) == FMCP_STATUS_OK);
    return output;
}

/* The next output is to send a text that holds this. */
static void sends(fmcp_engine *engine, const char *text) {
    fmcp_output *output = next(engine);
    CHECK(fmcp_output_event(output) == FMCP_EVENT_TRANSMIT);
    const fmcp_text sent = fmcp_output_text(output);
    char line[4096] = "";
    CHECK(sent.len > 0 && sent.len < sizeof line && sent.data[sent.len - 1] == '\n');
    memcpy(line, sent.data, sent.len < sizeof line ? sent.len : 0);
    CHECK(holds(line, text));
    fmcp_output_free(output);
}

/* Retains the call of the next output. */
static fmcp_call *called(fmcp_engine *engine) {
    fmcp_output *output = next(engine);
    CHECK(fmcp_output_event(output) == FMCP_EVENT_CALL);
    CHECK(fmcp_output_key(output) == fmcp_call_key(fmcp_output_call(output)));
    fmcp_call *call = fmcp_call_retain(fmcp_output_call(output));
    fmcp_output_free(output);
    return call;
}

static void a_call_says_what_it_is(void) {
    fmcp_engine *engine = make();
    uint32_t stream = 99;
    CHECK(fmcp_engine_open(engine, 5, &stream, NULL) == FMCP_STATUS_OK);
    receive(engine, stream, REQUEST("\"id\"", "tools/call", "\"name\":\"tool\",\"arguments\":{\"x\":1.50}", PROGRESS), 6);
    fmcp_call *call = called(engine);
    CHECK(fmcp_call_target(call) == FMCP_TARGET_TOOL);
    CHECK(fmcp_call_tag(call) == TOOL_TAG);
    CHECK(fmcp_call_stream(call) == stream);
    CHECK(TEXT_IS(fmcp_call_method(call), "tools/call"));
    CHECK(TEXT_IS(fmcp_call_id(call), "\"id\""));
    CHECK(TEXT_IS(fmcp_call_protocol_version(call), "2026-07-28"));
    CHECK(TEXT_IS(fmcp_call_arguments(call), "{\"x\":1.50}"));
    CHECK(TEXT_IS(fmcp_call_meta(call), "{" PROGRESS "}"));
    CHECK(TEXT_IS(fmcp_call_client_capabilities(call), "{}"));
    CHECK(fmcp_call_client_info(call).data == NULL);
    CHECK(fmcp_call_params(call).len > 0);
    CHECK(fmcp_call_uri(call).data == NULL);
    CHECK(fmcp_call_variable(call, "x").data == NULL);
    CHECK(fmcp_call_completion_argument(call).data == NULL);
    CHECK(fmcp_call_completion_value(call).data == NULL);
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("fine"), NULL) == FMCP_STATUS_OK);
    fmcp_call_free(call);
    sends(engine, "\"id\":\"id\",\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"fine\"}]");

    receive(engine, stream, REQUEST("2", "resources/read", "\"uri\":\"mem://of/a%20b\"", MODERN), 6);
    call = called(engine);
    CHECK(fmcp_call_target(call) == FMCP_TARGET_RESOURCE_TEMPLATE);
    CHECK(fmcp_call_tag(call) == TEMPLATE_TAG);
    CHECK(TEXT_IS(fmcp_call_variable(call, "x"), "a b"));
    CHECK(fmcp_call_variable(call, "y").data == NULL);
    CHECK(fmcp_call_variable(call, NULL).data == NULL);
    CHECK(TEXT_IS(fmcp_call_uri(call), "mem://of/a%20b"));
    CHECK(fmcp_call_fail_not_found(call, NULL) == FMCP_STATUS_OK);
    fmcp_call_free(call);
    sends(engine, "\"error\":{\"code\":-32602");

    receive(engine, stream, REQUEST("4", "resources/read", "\"uri\":\"mem://a\"", MODERN), 6);
    call = called(engine);
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("fine"), NULL) == FMCP_STATUS_OK);
    fmcp_call_free(call);
    sends(engine, "[{\"uri\":\"mem://a\",\"mimeType\":\"text/x-a\",\"text\":\"fine\"}]");

    receive(engine, stream, REQUEST("3", "prompts/get", "\"name\":\"prompt\"", MODERN), 6);
    call = called(engine);
    CHECK(fmcp_call_target(call) == FMCP_TARGET_PROMPT && fmcp_call_tag(call) == PROMPT_TAG);
    CHECK(fmcp_call_respond_prompt(call, fmcp_text_of("why"), fmcp_text_of("[]"), NULL) == FMCP_STATUS_OK);
    fmcp_call_free(call);
    sends(engine, "\"description\":\"why\",\"messages\":[]");
    CHECK(next(engine) == NULL);
    fmcp_engine_free(engine);
}

static void arguments_are_read_one_by_one(void) {
    fmcp_engine *engine = make();
    uint32_t stream = 0;
    fmcp_error *error = NULL;
    CHECK(fmcp_engine_open(engine, 0, &stream, NULL) == FMCP_STATUS_OK);
    receive(engine, stream,
            CALL_TOOL("1", "tool", "{\"i\":-7,\"w\":7.0,\"n\":1.5e3,\"b\":true,\"s\":\"pl\xc3\xa4in\",\"e\":\"a\\n\\ud83d\\ude00\","
                                   "\"u\":\"\\ud800\",\"o\":{\"i\":1}}"), 0);
    fmcp_call *call = called(engine);
    int64_t integer = 0;
    double number = 0;
    bool boolean = false;
    fmcp_text text = FMCP_NONE;
    CHECK(fmcp_call_integer(call, "i", &integer, &error) == FMCP_STATUS_OK && integer == -7);
    CHECK(fmcp_call_integer(call, "w", &integer, &error) == FMCP_STATUS_OK && integer == 7);
    CHECK(fmcp_call_number(call, "n", &number, &error) == FMCP_STATUS_OK && number == 1500);
    CHECK(fmcp_call_boolean(call, "b", &boolean, &error) == FMCP_STATUS_OK && boolean);
    CHECK(fmcp_call_string(call, "s", &text, &error) == FMCP_STATUS_OK && TEXT_IS(text, "pl\xc3\xa4in"));
    fmcp_text decoded = FMCP_NONE;
    CHECK(fmcp_call_string(call, "e", &decoded, &error) == FMCP_STATUS_OK && TEXT_IS(decoded, "a\n\xf0\x9f\x98\x80"));
    CHECK(TEXT_IS(fmcp_call_argument(call, "o"), "{\"i\":1}"));
    CHECK(fmcp_call_argument(call, "missing").data == NULL);
    CHECK(error == NULL);
    /* What does not fit is told, and the output stays as it was. */
    CHECK(fmcp_call_integer(call, "n", &integer, &error) == FMCP_STATUS_INVALID_ARGUMENT && integer == 7);
    CHECK(TEXT_IS(fmcp_error_text(error), "the argument is no integer of 64 bits: 1.5e3"));
    fmcp_error_free(error);
    CHECK(fmcp_call_string(call, "missing", &text, &error) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(TEXT_IS(text, "pl\xc3\xa4in"));
    CHECK(TEXT_IS(fmcp_error_text(error), "the argument \"missing\" is not there"));
    fmcp_error_free(error);
    CHECK(fmcp_call_string(call, "u", &text, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_call_string(call, "i", &text, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_call_number(call, "s", &number, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_call_boolean(call, "i", &boolean, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    /* A decoded text lives as long as the call, whatever is decoded after it. */
    for (int i = 0; i < 100; i++) {
        CHECK(fmcp_call_string(call, "e", &text, NULL) == FMCP_STATUS_OK);
    }
    CHECK(TEXT_IS(decoded, "a\n\xf0\x9f\x98\x80"));
    fmcp_call_free(call);
    fmcp_engine_free(engine);
}

static void a_call_is_answered_once(void) {
    fmcp_engine *engine = make();
    uint32_t stream = 0;
    fmcp_error *error = NULL;
    CHECK(fmcp_engine_open(engine, 0, &stream, NULL) == FMCP_STATUS_OK);
    receive(engine, stream, CALL_TOOL("1", "tool", "{}"), 0);
    fmcp_call *call = called(engine);
    /* What can't be sent leaves the call open. */
    CHECK(fmcp_call_respond_tool(call, fmcp_text_of("{"), FMCP_NONE, false, FMCP_NONE, &error) ==
          FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_error_text(error).len > 0);
    fmcp_error_free(error);
    error = NULL;
    CHECK(fmcp_call_respond_contents(call, fmcp_text_of("[]"), NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_call_respond_tool(call, FMCP_NONE, fmcp_text_of("{\"n\":1}"), true, fmcp_text_of("{\"k\":2}"), NULL) ==
          FMCP_STATUS_OK);
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("again"), &error) == FMCP_STATUS_STATE);
    CHECK(TEXT_IS(fmcp_error_text(error), "this call is answered already"));
    CHECK(fmcp_error_status(error) == FMCP_STATUS_STATE);
    fmcp_error_free(error);
    CHECK(fmcp_call_fail(call, 1, fmcp_text_of("again"), FMCP_NONE, NULL) == FMCP_STATUS_STATE);
    fmcp_call_free(call);
    sends(engine, "\"structuredContent\":{\"n\":1},\"isError\":true,\"_meta\":{\"k\":2");
    CHECK(next(engine) == NULL);

    receive(engine, stream, CALL_TOOL("2", "tool", "{}"), 0);
    call = called(engine);
    CHECK(fmcp_call_fail(call, 17, fmcp_text_of("no"), fmcp_text_of("[1]"), NULL) == FMCP_STATUS_OK);
    fmcp_call_free(call);
    sends(engine, "\"id\":2,\"error\":{\"code\":17,\"message\":\"no\",\"data\":[1]}");
    fmcp_engine_free(engine);
}

static void a_call_that_is_let_go_gets_an_error(void) {
    fmcp_engine *engine = make();
    uint32_t stream = 0;
    CHECK(fmcp_engine_open(engine, 0, &stream, NULL) == FMCP_STATUS_OK);
    receive(engine, stream, CALL_TOOL("1", "tool", "{}"), 0);
    fmcp_output *output = next(engine);
    fmcp_call *call = fmcp_call_retain(fmcp_call_retain(fmcp_output_call(output)));
    fmcp_output_free(output);
    fmcp_call_free(call);
    /* One share is left. */
    CHECK(next(engine) == NULL);
    CHECK(TEXT_IS(fmcp_call_id(call), "1"));
    fmcp_call_free(call);
    sends(engine, "\"error\":{\"code\":-32603,\"message\":\"The tool gave no answer.\"}");
    /* A call outlives its engine, and its answer reaches nobody. */
    receive(engine, stream, CALL_TOOL("2", "tool", "{}"), 0);
    call = called(engine);
    fmcp_engine_free(engine);
    CHECK(TEXT_IS(fmcp_call_id(call), "2"));
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("late"), NULL) == FMCP_STATUS_OK);
    fmcp_call_free(call);
}

static void cancellation_is_seen(void) {
    fmcp_engine *engine = make();
    uint32_t stream = 0;
    CHECK(fmcp_engine_open(engine, 0, &stream, NULL) == FMCP_STATUS_OK);
    receive(engine, stream, CALL_TOOL("1", "tool", "{}"), 0);
    fmcp_call *call = called(engine);
    CHECK(!fmcp_call_is_cancelled(call));
    CHECK(fmcp_call_cancel_reason(call).data == NULL);
    receive(engine, stream, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                            "\"params\":{\"requestId\":1,\"reason\":\"enough\"}}\n", 1);
    fmcp_output *output = next(engine);
    CHECK(fmcp_output_event(output) == FMCP_EVENT_CANCELLED);
    CHECK(fmcp_output_key(output) == fmcp_call_key(call));
    CHECK(TEXT_IS(fmcp_output_text(output), "enough"));
    fmcp_output_free(output);
    CHECK(fmcp_call_is_cancelled(call));
    CHECK(TEXT_IS(fmcp_call_cancel_reason(call), "enough"));
    /* Nobody waits: that is no error, and nothing is sent. */
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("late"), NULL) == FMCP_STATUS_OK);
    CHECK(next(engine) == NULL);
    fmcp_call_free(call);
    fmcp_engine_free(engine);
}

static void what_comes_before_the_answer(void) {
    fmcp_engine *engine = make();
    uint32_t stream = 0;
    CHECK(fmcp_engine_open(engine, 0, &stream, NULL) == FMCP_STATUS_OK);
    receive(engine, stream, REQUEST("1", "tools/call", "\"name\":\"tool\"", PROGRESS), 0);
    fmcp_call *call = called(engine);
    volatile double zero = 0;
    CHECK(fmcp_call_report_progress(call, 1, 2.5, fmcp_text_of("one"), NULL) == FMCP_STATUS_OK);
    sends(engine, "{\"progressToken\":\"t\",\"progress\":1,\"total\":2.5,\"message\":\"one\"}");
    CHECK(fmcp_call_report_progress(call, 2, zero / zero, FMCP_NONE, NULL) == FMCP_STATUS_OK);
    sends(engine, "{\"progressToken\":\"t\",\"progress\":2}");
    CHECK(fmcp_call_report_progress(call, 2, 3, FMCP_NONE, NULL) == FMCP_STATUS_OK);
    CHECK(next(engine) == NULL);
    CHECK(fmcp_call_report_progress(call, zero / zero, 3, FMCP_NONE, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_call_log(call, FMCP_LOG_LEVEL_WARNING, fmcp_text_of("a \"b\""), NULL) == FMCP_STATUS_OK);
    sends(engine, "{\"level\":\"warning\",\"data\":\"a \\\"b\\\"\"}");
    CHECK(fmcp_call_log_json(call, FMCP_LOG_LEVEL_DEBUG, fmcp_text_of("me"), fmcp_text_of("[1]"), NULL) == FMCP_STATUS_OK);
    sends(engine, "{\"level\":\"debug\",\"logger\":\"me\",\"data\":[1]}");
    CHECK(fmcp_call_log(call, FMCP_LOG_LEVEL_EMERGENCY + 1, fmcp_text_of("x"), NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_call_log(call, -1, fmcp_text_of("x"), NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_call_notify(call, fmcp_text_of("notifications/x"), fmcp_text_of("{\"y\":1}"), NULL) == FMCP_STATUS_OK);
    sends(engine, "\"method\":\"notifications/x\",\"params\":{\"y\":1}");
    CHECK(fmcp_call_notify(call, fmcp_text_of("notifications/x"), fmcp_text_of("1"), NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_call_respond_text(call, fmcp_text_of(""), NULL) == FMCP_STATUS_OK);
    fmcp_call_free(call);
    fmcp_engine_free(engine);
}

static void time_is_the_callers(void) {
    fmcp_engine *engine = make();
    uint32_t stream = 0;
    CHECK(fmcp_engine_poll_timeout(engine) != 0);
    CHECK(fmcp_engine_open(engine, 1000, &stream, NULL) == FMCP_STATUS_OK);
    receive(engine, stream, CALL_TOOL("1", "tool", "{}"), 1000);
    fmcp_call *call = called(engine);
    CHECK(fmcp_engine_end_of_input(engine, stream, 1000, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_poll_timeout(engine) == 1050);
    CHECK(fmcp_engine_handle_timeout(engine, 1049, NULL) == FMCP_STATUS_OK);
    CHECK(next(engine) == NULL);
    CHECK(fmcp_engine_handle_timeout(engine, 1050, NULL) == FMCP_STATUS_OK);
    fmcp_output *output = next(engine);
    CHECK(fmcp_output_event(output) == FMCP_EVENT_CANCELLED && fmcp_output_key(output) == fmcp_call_key(call));
    fmcp_output_free(output);
    output = next(engine);
    CHECK(fmcp_output_event(output) == FMCP_EVENT_DRAINED && fmcp_output_stream(output) == stream);
    fmcp_output_free(output);
    CHECK(fmcp_engine_poll_timeout(engine) == UINT64_MAX);
    CHECK(fmcp_engine_close(engine, stream, 1050, NULL) == FMCP_STATUS_OK);
    fmcp_call_free(call);
    fmcp_engine_free(engine);
}

static void outputs_tell_what_happened(void) {
    fmcp_engine *engine = make();
    uint32_t stream = 0;
    CHECK(fmcp_engine_open(engine, 0, &stream, NULL) == FMCP_STATUS_OK);
    receive(engine, stream, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
                            "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n"
                            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
                            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/own\",\"params\":{\"a\":1}}\n"
                            "noise\n", 0);
    sends(engine, "\"protocolVersion\":\"2025-11-25\"");
    fmcp_output *output = next(engine);
    CHECK(fmcp_output_event(output) == FMCP_EVENT_INITIALIZED && fmcp_output_stream(output) == stream);
    CHECK(fmcp_output_diagnostic(output) == FMCP_DIAGNOSTIC_NONE && fmcp_output_call(output) == NULL);
    fmcp_output_free(output);
    output = next(engine);
    CHECK(fmcp_output_event(output) == FMCP_EVENT_NOTIFICATION);
    CHECK(TEXT_IS(fmcp_output_text(output), "notifications/own") && TEXT_IS(fmcp_output_params(output), "{\"a\":1}"));
    fmcp_output_free(output);
    int noise = 0, answered = 0;
    while ((output = next(engine)) != NULL) {
        noise += fmcp_output_diagnostic(output) == FMCP_DIAGNOSTIC_NOISE && fmcp_output_text(output).len > 0;
        answered += fmcp_output_event(output) == FMCP_EVENT_TRANSMIT;
        fmcp_output_free(output);
    }
    CHECK(noise == 1 && answered == 1);
    CHECK(fmcp_engine_shutdown(engine, 0, NULL) == FMCP_STATUS_OK);
    fmcp_engine_free(engine);
}

static void misuse_is_reported(void) {
    fmcp_engine *engine = make();
    fmcp_error *error = NULL;
    fmcp_engine *const untouched = (fmcp_engine *)&checks_passed;
    fmcp_engine *made = untouched;
    CHECK(fmcp_engine_new(fmcp_text_of("{\"info\":1}"), &made, &error) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(made == untouched && fmcp_error_text(error).len > 0);
    fmcp_error_free(error);
    error = NULL;
    CHECK(fmcp_engine_receive(engine, 12, NULL, 0, 0, &error) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(TEXT_IS(fmcp_error_text(error), "no open stream has this number"));
    fmcp_error_free(error);
    CHECK(fmcp_engine_receive(engine, 0, NULL, 5, 0, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_engine_close(engine, 12, 0, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_engine_end_of_input(engine, 12, 0, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_engine_add_tool(engine, fmcp_text_of(TOOL("tool")), 1, 0, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_engine_add_tool(engine, fmcp_text_of("\xff"), 1, 0, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_engine_remove_tool(engine, fmcp_text_of("other"), 0, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_engine_remove_tool(engine, fmcp_text_of("tool"), 0, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_remove_resource(engine, fmcp_text_of("mem://a"), 0, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_remove_resource_template(engine, fmcp_text_of("mem://of/{x}"), 0, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_remove_prompt(engine, fmcp_text_of("prompt"), 0, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_resource_updated(engine, fmcp_text_of("mem://a"), NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_engine_complete_elicitation(engine, fmcp_text_of("e-1"), NULL) == FMCP_STATUS_OK);
    fmcp_engine_free(engine);
}

int main(void) {
    a_call_says_what_it_is();
    arguments_are_read_one_by_one();
    a_call_is_answered_once();
    a_call_that_is_let_go_gets_an_error();
    cancellation_is_seen();
    what_comes_before_the_answer();
    time_is_the_callers();
    outputs_tell_what_happened();
    misuse_is_reported();
    return check_report("engine");
}
