/* The ready-made loop: handlers, who owns their user data, what a handler may do, starting and ending. */
#include "client.h"

static fmcp_server *make(void) {
    fmcp_server *server = NULL;
    CHECK(fmcp_server_new(fmcp_text_of("test"), fmcp_text_of("1"), &server, NULL) == FMCP_STATUS_OK);
    return server;
}

/* User data that counts its calls and its end. */
struct counted {
    int called, destroyed;
};

static void count_call(fmcp_call *call, void *user_data) {
    ((struct counted *)user_data)->called++;
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("counted"), NULL) == FMCP_STATUS_OK);
}

static void count_end(void *user_data) { ((struct counted *)user_data)->destroyed++; }

static void handlers_own_their_user_data(void) {
    fmcp_server *server = make();
    struct counted tool = {0, 0}, resource = {0, 0}, of_template = {0, 0}, prompt = {0, 0}, completion = {0, 0};
    struct counted delegates[2] = {{0, 0}, {0, 0}}, refused = {0, 0};
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("tool")), count_call, &tool, count_end, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_resource(server, fmcp_text_of("{\"uri\":\"mem://a\",\"name\":\"a\"}"), count_call, &resource,
                                   count_end, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_resource_template(server, fmcp_text_of("{\"uriTemplate\":\"mem://of/{x}\",\"name\":\"t\"}"),
                                            count_call, &of_template, count_end, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_prompt(server, fmcp_text_of("{\"name\":\"prompt\",\"arguments\":[{\"name\":\"x\"}]}"), count_call,
                                 &prompt, count_end, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_completion(server, fmcp_text_of("prompt"), fmcp_text_of("x"), count_call, &completion, count_end,
                                     NULL) == FMCP_STATUS_OK);
    /* One in the place of another ends that one's life. */
    CHECK(fmcp_server_set_delegate(server, count_call, &delegates[0], count_end, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_set_delegate(server, count_call, &delegates[1], count_end, NULL) == FMCP_STATUS_OK);
    CHECK(delegates[0].destroyed == 1 && delegates[1].destroyed == 0);

    /* What is refused stays the caller's. */
    fmcp_error *error = NULL;
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("tool")), count_call, &refused, count_end, &error) ==
          FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_error_text(error).len > 0);
    fmcp_error_free(error);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of("{"), count_call, &refused, count_end, NULL) ==
          FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("other")), NULL, &refused, count_end, NULL) ==
          FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_server_add_completion(server, fmcp_text_of("nothing"), fmcp_text_of("x"), count_call, &refused, count_end,
                                     NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_server_remove_tool(server, fmcp_text_of("other"), NULL) == FMCP_STATUS_INVALID_ARGUMENT);

    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    CHECK(holds(client_ask(client, CALL_TOOL("1", "tool", "{}")), "\"text\":\"counted\""));
    CHECK(holds(client_ask(client, REQUEST("2", "resources/read", "\"uri\":\"mem://a\"", MODERN)),
                "\"contents\":[{\"uri\":\"mem://a\",\"text\":\"counted\"}]"));
    CHECK(holds(client_ask(client, REQUEST("3", "resources/read", "\"uri\":\"mem://of/7\"", MODERN)),
                "\"contents\":[{\"uri\":\"mem://of/7\",\"text\":\"counted\"}]"));
    CHECK(holds(client_ask(client, REQUEST("4", "prompts/get", "\"name\":\"prompt\"", MODERN)),
                "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"counted\"}}]"));
    CHECK(tool.called == 1 && resource.called == 1 && of_template.called == 1 && prompt.called == 1);
    client_end(client, server);
    free(client);
    CHECK(tool.destroyed == 0);
    fmcp_server_free(server);
    CHECK(tool.destroyed == 1 && resource.destroyed == 1 && of_template.destroyed == 1 && prompt.destroyed == 1);
    CHECK(completion.destroyed == 1 && delegates[0].destroyed == 1 && delegates[1].destroyed == 1);
    CHECK(refused.destroyed == 0);
}

static void complete(fmcp_call *call, void *user_data) {
    (void)user_data;
    CHECK(fmcp_call_target(call) == FMCP_TARGET_PROMPT_COMPLETION);
    CHECK(TEXT_IS(fmcp_call_completion_argument(call), "x"));
    CHECK(TEXT_IS(fmcp_call_completion_value(call), "p"));
    CHECK(fmcp_call_respond_completion(call, fmcp_text_of("[\"perl\",\"python\"]"), 12, 1, NULL) == FMCP_STATUS_OK);
}

static void extra(fmcp_call *call, void *user_data) {
    (void)user_data;
    CHECK(fmcp_call_target(call) == FMCP_TARGET_DELEGATED);
    CHECK(TEXT_IS(fmcp_call_method(call), "own/method"));
    CHECK(fmcp_call_respond_result(call, fmcp_text_of("{\"own\":1}"), NULL) == FMCP_STATUS_OK);
}

static void silent(fmcp_call *call, void *user_data) {
    (void)call;
    (void)user_data;
}

