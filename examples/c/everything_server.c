/* A server with one of everything: what the official conformance suite calls, and a place to look things up.
 *
 *     c_everything_server --port 8000        http://127.0.0.1:8000/mcp
 *     c_everything_server                    on stdin and stdout */
#include <ferromcp.h>

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* JSON as it is written: the preprocessor puts the quotes round it. */
#define JSON(...) #__VA_ARGS__

/* The definition of a tool without arguments, and of one whose calls are tasks. */
#define TOOL(name, description) JSON({"name": name, "description": description, "inputSchema": {"type": "object"}})
#define TASK(name, description, support) \
    JSON({"name": name, "description": description, "inputSchema": {"type": "object"}, "execution": {"taskSupport": support}})

/* A form of one field that has to be filled in. */
#define FORM(message, field, kind) \
    JSON({"message": message, "requestedSchema": {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}})
#define SAMPLE(text, most) JSON({"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": most})

/* One red pixel, and a wave file of one sample. */
#define PIXEL "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
#define SOUND "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
#define IMAGE "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"" PIXEL "\"}"

enum { MOST_ASKED = 3, MOST_TEXT = 4096 };

static const char ELICIT[] = "elicitation/create";
static const char MODEL[] = "sampling/createMessage";
static const char ROOTS[] = "roots/list";

typedef struct {
    const char *key, *method, *params;
} question;

/* What is served: its definition, who answers, what is said, and what is asked before. */
typedef struct {
    const char *definition;
    fmcp_call_handler handler;
    const char *says;
    question asks[MOST_ASKED];
} entry;

static fmcp_server *server;

static void sleep_ms(int ms) {
    const struct timespec pause = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&pause, NULL);
}

/* --- Answers that are always the same --- */

static void say(fmcp_call *call, void *data) {
    const entry *self = data;
    fmcp_call_respond_text(call, fmcp_text_of(self->says), NULL);
}

static void show(fmcp_call *call, void *data) {
    const entry *self = data;
    fmcp_call_respond_tool(call, fmcp_text_of(self->says), FMCP_NONE, false, FMCP_NONE, NULL);
}

static void show_messages(fmcp_call *call, void *data) {
    const entry *self = data;
    fmcp_call_respond_prompt(call, FMCP_NONE, fmcp_text_of(self->says), NULL);
}

static void show_contents(fmcp_call *call, void *data) {
    const entry *self = data;
    fmcp_call_respond_contents(call, fmcp_text_of(self->says), NULL);
}

static void fail(fmcp_call *call, void *data) {
    const entry *self = data;
    fmcp_call_tool_error(call, fmcp_text_of(self->says), NULL);
}

/* --- Asking the client, whichever revision it speaks --- */

/* Says a text, and after it what was answered, as its client wrote it. */
static void tell(fmcp_call *call, const char *said, const fmcp_answers *answers) {
    char text[MOST_TEXT];
    int length = snprintf(text, sizeof text, "%s", said);
    for (size_t at = 0; at < fmcp_answers_count(answers) && length < MOST_TEXT; at++) {
        const fmcp_text result = fmcp_answers_result(answers, at);
        length += snprintf(text + length, (size_t)(MOST_TEXT - length), " %.*s", (int)result.len, result.data);
    }
    fmcp_call_respond_text(call, fmcp_text_of(text), NULL);
}

/* Asks, and says whether there are answers. Where not, the call is answered, or answers itself when the handler returns. */
static bool ask_all(fmcp_call *call, const question *asks, size_t count, fmcp_answers **answers) {
    fmcp_input_request requests[MOST_ASKED];
    fmcp_error *error = NULL;
    for (size_t at = 0; at < count; at++) {
        requests[at].key = fmcp_text_of(asks[at].key);
        requests[at].method = fmcp_text_of(asks[at].method);
        requests[at].params = fmcp_text_of(asks[at].params);
    }
    const fmcp_status status = fmcp_call_ask(call, requests, count, -1, answers, &error);
    if (status != FMCP_STATUS_OK && status != FMCP_STATUS_CAPABILITY_NOT_DECLARED) {
        fmcp_call_tool_error(call, fmcp_error_text(error), NULL);
    }
    fmcp_error_free(error);
    return status == FMCP_STATUS_OK;
}

