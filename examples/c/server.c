/* An MCP server in C on standard input and output, with one of everything: tools, a resource, a resource template, a
 * prompt, progress, cancellation, and a question to the user. The library reads, writes and runs the handlers. */
#include <ferromcp.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void sleep_ms(int64_t ms) {
    const struct timespec pause = {ms / 1000, (ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

/* An argument that the tool's schema has checked is there; for the rest the status would be looked at. */
static int64_t integer(const fmcp_call *call, const char *name) {
    int64_t value = 0;
    fmcp_call_integer(call, name, &value, NULL);
    return value;
}

static void echo(fmcp_call *call, void *user_data) {
    (void)user_data;
    fmcp_text text = FMCP_NONE;
    fmcp_error *error = NULL;
    if (fmcp_call_string(call, "text", &text, &error) == FMCP_STATUS_OK) {
        fmcp_call_respond_text(call, text, NULL);
    } else {
        fmcp_call_tool_error(call, fmcp_error_text(error), NULL);
        fmcp_error_free(error);
    }
}

static void add(fmcp_call *call, void *user_data) {
    (void)user_data;
    int64_t a = 0, b = 0;
    const int fits = fmcp_call_integer(call, "a", &a, NULL) == FMCP_STATUS_OK &&
                     fmcp_call_integer(call, "b", &b, NULL) == FMCP_STATUS_OK;
    if (!fits || (b > 0 && a > INT64_MAX - b) || (b < 0 && a < INT64_MIN - b)) {
        fmcp_call_tool_error(call, fmcp_text_of("the sum does not fit into 64 bits"), NULL);
        return;
    }
    char sum[32];
    snprintf(sum, sizeof sum, "%" PRId64, a + b);
    fmcp_call_respond_text(call, fmcp_text_of(sum), NULL);
}

/* Sleeps, and stops early when cancelled. */
static void slow(fmcp_call *call, void *user_data) {
    (void)user_data;
    for (int64_t left = integer(call, "ms"); left > 0 && !fmcp_call_is_cancelled(call); left -= 10) {
        sleep_ms(left < 10 ? left : 10);
    }
    fmcp_call_respond_text(call, fmcp_text_of("done"), NULL);
}

/* Blocks its thread, whatever the client does; other calls go on. */
static void block(fmcp_call *call, void *user_data) {
    (void)user_data;
    sleep_ms(integer(call, "ms"));
    fmcp_call_respond_text(call, fmcp_text_of("done"), NULL);
}

static void fail(fmcp_call *call, void *user_data) {
    (void)user_data;
    fmcp_text message = FMCP_NONE;
    fmcp_call_string(call, "msg", &message, NULL);
    fmcp_call_tool_error(call, message, NULL);
}

static void progress(fmcp_call *call, void *user_data) {
    (void)user_data;
    const int64_t steps = integer(call, "n");
    char line[64];
    for (int64_t step = 1; step <= steps; step++) {
        fmcp_call_report_progress(call, (double)step, (double)steps, FMCP_NONE, NULL);
        snprintf(line, sizeof line, "step %" PRId64 " of %" PRId64, step, steps);
        fmcp_call_log(call, FMCP_LOG_LEVEL_DEBUG, fmcp_text_of(line), NULL);
    }
    snprintf(line, sizeof line, "%" PRId64, steps);
    fmcp_call_respond_text(call, fmcp_text_of(line), NULL);
}

/* Asks the user in the middle of a call. A modern client is asked by answering its request: then the status says so, the
 * handler returns, and runs again with the answer when the client has it. */
static void ask(fmcp_call *call, void *user_data) {
    static const char SCHEMA[] = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}},"
                                 "\"required\":[\"name\"]}";
    (void)user_data;
    fmcp_answers *answers = NULL;
    fmcp_error *error = NULL;
    const fmcp_status status = fmcp_call_elicit(call, fmcp_text_of("Whom shall I greet?"), fmcp_text_of(SCHEMA),
                                                fmcp_text_of("name"), -1, &answers, &error);
    if (status == FMCP_STATUS_OK && fmcp_answers_action(answers, 0) == FMCP_ACTION_ACCEPT) {
        /* The form that the user has filled in: {"name":...}. */
        fmcp_call_respond_text(call, fmcp_answers_content(answers, 0), NULL);
    } else if (status == FMCP_STATUS_OK) {
        fmcp_call_respond_text(call, fmcp_text_of("The user does not want to say."), NULL);
    } else if (status != FMCP_STATUS_SUSPENDED && status != FMCP_STATUS_CAPABILITY_NOT_DECLARED) {
        /* Those two the library sees to. */
        fmcp_call_tool_error(call, fmcp_error_text(error), NULL);
    }
    fmcp_answers_free(answers);
    fmcp_error_free(error);
}

/* Takes its time. Its definition says that calls may be tasks: a client that takes those has its answer at once, and comes for the
 * report later. The handler is written like any other. */
static void report(fmcp_call *call, void *user_data) {
    (void)user_data;
    const int64_t pages = integer(call, "pages");
    char line[64];
    for (int64_t page = 1; page <= pages && !fmcp_call_is_cancelled(call); page++) {
        sleep_ms(10);
        snprintf(line, sizeof line, "page %" PRId64, page);
        fmcp_call_report_progress(call, (double)page, (double)pages, fmcp_text_of(line), NULL);
    }
    snprintf(line, sizeof line, "%" PRId64 " pages", pages);
    fmcp_call_respond_text(call, fmcp_text_of(line), NULL);
}