static void not_found(fmcp_call *call, void *user_data) {
    (void)user_data;
    CHECK(fmcp_call_fail_not_found(call, NULL) == FMCP_STATUS_OK);
}

static void adds_a_tool(fmcp_call *call, void *user_data) {
    fmcp_server *server = (fmcp_server *)user_data;
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("grown")), silent, NULL, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("grown")), silent, NULL, NULL, NULL) ==
          FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_server_remove_tool(server, fmcp_text_of("silent"), NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_resource_updated(server, fmcp_text_of("mem://a"), NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("added"), NULL) == FMCP_STATUS_OK);
}

static void handlers_of_every_kind(void) {
    static const char CONFIG[] = "{\"info\":{\"name\":\"test\",\"version\":\"1\"},\"instructions\":\"Use it.\","
                                 "\"extraMethods\":[\"own/method\"]}";
    fmcp_server *server = NULL;
    CHECK(fmcp_server_from_config(fmcp_text_of(CONFIG), &server, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("silent")), silent, NULL, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("adds")), adds_a_tool, server, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_resource(server, fmcp_text_of("{\"uri\":\"mem://a\",\"name\":\"a\"}"), not_found, NULL, NULL,
                                   NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_prompt(server, fmcp_text_of("{\"name\":\"prompt\",\"arguments\":[{\"name\":\"x\"}]}"), silent, NULL,
                                 NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_completion(server, fmcp_text_of("prompt"), fmcp_text_of("x"), complete, NULL, NULL, NULL) ==
          FMCP_STATUS_OK);
    CHECK(fmcp_server_set_delegate(server, extra, NULL, NULL, NULL) == FMCP_STATUS_OK);
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    CHECK(holds(client_ask(client, REQUEST("0", "server/discover", "\"a\":0", MODERN)), "\"completions\":{}"));
    CHECK(holds(client_ask(client, REQUEST("1", "completion/complete",
                                           "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"prompt\"},"
                                           "\"argument\":{\"name\":\"x\",\"value\":\"p\"}", MODERN)),
                "\"completion\":{\"values\":[\"perl\",\"python\"],\"total\":12,\"hasMore\":true}"));
    CHECK(holds(client_ask(client, REQUEST("2", "own/method", "\"a\":0", MODERN)), "\"own\":1"));
    CHECK(holds(client_ask(client, CALL_TOOL("3", "silent", "{}")), "\"message\":\"The tool gave no answer.\""));
    CHECK(holds(client_ask(client, REQUEST("4", "prompts/get", "\"name\":\"prompt\"", MODERN)),
                "\"error\":{\"code\":-32603,\"message\":\"The handler gave no answer.\"}"));
    CHECK(holds(client_ask(client, REQUEST("5", "resources/read", "\"uri\":\"mem://a\"", MODERN)),
                "\"message\":\"Resource not found\",\"data\":{\"uri\":\"mem://a\"}"));
    CHECK(holds(client_ask(client, CALL_TOOL("6", "adds", "{}")), "\"text\":\"added\""));
    CHECK(holds(client_ask(client, CALL_TOOL("7", "grown", "{}")), "\"message\":\"The tool gave no answer.\""));
    CHECK(holds(client_ask(client, CALL_TOOL("8", "silent", "{}")), "Unknown tool: silent"));
    client_end(client, server);
    free(client);
    fmcp_server_free(server);
}

/* Answers the call with what the client answered. */
static void answered(const fmcp_response *response, void *user_data) {
    fmcp_call *call = (fmcp_call *)user_data;
    if (fmcp_response_outcome(response) == FMCP_OUTCOME_RESULT) {
        CHECK(fmcp_response_error_code(response) == 0 && fmcp_response_error_message(response).data == NULL);
        CHECK(fmcp_call_respond_text(call, fmcp_response_result(response), NULL) == FMCP_STATUS_OK);
    } else if (fmcp_response_outcome(response) == FMCP_OUTCOME_CLOSED) {
        CHECK(fmcp_response_result(response).data == NULL && fmcp_response_error_code(response) == 0);
    } else {
        CHECK(fmcp_response_outcome(response) == FMCP_OUTCOME_ERROR && fmcp_response_result(response).data == NULL);
        CHECK(fmcp_response_error_code(response) == 5);
        CHECK(fmcp_call_tool_error(call, fmcp_response_error_message(response), NULL) == FMCP_STATUS_OK);
    }
}

static void release(void *user_data) { fmcp_call_free((fmcp_call *)user_data); }

static void ask(fmcp_call *call, void *user_data) {
    (void)user_data;
    fmcp_error *error = NULL;
    const fmcp_status status = fmcp_call_request(call, fmcp_text_of("roots/list"), FMCP_NONE, -1, answered,
                                                 fmcp_call_retain(call), release, &error);
    if (status != FMCP_STATUS_OK) {
        /* The share stays ours. */
        CHECK(status == FMCP_STATUS_STATE);
        CHECK(fmcp_call_tool_error(call, fmcp_error_text(error), NULL) == FMCP_STATUS_OK);
        fmcp_error_free(error);
        fmcp_call_free(call);
    }
}

static void ask_and_keep(fmcp_call *call, void *user_data) {
    *(fmcp_call **)user_data = fmcp_call_retain(call);
    ask(call, NULL);
}

static void a_client_is_asked(void) {
    fmcp_server *server = make();
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("ask")), ask, NULL, NULL, NULL) == FMCP_STATUS_OK);
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    /* A modern client takes no requests. */
    CHECK(holds(client_ask(client, CALL_TOOL("1", "ask", "{}")), "\"isError\":true"));
    CHECK(holds(client_ask(client, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
                                   "\"2025-11-25\",\"capabilities\":{\"roots\":{}},"
                                   "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n"), "\"id\":2"));
    client_send(client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    CHECK(holds(client_ask(client, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"ask\"}}\n"),
                "\"id\":0,\"method\":\"roots/list\"}"));
    CHECK(holds(client_ask(client, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"roots\":[]}}\n"),
                "\"text\":\"{\\\"roots\\\":[]}\""));
    CHECK(holds(client_ask(client, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"ask\"}}\n"),
                "\"id\":1,\"method\":\"roots/list\"}"));
    CHECK(holds(client_ask(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":5,\"message\":\"no\"}}\n"),
                "{\"type\":\"text\",\"text\":\"no\"}],\"isError\":true"));
    client_end(client, server);
    free(client);
    fmcp_server_free(server);
}