/* All at once. */
static void ask(fmcp_call *call, void *data) {
    const entry *self = data;
    size_t count = 0;
    fmcp_answers *answers = NULL;
    while (count < MOST_ASKED && self->asks[count].method != NULL) {
        count++;
    }
    if (ask_all(call, self->asks, count, &answers)) {
        tell(call, self->says, answers);
    }
    fmcp_answers_free(answers);
}

/* The second thing when the first is answered. */
static void ask_in_turn(fmcp_call *call, void *data) {
    const entry *self = data;
    fmcp_answers *first = NULL, *second = NULL;
    if (ask_all(call, &self->asks[0], 1, &first) && ask_all(call, &self->asks[1], 1, &second)) {
        tell(call, self->says, second);
    }
    fmcp_answers_free(first);
    fmcp_answers_free(second);
}

/* By hand: takes an answer whenever there is one, and asks where there is none that fits. A round of one's own fits no schema for
 * certain; a program that has a JSON library gives it what has come. */
static void greet_by_hand(fmcp_call *call, void *data) {
    const entry *self = data;
    const question *asked = &self->asks[0];
    const fmcp_text given = fmcp_call_input_responses(call);
    char text[MOST_TEXT], name[100];
    snprintf(text, sizeof text, "%.*s", (int)given.len, given.len > 0 ? given.data : "");
    const char *answer = strstr(text, asked->key);
    const char *field = answer == NULL ? NULL : strstr(answer, "\"name\":");
    if (field != NULL && sscanf(field, "\"name\": \"%99[^\"]", name) == 1) {
        snprintf(text, sizeof text, "%s %s!", self->says, name);
        fmcp_call_respond_text(call, fmcp_text_of(text), NULL);
        return;
    }
    snprintf(text, sizeof text, "{\"%s\":{\"method\":\"%s\",\"params\":%s}}", asked->key, asked->method, asked->params);
    fmcp_call_input_required(call, fmcp_text_of(text), FMCP_NONE, NULL);
}

/* Is a task once its client has answered. */
static void ask_then_begin(fmcp_call *call, void *data) {
    const entry *self = data;
    fmcp_answers *answers = NULL;
    bool begun = false;
    if (ask_all(call, self->asks, 1, &answers)) {
        fmcp_call_begin_task(call, &begun, NULL);
        tell(call, self->says, answers);
    }
    fmcp_answers_free(answers);
}

static void ask_with_progress(fmcp_call *call, void *data) {
    fmcp_call_report_progress(call, 50, 100, FMCP_NONE, NULL);
    ask(call, data);
}

/* The second thing where the client can't be asked the first. */
static void ask_what_is_declared(fmcp_call *call, void *data) {
    const entry *self = data;
    fmcp_answers *answers = NULL;
    const question *can = &self->asks[0];
    const fmcp_input_request first = {fmcp_text_of(can->key), fmcp_text_of(can->method), fmcp_text_of(can->params)};
    const fmcp_status status = fmcp_call_ask(call, &first, 1, -1, &answers, NULL);
    if (status == FMCP_STATUS_OK || (status == FMCP_STATUS_CAPABILITY_NOT_DECLARED && ask_all(call, can + 1, 1, &answers))) {
        tell(call, self->says, answers);
    }
    fmcp_answers_free(answers);
}

