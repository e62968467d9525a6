/* Tasks in the ready-made loop: of both protocols, begun by a definition or by a handler, kept in memory or in a file. */
#include "tasking.h"

/* What a handler has seen, and what it waits for. */
struct seen {
    char id[MOST_ID];
    volatile int begun, cancelled;
};

static void note_id(struct seen *seen, fmcp_call *call) {
    const fmcp_text id = fmcp_call_task_id(call);
    snprintf(seen->id, sizeof seen->id, "%.*s", (int)id.len, id.data != NULL ? id.data : "");
}

/* Asks who it is for, and says that. */
static void job(fmcp_call *call, void *user_data) {
    fmcp_answers *answers = NULL;
    note_id((struct seen *)user_data, call);
    fmcp_call_report_progress(call, 1, 2, fmcp_text_of("half"), NULL);
    const fmcp_status status =
        fmcp_call_elicit(call, fmcp_text_of("Who?"), fmcp_text_of(SCHEMA), fmcp_text_of("who"), -1, &answers, NULL);
    CHECK(status == FMCP_STATUS_OK && fmcp_answers_action(answers, 0) == FMCP_ACTION_ACCEPT);
    CHECK(fmcp_call_respond_text(call, fmcp_answers_content(answers, 0), NULL) == FMCP_STATUS_OK);
    fmcp_answers_free(answers);
}

/* Says at once that it is done. */
static void quick(fmcp_call *call, void *user_data) {
    note_id((struct seen *)user_data, call);
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("done"), NULL) == FMCP_STATUS_OK);
}

/* Wants to be a task. */
static void later(fmcp_call *call, void *user_data) {
    struct seen *seen = (struct seen *)user_data;
    bool begun = false, again = true;
    CHECK(fmcp_call_task_id(call).data == NULL);
    CHECK(fmcp_call_begin_task(call, NULL, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_call_begin_task(call, &begun, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_call_begin_task(call, &again, NULL) == FMCP_STATUS_OK && !again);
    seen->begun = begun;
    note_id(seen, call);
    CHECK(begun == (seen->id[0] != '\0'));
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("done"), NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_call_begin_task(call, &begun, NULL) == FMCP_STATUS_OK && !begun);
}

/* Works until nobody wants it any more. */
static void endless(fmcp_call *call, void *user_data) {
    struct seen *seen = (struct seen *)user_data;
    for (int waited = 0; !fmcp_call_is_cancelled(call) && waited < DEADLINE_MS; waited++) {
        poll(NULL, 0, 1);
    }
    CHECK(fmcp_call_cancel_reason(call).len > 0);
    seen->cancelled = 1;
}

static fmcp_server *make(struct seen *seen) {
    fmcp_server *server = NULL;
    CHECK(fmcp_server_new(fmcp_text_of("tasks"), fmcp_text_of("1"), &server, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(OPTIONAL("job")), job, seen, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(OPTIONAL("quick")), quick, seen, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("later")), later, seen, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(OPTIONAL("endless")), endless, seen, NULL, NULL) == FMCP_STATUS_OK);
    return server;
}

/* Asks for a task until the answer holds this. */
static const char *get_until(struct client *client, const char *id, const char *text) {
    char line[MOST_LINE];
    about_task(line, 50, "tasks/get", id, "");
    for (int waited = 0; waited < DEADLINE_MS; waited++) {
        if (strstr(client_ask(client, line), text) != NULL) {
            return client->line;
        }
        poll(NULL, 0, 1);
    }
    CHECK(holds(client->line, text));
    return client->line;
}

/* The next message that holds this; others may come before it. */
static const char *line_with(struct client *client, const char *text) {
    while (client_line(client)[0] != '\0') {
        if (strstr(client->line, text) != NULL) {
            return client->line;
        }
    }
    CHECK(holds("no more lines", text));
    return "";
}

static void a_modern_client_gets_a_task(void) {
    static struct client client;
    struct seen seen = {"", 0, 0};
    char id[MOST_ID], line[MOST_LINE];
    fmcp_server *server = make(&seen);
    client_start(&client, server);
    CHECK(holds(client_ask(&client, CALL_TASK("1", "job")), "\"resultType\":\"task\""));
    task_of(client.line, id);
    CHECK(holds(get_until(&client, id, "\"inputRequests\":{"), "\"who\":{\"method\":\"elicitation/create\""));
    CHECK(strcmp(seen.id, id) == 0);
    client_send(&client, about_task(line, 2, "tasks/update", id, ",\"inputResponses\":{\"who\":" ADA "}"));
    CHECK(holds(client_line(&client), "\"id\":2,\"result\":"));
    CHECK(holds(get_until(&client, id, "\"status\":\"completed\""), "{\\\"name\\\":\\\"Ada\\\"}"));
    /* Who takes no tasks gets an answer. */
    CHECK(holds(client_ask(&client, CALL_TOOL("3", "quick", "{}")), "\"text\":\"done\""));
    CHECK(seen.id[0] == '\0');
    /* Nobody else's task. */
    CHECK(holds(client_ask(&client, about_task(line, 4, "tasks/get", "unknown", "")), "\"code\":-32602"));
    client_end(&client, server);
    fmcp_server_free(server);
}

static void a_call_becomes_a_task_where_its_client_takes_them(void) {
    static struct client client;
    struct seen seen = {"", 0, 0};
    char id[MOST_ID];
    fmcp_server *server = make(&seen);
    client_start(&client, server);
    CHECK(holds(client_ask(&client, CALL_TASK("1", "later")), "\"resultType\":\"task\""));
    task_of(client.line, id);
    CHECK(holds(get_until(&client, id, "\"status\":\"completed\""), "\"text\":\"done\""));
    CHECK(seen.begun && strcmp(seen.id, id) == 0);
    CHECK(holds(client_ask(&client, CALL_TOOL("2", "later", "{}")), "\"text\":\"done\""));
    CHECK(!seen.begun && seen.id[0] == '\0');
    client_end(&client, server);
    fmcp_server_free(server);
}