/* One handler may serve several things: here the text that it is given as user data. */
static void about(fmcp_call *call, void *user_data) {
    fmcp_call_respond_text(call, fmcp_text_of((const char *)user_data), NULL);
}

static void square(fmcp_call *call, void *user_data) {
    (void)user_data;
    const fmcp_text number = fmcp_call_variable(call, "number");
    char text[32] = "", *end = text;
    if (number.len > 0 && number.len < 10) {
        memcpy(text, number.data, number.len);
    }
    const int64_t value = strtoll(text, &end, 10);
    if (end == text || *end != '\0') {
        fmcp_call_fail_not_found(call, NULL);
        return;
    }
    snprintf(text, sizeof text, "%" PRId64, value * value);
    fmcp_call_respond_text(call, fmcp_text_of(text), NULL);
}

static void greet(fmcp_call *call, void *user_data) {
    (void)user_data;
    fmcp_text name = FMCP_NONE;
    fmcp_call_string(call, "name", &name, NULL);
    char text[256];
    snprintf(text, sizeof text, "Greet %.*s in one sentence.", (int)(name.len < 100 ? name.len : 100), name.data);
    fmcp_call_respond_text(call, fmcp_text_of(text), NULL);
}

static const struct {
    const char *definition;
    fmcp_call_handler handler;
} TOOLS[] = {
    {"{\"name\":\"echo\",\"description\":\"Give the text back\",\"inputSchema\":{\"type\":\"object\","
     "\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}}",
     echo},
    {"{\"name\":\"add\",\"description\":\"Add two integers\",\"inputSchema\":{\"type\":\"object\","
     "\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}},\"required\":[\"a\",\"b\"]}}",
     add},
    {"{\"name\":\"slow\",\"description\":\"Sleep, and stop early when cancelled\",\"inputSchema\":{\"type\":\"object\","
     "\"properties\":{\"ms\":{\"type\":\"integer\",\"minimum\":0}},\"required\":[\"ms\"]}}",
     slow},
    {"{\"name\":\"block\",\"description\":\"Block a thread, whatever the client does\",\"inputSchema\":{"
     "\"type\":\"object\",\"properties\":{\"ms\":{\"type\":\"integer\",\"minimum\":0}},\"required\":[\"ms\"]}}",
     block},
    {"{\"name\":\"fail\",\"description\":\"Fail with a message\",\"inputSchema\":{\"type\":\"object\","
     "\"properties\":{\"msg\":{\"type\":\"string\"}},\"required\":[\"msg\"]}}",
     fail},
    {"{\"name\":\"progress\",\"description\":\"Report progress n times\",\"inputSchema\":{\"type\":\"object\","
     "\"properties\":{\"n\":{\"type\":\"integer\",\"minimum\":0}},\"required\":[\"n\"]}}",
     progress},
    {"{\"name\":\"report\",\"description\":\"Write a report of so many pages\",\"inputSchema\":{\"type\":\"object\","
     "\"properties\":{\"pages\":{\"type\":\"integer\",\"minimum\":0}},\"required\":[\"pages\"]},"
     "\"execution\":{\"taskSupport\":\"optional\"}}",
     report},
    {"{\"name\":\"ask\",\"description\":\"Ask the user for a name\",\"inputSchema\":{\"type\":\"object\"}}", ask},
};

static fmcp_status serve(fmcp_server *server, fmcp_error **error) {
    static char text[] = "An example server of FerroMCP.";
    fmcp_status status = FMCP_STATUS_OK;
    for (size_t i = 0; i < sizeof TOOLS / sizeof TOOLS[0] && status == FMCP_STATUS_OK; i++) {
        status = fmcp_server_add_tool(server, fmcp_text_of(TOOLS[i].definition), TOOLS[i].handler, NULL, NULL, error);
    }
    if (status == FMCP_STATUS_OK) {
        const char *definition = "{\"uri\":\"example://about\",\"name\":\"about\",\"mimeType\":\"text/plain\"}";
        status = fmcp_server_add_resource(server, fmcp_text_of(definition), about, text, NULL, error);
    }
    if (status == FMCP_STATUS_OK) {
        const char *definition = "{\"uriTemplate\":\"example://square/{number}\",\"name\":\"square\"}";
        status = fmcp_server_add_resource_template(server, fmcp_text_of(definition), square, NULL, NULL, error);
    }
    if (status == FMCP_STATUS_OK) {
        const char *definition = "{\"name\":\"greet\",\"description\":\"Greet someone\","
                                 "\"arguments\":[{\"name\":\"name\",\"required\":true}]}";
        status = fmcp_server_add_prompt(server, fmcp_text_of(definition), greet, NULL, NULL, error);
    }
    return status == FMCP_STATUS_OK ? fmcp_server_run_stdio(server, FMCP_NONE, error) : status;
}

int main(void) {
    fmcp_server *server = NULL;
    fmcp_error *error = NULL;
    fmcp_status status = fmcp_server_new(fmcp_text_of("c-example"), fmcp_text_of(FMCP_VERSION), &server, &error);
    if (status == FMCP_STATUS_OK) {
        status = serve(server, &error);
    }
    if (status != FMCP_STATUS_OK) {
        const fmcp_text text = fmcp_error_text(error);
        fprintf(stderr, "%.*s\n", (int)text.len, text.data);
        fmcp_error_free(error);
    }
    fmcp_server_free(server);
    return status == FMCP_STATUS_OK ? 0 : 1;
}