/* Asks what its client says. */
static void ask_in_words(fmcp_call *call, void *data) {
    const entry *self = data;
    char params[MOST_TEXT];
    const question given = {"given", self->asks[0].method, params};
    fmcp_answers *answers = NULL;
    /* JSON text, and so quoted already. */
    const fmcp_text words = fmcp_call_argument(call, given.method == MODEL ? "prompt" : "message");
    if (snprintf(params, sizeof params, self->asks[0].params, (int)words.len, words.data) >= MOST_TEXT) {
        fmcp_call_tool_error(call, fmcp_text_of("That is too long."), NULL);
    } else if (ask_all(call, &given, 1, &answers)) {
        tell(call, self->says, answers);
    }
    fmcp_answers_free(answers);
}

/* --- What is told while tools run --- */

static void log_thrice(fmcp_call *call, void *data) {
    fmcp_call_log(call, FMCP_LOG_LEVEL_INFO, fmcp_text_of("Tool execution started"), NULL);
    sleep_ms(50);
    fmcp_call_log(call, FMCP_LOG_LEVEL_INFO, fmcp_text_of("Tool processing data"), NULL);
    sleep_ms(50);
    fmcp_call_log(call, FMCP_LOG_LEVEL_INFO, fmcp_text_of("Tool execution completed"), NULL);
    say(call, data);
}

/* Over stdio, and with modern clients, there is nothing that could be closed: they just wait. */
static void cut_off(fmcp_call *call, void *data) {
    fmcp_call_close_sse_stream(call, NULL, NULL);
    sleep_ms(100);
    say(call, data);
}

static void report_progress(fmcp_call *call, void *data) {
    for (int done = 0; done <= 100; done += 50) {
        fmcp_call_report_progress(call, done, 100, fmcp_text_of("Completed a step"), NULL);
        sleep_ms(50);
    }
    say(call, data);
}

/* --- Arguments --- */

/* Gives back a string that the schema has checked is there. */
static void echo(fmcp_call *call, void *data) {
    const entry *self = data;
    char text[MOST_TEXT];
    fmcp_text value = FMCP_NONE;
    fmcp_call_string(call, strstr(self->definition, "\"region\"") != NULL ? "region" : "name", &value, NULL);
    snprintf(text, sizeof text, self->says, (int)value.len, value.data);
    fmcp_call_respond_text(call, fmcp_text_of(text), NULL);
}

static void echo_arguments(fmcp_call *call, void *data) {
    (void)data;
    fmcp_call_respond_text(call, fmcp_call_arguments(call), NULL);
}

/* --- Tasks --- */

static void compute(fmcp_call *call, void *data) {
    double seconds = 0;
    fmcp_call_number(call, "seconds", &seconds, NULL);
    for (double left = seconds * 1000; left > 0 && !fmcp_call_is_cancelled(call); left -= 10) {
        sleep_ms(left < 10 ? (int)left : 10);
    }
    say(call, data);
}

static void fail_late(fmcp_call *call, void *data) {
    sleep_ms(1000);
    fail(call, data);
}

static void break_down(fmcp_call *call, void *data) {
    const entry *self = data;
    fmcp_call_fail(call, FMCP_CODE_INTERNAL_ERROR, fmcp_text_of(self->says), FMCP_NONE, NULL);
}

/* --- What changes --- */

static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
/* Hide what is shown, or show it again; clients that listen are told. */
static void change_tool(fmcp_call *call, void *data) {
    static bool shown = true;
    pthread_mutex_lock(&changing);
    shown = !shown;
    fmcp_server_enable_tool(server, fmcp_text_of("test_dynamic_tool"), shown, NULL);
    pthread_mutex_unlock(&changing);
    say(call, data);
}

static void change_prompt(fmcp_call *call, void *data) {
    static bool shown = true;
    pthread_mutex_lock(&changing);
    shown = !shown;
    fmcp_server_enable_prompt(server, fmcp_text_of("test_dynamic_prompt"), shown, NULL);
    pthread_mutex_unlock(&changing);
    say(call, data);
}

/* --- Resources, prompts and completions that depend on what is asked for --- */