/* Questions that are never answered keep nothing alive: valgrind and the sanitizer see it. */
static void a_question_without_an_answer(void) {
    fmcp_server *server = make();
    fmcp_call *kept = NULL;
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("ask")), ask_and_keep, &kept, NULL, NULL) == FMCP_STATUS_OK);
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    CHECK(holds(client_ask(client, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
                                   "\"2025-11-25\",\"capabilities\":{\"roots\":{}},"
                                   "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n"), "\"id\":2"));
    client_send(client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    CHECK(holds(client_ask(client, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"ask\"}}\n"),
                "\"method\":\"roots/list\"}"));
    fmcp_server_free(server);
    /* Who kept the call can ask nobody any more, and keeps what it wanted to give away. */
    CHECK(kept != NULL);
    CHECK(fmcp_call_request(kept, fmcp_text_of("roots/list"), FMCP_NONE, -1, answered, kept, release, NULL) ==
          FMCP_STATUS_STATE);
    fmcp_call_free(kept);
    close(client->input);
    close(client->output);
    free(client);
}

static void a_server_serves_once(void) {
    fmcp_server *server = make();
    fmcp_error *error = NULL;
    CHECK(fmcp_server_wait(server, NULL) == FMCP_STATUS_STATE);
    CHECK(fmcp_server_stop(server, &error) == FMCP_STATUS_STATE);
    CHECK(TEXT_IS(fmcp_error_text(error), "this server was not started"));
    fmcp_error_free(error);
    error = NULL;
    CHECK(fmcp_server_start_fds(server, -1, 1, FMCP_NONE, &error) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(strncmp(fmcp_error_text(error).data, "input: ", 7) == 0);
    fmcp_error_free(error);
    CHECK(fmcp_server_start_fds(server, 0, 1, fmcp_text_of("{\"threads\":1}"), NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    CHECK(fmcp_server_start_fds(server, 0, 1, FMCP_NONE, NULL) == FMCP_STATUS_STATE);
    CHECK(fmcp_server_run_stdio(server, FMCP_NONE, NULL) == FMCP_STATUS_STATE);
    CHECK(fmcp_server_start_stdio(server, FMCP_NONE, NULL) == FMCP_STATUS_STATE);
    CHECK(fmcp_server_add_prompt(server, fmcp_text_of("{\"name\":\"p\"}"), silent, NULL, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_completion(server, fmcp_text_of("p"), fmcp_text_of("x"), silent, NULL, NULL, NULL) ==
          FMCP_STATUS_STATE);
    CHECK(fmcp_server_stop(server, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_stop(server, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_wait(server, NULL) == FMCP_STATUS_OK);
    CHECK(client_line(client)[0] == '\0');
    close(client->input);
    close(client->output);
    free(client);
    fmcp_server_free(server);
}

static void freeing_ends_a_server(void) {
    fmcp_server *server = make();
    struct counted tool = {0, 0};
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("tool")), count_call, &tool, count_end, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_remove_tool(server, fmcp_text_of("tool"), NULL) == FMCP_STATUS_OK);
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    CHECK(holds(client_ask(client, CALL_TOOL("1", "tool", "{}")), "Method not found: tools/call"));
    fmcp_server_free(server);
    CHECK(tool.destroyed == 1);
    CHECK(client_line(client)[0] == '\0');
    close(client->input);
    close(client->output);
    free(client);
}

int main(void) {
    handlers_own_their_user_data();
    handlers_of_every_kind();
    a_client_is_asked();
    a_question_without_an_answer();
    a_server_serves_once();
    freeing_ends_a_server();
    client_threads_end();
    return check_report("server");
}
