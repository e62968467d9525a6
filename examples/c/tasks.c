/* An MCP server in C whose tool takes its time: it asks the user, and its result can be fetched later, by another client or after
 * the server was started again. Clients that take tasks get one at once; others wait for the answer, from the same function.
 *
 *     c_tasks tasks.db        an MCP client speaks to it on stdin and stdout
 *
 * Tasks are kept in the file: what had ended when the process was killed has its result, what still ran has failed. Around each
 * call stands a function that writes to stderr what became of it. */
#include <ferromcp.h>

#include <inttypes.h>
#include <stdio.h>

enum { MOST_PAGES = 20, MOST_PAGE = 512 };

/* Writes a report of so many pages, if the user agrees. */
static void write_report(fmcp_call *call, void *user_data) {
    static const char NO_FIELDS[] = "{\"type\":\"object\",\"properties\":{}}";
    (void)user_data;
    char text[MOST_PAGES * MOST_PAGE], line[MOST_PAGE];
    size_t length = 0;
    int64_t pages = 0;
    fmcp_text topic = FMCP_NONE;
    fmcp_answers *answers = NULL;
    fmcp_error *error = NULL;
    /* The schema has checked that both are there, and how large they are. */
    fmcp_call_string(call, "topic", &topic, NULL);
    fmcp_call_integer(call, "pages", &pages, NULL);
    snprintf(line, sizeof line, "Write %" PRId64 " pages on %.*s?", pages, (int)topic.len, topic.data);
    /* In a task the question stands in the task until its client answers. An older client gets a request, and has a minute. */
    const fmcp_status status = fmcp_call_elicit(call, fmcp_text_of(line), fmcp_text_of(NO_FIELDS), fmcp_text_of("agreed"), 60000,
                                                &answers, &error);
    if (status != FMCP_STATUS_OK) {
        if (status == FMCP_STATUS_NO_ANSWER) {
            fmcp_call_tool_error(call, fmcp_error_text(error), NULL);
        } /* Else nobody waits any more, or the library tells the client which capability it lacks. */
    } else if (fmcp_answers_action(answers, 0) != FMCP_ACTION_ACCEPT) {
        fmcp_call_tool_error(call, fmcp_text_of("No report: the user wants none."), NULL);
    } else {
        for (int64_t page = 1; page <= pages && !fmcp_call_is_cancelled(call); page++) {
            length += (size_t)snprintf(text + length, MOST_PAGE, "%sPage %" PRId64 " on %.*s", page > 1 ? "\n" : "", page,
                                       (int)topic.len, topic.data);
            /* Of a task the client reads this as its status message. */
            snprintf(line, sizeof line, "page %" PRId64 " is written", page);
            fmcp_call_report_progress(call, (double)page, (double)pages, fmcp_text_of(line), NULL);
        }
        const fmcp_text report = {text, length};
        fmcp_call_respond_text(call, report, NULL);
    }
    fmcp_answers_free(answers);
    fmcp_error_free(error);
}

/* Becomes a task only where there is much to do, and where its client takes tasks. */
static void count(fmcp_call *call, void *user_data) {
    (void)user_data;
    int64_t to = 0, reached = 0;
    bool begun = false;
    char text[64];
    fmcp_call_integer(call, "to", &to, NULL);
    if (to > 100) {
        fmcp_call_begin_task(call, &begun, NULL);
    }
    while (reached < to && !fmcp_call_is_cancelled(call)) {
        reached++;
    }
    snprintf(text, sizeof text, "counted to %" PRId64, reached);
    fmcp_call_respond_text(call, fmcp_text_of(text), NULL);
}

/* Says what became of a call. */
static void tell(const fmcp_call *call, const fmcp_call_outcome *outcome, void *user_data) {
    const fmcp_text name = fmcp_call_name(call), task = fmcp_call_task_id(call);
    (void)user_data;
    fprintf(stderr, "%.*s: %s in %" PRIu64 " us%s%.*s\n", (int)name.len, name.data,
            outcome->end == FMCP_END_RESULT ? "done" : "not done", outcome->duration_us, task.len > 0 ? ", task " : "",
            (int)task.len, task.data);
}

static fmcp_status serve(fmcp_server *server, const char *path, fmcp_error **error) {
    const fmcp_text report = fmcp_text_of(
        "{\"name\":\"write_report\",\"description\":\"Write a report, if the user agrees\",\"inputSchema\":{\"type\":\"object\","
        "\"properties\":{\"topic\":{\"type\":\"string\",\"maxLength\":100},"
        "\"pages\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":20}},\"required\":[\"topic\",\"pages\"]},"
        "\"execution\":{\"taskSupport\":\"optional\"}}");
    const fmcp_text counting = fmcp_text_of(
        "{\"name\":\"count\",\"description\":\"Count\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"to\":"
        "{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000000}},\"required\":[\"to\"]}}");
    char url[4096];
    fmcp_status status = fmcp_server_add_tool(server, report, write_report, NULL, NULL, error);
    if (status == FMCP_STATUS_OK) {
        status = fmcp_server_add_tool(server, counting, count, NULL, NULL, error);
    }
    if (status == FMCP_STATUS_OK) {
        /* Without a task, the call waits for its client in this process, so that nothing is written twice. */
        status = fmcp_server_set_reentry(server, FMCP_TARGET_TOOL, fmcp_text_of("write_report"), FMCP_REENTRY_HELD, error);
    }
    if (status == FMCP_STATUS_OK) {
        status = fmcp_server_add_middleware(server, NULL, tell, false, NULL, NULL, error);
    }
    if (status == FMCP_STATUS_OK && path != NULL) {
        snprintf(url, sizeof url, "sqlite:%s", path);
        status = fmcp_server_set_task_store(server, fmcp_text_of(url), error);
    }
    return status == FMCP_STATUS_OK ? fmcp_server_run_stdio(server, FMCP_NONE, error) : status;
}

int main(int argc, char **argv) {
    const char *config = "{\"info\":{\"name\":\"reports\",\"version\":\"1.0\"},\"tasks\":{\"ttlMs\":86400000,\"pollMs\":200}}";
    fmcp_server *server = NULL;
    fmcp_error *error = NULL;
    fmcp_status status = fmcp_server_from_config(fmcp_text_of(config), &server, &error);
    if (status == FMCP_STATUS_OK) {
        status = serve(server, argc > 1 ? argv[1] : NULL, &error);
    }
    if (status != FMCP_STATUS_OK) {
        const fmcp_text text = fmcp_error_text(error);
        fprintf(stderr, "%.*s\n", (int)text.len, text.data);
        fmcp_error_free(error);
    }
    fmcp_server_free(server);
    return status == FMCP_STATUS_OK ? 0 : 1;
}