static void read_template(fmcp_call *call, void *data) {
    const entry *self = data;
    char text[MOST_TEXT];
    const fmcp_text id = fmcp_call_variable(call, "id");
    const int length = (int)id.len;
    for (size_t at = 0; at < id.len; at++) {
        if (!isalnum((unsigned char)id.data[at])) {
            fmcp_call_fail_not_found(call, NULL);
            return;
        }
    }
    snprintf(text, sizeof text, self->says, length, id.data, length, id.data);
    fmcp_call_respond_text(call, fmcp_text_of(text), NULL);
}

static void prompt_with_arguments(fmcp_call *call, void *data) {
    const entry *self = data;
    char text[MOST_TEXT];
    fmcp_text one = FMCP_NONE, two = FMCP_NONE;
    fmcp_call_string(call, "arg1", &one, NULL);
    fmcp_call_string(call, "arg2", &two, NULL);
    snprintf(text, sizeof text, self->says, (int)one.len, one.data, (int)two.len, two.data);
    fmcp_call_respond_text(call, fmcp_text_of(text), NULL);
}

static void prompt_with_resource(fmcp_call *call, void *data) {
    const entry *self = data;
    char messages[MOST_TEXT];
    /* JSON text, and so quoted already. */
    const fmcp_text uri = fmcp_call_argument(call, "resourceUri");
    if (snprintf(messages, sizeof messages, self->says, (int)uri.len, uri.data) < MOST_TEXT) {
        fmcp_call_respond_prompt(call, FMCP_NONE, fmcp_text_of(messages), NULL);
    } else {
        fmcp_call_fail(call, FMCP_CODE_INVALID_PARAMS, fmcp_text_of("That URI is too long."), FMCP_NONE, NULL);
    }
}

static void complete(fmcp_call *call, void *data) {
    static const char *const words[] = {"paris", "park", "party"};
    const fmcp_text typed = fmcp_call_completion_value(call);
    char values[64] = "[";
    (void)data;
    for (size_t at = 0; at < sizeof words / sizeof *words; at++) {
        if (typed.len <= strlen(words[at]) && strncmp(words[at], typed.data, typed.len) == 0) {
            const size_t length = strlen(values);
            snprintf(values + length, sizeof values - length, "%s\"%s\"", length > 1 ? "," : "", words[at]);
        }
    }
    strcat(values, "]");
    fmcp_call_respond_completion(call, fmcp_text_of(values), -1, -1, NULL);
}

/* --- What there is --- */