static void an_older_client_asks_for_its_task(void) {
    static struct client client;
    struct seen seen = {"", 0, 0};
    char id[MOST_ID], line[MOST_LINE];
    fmcp_server *server = make(&seen);
    client_start(&client, server);
    client_ask(&client, LEGACY(ALL) INITIALIZED);
    CHECK(holds(client_ask(&client, LEGACY_TASK("1", "job")), "\"result\":{\"task\":{\"taskId\":"));
    task_of(client.line, id);
    CHECK(holds(line_with(&client, "elicitation/create"), "\"io.modelcontextprotocol/related-task\":{\"taskId\":"));
    client_send(&client, about_legacy_task(line, 2, "tasks/result", id));
    client_send(&client, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":" ADA "}\n");
    CHECK(holds(line_with(&client, "\"id\":2,"), "{\\\"name\\\":\\\"Ada\\\"}"));
    CHECK(strcmp(seen.id, id) == 0);
    /* A call alone is answered, and a handler makes no task of it: clients decide in this revision. */
    client_send(&client, LEGACY_CALL("3", "later"));
    CHECK(holds(line_with(&client, "\"id\":3,"), "\"text\":\"done\"") && !seen.begun);
    close(client.input);
    CHECK(fmcp_server_wait(server, NULL) == FMCP_STATUS_OK);
    close(client.output);
    fmcp_server_free(server);
}

static void a_task_is_cancelled(void) {
    static struct client client;
    struct seen seen = {"", 0, 0};
    char id[MOST_ID], line[MOST_LINE];
    fmcp_server *server = make(&seen);
    client_start(&client, server);
    task_of(client_ask(&client, CALL_TASK("1", "endless")), id);
    CHECK(holds(client_ask(&client, about_task(line, 2, "tasks/cancel", id, "")), "\"resultType\":\"complete\""));
    get_until(&client, id, "\"status\":\"cancelled\"");
    client_end(&client, server);
    fmcp_server_free(server);
    CHECK(seen.cancelled);
}

static void remove_files(const char *folder) {
    char place[1024];
    DIR *open = opendir(folder);
    for (struct dirent *entry = open != NULL ? readdir(open) : NULL; entry != NULL; entry = readdir(open)) {
        snprintf(place, sizeof place, "%s/%s", folder, entry->d_name);
        unlink(place);
    }
    CHECK(open != NULL && closedir(open) == 0);
}

static void a_file_keeps_tasks_for_the_next_server(void) {
    static struct client client;
    const char *folder = getenv("TMPDIR");
    struct seen seen = {"", 0, 0};
    char id[MOST_ID], place[512], url[600];
    snprintf(place, sizeof place, "%s/ferromcp-c-tasks-XXXXXX", folder != NULL ? folder : "/tmp");
    CHECK(mkdtemp(place) != NULL);
    snprintf(url, sizeof url, "sqlite:%s/tasks.db", place);
    for (int round = 0; round < 2; round++) {
        fmcp_server *server = make(&seen);
        CHECK(fmcp_server_set_task_store(server, fmcp_text_of(url), NULL) == FMCP_STATUS_OK);
        client_start(&client, server);
        CHECK(fmcp_server_set_task_store(server, fmcp_text_of(url), NULL) == FMCP_STATUS_STATE);
        if (round == 0) {
            task_of(client_ask(&client, CALL_TASK("1", "quick")), id);
        }
        CHECK(holds(get_until(&client, id, "\"status\":\"completed\""), "\"text\":\"done\""));
        client_end(&client, server);
        fmcp_server_free(server);
    }
    remove_files(place);
    CHECK(rmdir(place) == 0);
}

static void a_store_that_is_none_stops_the_start(void) {
    static const char *const URLS[] = {"file:///tasks", "sqlite:/nowhere/at/all/tasks.db", "redis://"};
    struct seen seen = {"", 0, 0};
    for (size_t at = 0; at < sizeof URLS / sizeof URLS[0]; at++) {
        fmcp_server *server = make(&seen);
        fmcp_error *error = NULL;
        CHECK(fmcp_server_set_task_store(server, FMCP_NONE, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
        CHECK(fmcp_server_set_task_store(server, fmcp_text_of("memory"), NULL) == FMCP_STATUS_OK);
        CHECK(fmcp_server_set_task_store(server, fmcp_text_of(URLS[at]), NULL) == FMCP_STATUS_OK);
        CHECK(fmcp_server_start_fds(server, 0, 1, FMCP_NONE, &error) == FMCP_STATUS_TASK_STORE);
        const fmcp_text text = fmcp_error_text(error);
        char line[MOST_LINE];
        snprintf(line, sizeof line, "%.*s", (int)text.len, text.data != NULL ? text.data : "");
        CHECK(holds(line, "store of tasks: "));
        /* Both kinds are built in. */
        CHECK((strstr(line, "is no store of tasks") != NULL) == (at == 0));
        fmcp_error_free(error);
        CHECK(fmcp_server_set_task_store(server, fmcp_text_of("memory"), NULL) == FMCP_STATUS_STATE);
        fmcp_server_free(server);
    }
}

int main(void) {
    a_modern_client_gets_a_task();
    a_call_becomes_a_task_where_its_client_takes_them();
    an_older_client_asks_for_its_task();
    a_task_is_cancelled();
    a_file_keeps_tasks_for_the_next_server();
    a_store_that_is_none_stops_the_start();
    client_threads_end();
    return check_report("tasks");
}