static entry tools[] = {
    {TOOL("test_simple_text", "A text."), say, "This is a simple text response for testing.", {{0}}},
    {TOOL("test_image_content", "An image."), show, "[" IMAGE "]", {{0}}},
    {TOOL("test_audio_content", "A sound."), show, "[{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"" SOUND "\"}]", {{0}}},
    {TOOL("test_embedded_resource", "A resource, whole."), show,
     JSON([{"type": "resource", "resource": {"uri": "test://embedded-resource", "mimeType": "text/plain",
            "text": "This is an embedded resource content."}}]), {{0}}},
    {TOOL("test_multiple_content_types", "A text, an image and a resource."), show,
     "[{\"type\":\"text\",\"text\":\"Multiple content types test:\"}," IMAGE ","
     JSON({"type": "resource", "resource": {"uri": "test://mixed-content-resource", "mimeType": "application/json",
           "text": "{\"test\":\"data\",\"value\":123}"}}) "]", {{0}}},
    {TOOL("test_error_handling", "Fails each time."), fail, "This tool intentionally returns an error for testing", {{0}}},
    {TOOL("test_tool_with_logging", "Logs three times."), log_thrice, "Tool with logging executed successfully", {{0}}},
    {TOOL("test_logging_tool", "Logs, for clients that want it."), log_thrice, "Logging evaluated", {{0}}},
    {TOOL("test_tool_with_progress", "Reports its progress three times."), report_progress, "Progress reported", {{0}}},
    {TOOL("test_reconnection", "Cuts its client off, which comes back for the answer."), cut_off,
     "Reconnection test completed successfully", {{0}}},
    {JSON({"name": "json_schema_2020_12_tool", "description": "Takes what a schema of 2020-12 with all its means describes.",
           "inputSchema": {
               "$schema": "https://json-schema.org/draft/2020-12/schema",
               "type": "object",
               "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                                     "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
               "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                              "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                              "phone": {"type": "string"}, "email": {"type": "string"}},
               "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
               "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
               "then": {"required": ["phone"]},
               "else": {"required": ["email"]},
               "additionalProperties": false}}), echo_arguments, NULL, {{0}}},
    /* Its argument is mirrored into the header Mcp-Param-Region, where what routes requests can see it. */
    {JSON({"name": "test_x_mcp_header", "description": "Takes a region, which its client also says in a header.",
           "inputSchema": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
                           "required": ["region"]}}), echo, "Region: %.*s", {{0}}},
    {JSON({"name": "test_sampling", "description": "Has the client's model answer.",
           "inputSchema": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]}}),
     ask_in_words, "LLM response:",
     {{"given", MODEL, JSON({"messages": [{"role": "user", "content": {"type": "text", "text": %.*s}}], "maxTokens": 100})}}},
    {JSON({"name": "test_elicitation", "description": "Asks the user.",
           "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}}),
     ask_in_words, "User response:",
     {{"given", ELICIT, JSON({"message": %.*s, "requestedSchema": {"type": "object", "properties":
        {"username": {"type": "string"}, "email": {"type": "string"}}, "required": ["username", "email"]}})}}},
    {TOOL("test_elicitation_sep1034_defaults", "Asks by a form with defaults."), ask, "Elicitation completed:",
     {{"form", ELICIT, JSON({"message": "Please review the form", "requestedSchema": {"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5}, "verified": {"type": "boolean", "default": true},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}}}})}}},
    {TOOL("test_elicitation_sep1330_enums", "Asks by a form with every kind of choice."), ask, "Elicitation completed:",
     {{"form", ELICIT, JSON({"message": "Please choose", "requestedSchema": {"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"},
            {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": [{"const": "value1", "title": "First Choice"},
            {"const": "value2", "title": "Second Choice"}, {"const": "value3", "title": "Third Choice"}]}}}}})}}},
    {TOOL("test_missing_capability", "Needs the client's model."), ask, "Said:", {{"model", MODEL, SAMPLE("Say something", 10)}}},
    {TOOL("test_streaming_elicitation", "Reports progress, and asks."), ask_with_progress, "Streaming complete:",
     {{"name", ELICIT, FORM("What is your name?", "name", "string")}}},
    {TOOL("test_input_required_result_elicitation", "Greets the user by name."), greet_by_hand, "Hello,",
     {{"user_name", ELICIT, FORM("What is your name?", "name", "string")}}},
    {TOOL("test_input_required_result_sampling", "Has the client's model answer a question."), ask, "Sampling result:",
     {{"capital_question", MODEL, SAMPLE("What is the capital of France?", 100)}}},
    {TOOL("test_input_required_result_list_roots", "Lists the client's roots."), ask, "Found:", {{"client_roots", ROOTS, "{}"}}},
    {TOOL("test_input_required_result_request_state", "Asks, and remembers in the request's state that it did."), ask,
     "state-ok: requestState validated", {{"confirm", ELICIT, FORM("Please confirm", "ok", "boolean")}}},
    {TOOL("test_input_required_result_tampered_state", "A state that its client has changed is refused before this runs."), ask,
     "integrity-ok: state verified", {{"confirm", ELICIT, FORM("Please confirm", "ok", "boolean")}}},
    {TOOL("test_input_required_result_multiple_inputs", "Asks three things at once."), ask, "Answers:",
     {{"user_name", ELICIT, FORM("What is your name?", "name", "string")},
      {"greeting", MODEL, SAMPLE("Generate a greeting", 50)},
      {"client_roots", ROOTS, "{}"}}},
    {TOOL("test_input_required_result_multi_round", "Asks one thing after the other."), ask_in_turn, "Multi-round complete:",
     {{"step1", ELICIT, FORM("Step 1: What is your name?", "name", "string")},
      {"step2", ELICIT, FORM("Step 2: What is your favorite color?", "color", "string")}}},
    {TOOL("test_input_required_result_capabilities", "Asks by what the client has declared."), ask_what_is_declared, "Answer:",
     {{"elicit_input", ELICIT, FORM("Elicitation input", "value", "string")},
      {"sample_input", MODEL, SAMPLE("Sample request", 50)}}},
    {TOOL("test_dynamic_tool", "Comes and goes."), say, "here", {{0}}},
    {TOOL("test_trigger_tool_change", "Hides a tool, or shows it again."), change_tool, "Mutation triggered", {{0}}},
    {TOOL("test_trigger_prompt_change", "Hides a prompt, or shows it again."), change_prompt, "Mutation triggered", {{0}}},
    {JSON({"name": "greet", "description": "Greets, at once.",
           "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}),
     echo, "Hello, %.*s!", {{0}}},
    {JSON({"name": "slow_compute", "description": "Takes so many seconds.", "inputSchema": {"type": "object", "properties":
           {"seconds": {"type": "number"}, "label": {"type": "string"}}, "required": ["seconds"]},
           "execution": {"taskSupport": "optional"}}), compute, "Computed", {{0}}},
    {TASK("failing_job", "Fails after a while, as tools fail.", "required"), fail_late, "The job failed", {{0}}},
    {TASK("protocol_error_job", "Fails with an error of the protocol.", "required"), break_down, "The job broke", {{0}}},
    {JSON({"name": "confirm_delete", "description": "Deletes a file, if the user is sure.", "inputSchema": {"type": "object",
           "properties": {"filename": {"type": "string"}}, "required": ["filename"]}, "execution": {"taskSupport": "required"}}),
     ask, "Deleted, or not:", {{"confirm", ELICIT, FORM("Delete the file?", "confirm", "boolean")}}},
    {TASK("multi_input", "Asks two things at once, which may be answered one by one.", "required"), ask, "Answers:",
     {{"first", ELICIT, FORM("What is your name?", "name", "string")}, {"second", ELICIT, FORM("Sure?", "confirm", "boolean")}}},
    {TOOL("test_tool_with_task", "Asks for a name, and goes on as a task."), ask_then_begin, "Hello,",
     {{"user_name", ELICIT, FORM("What is your name?", "name", "string")}}},
};

static entry resources[] = {
    {JSON({"uri": "test://static-text", "name": "static-text", "description": "A text.", "mimeType": "text/plain"}), say,
     "This is the content of the static text resource.", {{0}}},
    {JSON({"uri": "test://static-binary", "name": "static-binary", "description": "An image.", "mimeType": "image/png"}),
     show_contents, "[{\"uri\":\"test://static-binary\",\"mimeType\":\"image/png\",\"blob\":\"" PIXEL "\"}]", {{0}}},
    {JSON({"uri": "test://watched-resource", "name": "watched", "description": "A text that clients may watch.",
           "mimeType": "text/plain"}), say, "Watched resource content", {{0}}},
};

static entry templates[] = {
    {JSON({"uriTemplate": "test://template/{id}/data", "name": "data", "description": "The data of an id.",
           "mimeType": "application/json"}), read_template,
     JSON({"id": "%.*s", "templateTest": true, "data": "Data for ID: %.*s"}), {{0}}},
};

static entry prompts[] = {
    {JSON({"name": "test_simple_prompt", "description": "A prompt without arguments."}), say,
     "This is a simple prompt for testing.", {{0}}},
    {JSON({"name": "test_prompt_with_arguments", "description": "A prompt with arguments.",
           "arguments": [{"name": "arg1", "required": true}, {"name": "arg2", "required": true}]}), prompt_with_arguments,
     "Prompt with arguments: arg1='%.*s', arg2='%.*s'", {{0}}},
    {JSON({"name": "test_prompt_with_embedded_resource", "description": "A prompt with a resource in it.",
           "arguments": [{"name": "resourceUri", "required": true}]}), prompt_with_resource,
     JSON([{"role": "user", "content": {"type": "resource", "resource": {"uri": %.*s, "mimeType": "text/plain",
            "text": "Embedded resource content for testing."}}},
           {"role": "user", "content": {"type": "text", "text": "Please process the embedded resource above."}}]), {{0}}},
    {JSON({"name": "test_prompt_with_image", "description": "A prompt with an image in it."}), show_messages,
     "[{\"role\":\"user\",\"content\":" IMAGE "},"
     JSON({"role": "user", "content": {"type": "text", "text": "Please analyze the image above."}}) "]", {{0}}},
    {JSON({"name": "test_input_required_result_prompt", "description": "A prompt that asks the user."}), ask,
     "Prompt with context:", {{"user_context", ELICIT, FORM("What context should the prompt use?", "context", "string")}}},
    {JSON({"name": "test_dynamic_prompt", "description": "Comes and goes."}), say, "here", {{0}}},
};

typedef fmcp_status (*adder)(fmcp_server *, fmcp_text, fmcp_call_handler, void *, fmcp_destroy, fmcp_error **);

static fmcp_status add_all(adder add, entry *entries, size_t count, fmcp_error **error) {
    fmcp_status status = FMCP_STATUS_OK;
    for (size_t at = 0; at < count && status == FMCP_STATUS_OK; at++) {
        status = add(server, fmcp_text_of(entries[at].definition), entries[at].handler, &entries[at], NULL, error);
    }
    return status;
}

#define ADD_ALL(add, entries) add_all(add, entries, sizeof entries / sizeof *entries, error)

static fmcp_status serve(const char *port, fmcp_error **error) {
    const fmcp_text config = fmcp_text_of(JSON({"info": {"name": "everything", "version": "1.0.0"}, "tasks": {"pollMs": 100},
                                                "cache": {"ttlMs": 60000, "cacheScope": "public"}}));
    const fmcp_text of = fmcp_text_of("test_prompt_with_arguments"), argument = fmcp_text_of("arg1");
    const bool ready =
        fmcp_server_from_config(config, &server, error) == FMCP_STATUS_OK &&
        ADD_ALL(fmcp_server_add_tool, tools) == FMCP_STATUS_OK && ADD_ALL(fmcp_server_add_resource, resources) == FMCP_STATUS_OK &&
        ADD_ALL(fmcp_server_add_resource_template, templates) == FMCP_STATUS_OK &&
        ADD_ALL(fmcp_server_add_prompt, prompts) == FMCP_STATUS_OK &&
        fmcp_server_add_completion(server, of, argument, complete, NULL, NULL, error) == FMCP_STATUS_OK;
    char options[64];
    if (!ready) {
        return FMCP_STATUS_INVALID_ARGUMENT;
    }
    if (port == NULL) {
        return fmcp_server_run_stdio(server, FMCP_NONE, error);
    }
    snprintf(options, sizeof options, "{\"port\":%d}", atoi(port));
    return fmcp_server_run_http(server, fmcp_text_of(options), error);
}

int main(int argc, char **argv) {
    fmcp_error *error = NULL;
    const fmcp_status status = serve(argc > 2 && strcmp(argv[1], "--port") == 0 ? argv[2] : NULL, &error);
    if (status != FMCP_STATUS_OK) {
        const fmcp_text text = fmcp_error_text(error);
        fprintf(stderr, "%.*s\n", (int)text.len, text.data);
        fmcp_error_free(error);
    }
    fmcp_server_free(server);
    return status == FMCP_STATUS_OK ? 0 : 1;
}
