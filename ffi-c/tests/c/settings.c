/* What can be said of a server beside its handlers: definitions that are hidden, and a policy. */
#include "client.h"

#define CALL(id) CALL_TOOL(id, "tool", "{}")

static void say(fmcp_call *call, void *user_data) {
    fmcp_call_respond_text(call, fmcp_text_of((const char *)user_data), NULL);
}

static fmcp_server *make(void) {
    static char text[] = "here";
    fmcp_server *server = NULL;
    CHECK(fmcp_server_new(fmcp_text_of("settings"), fmcp_text_of("1"), &server, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("tool")), say, text, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_resource(server, fmcp_text_of("{\"uri\":\"mem://a\",\"name\":\"a\"}"), say, text, NULL, NULL) ==
          FMCP_STATUS_OK);
    CHECK(fmcp_server_add_resource_template(server, fmcp_text_of("{\"uriTemplate\":\"mem://of/{x}\",\"name\":\"t\"}"), say, text,
                                            NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_prompt(server, fmcp_text_of("{\"name\":\"prompt\",\"arguments\":[{\"name\":\"x\"}]}"), say, text, NULL,
                                 NULL) == FMCP_STATUS_OK);
    return server;
}

static void enable_all(fmcp_server *server, bool enabled) {
    CHECK(fmcp_server_enable_tool(server, fmcp_text_of("tool"), enabled, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_enable_resource(server, fmcp_text_of("mem://a"), enabled, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_enable_resource_template(server, fmcp_text_of("mem://of/{x}"), enabled, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_enable_prompt(server, fmcp_text_of("prompt"), enabled, NULL) == FMCP_STATUS_OK);
}

static void all_are_hidden(struct client *client) {
    CHECK(holds(client_ask(client, CALL("1")), "\"error\":{\"code\":-32602"));
    CHECK(holds(client_ask(client, REQUEST("2", "tools/list", "\"x\":1", MODERN)), "\"tools\":[]"));
    CHECK(holds(client_ask(client, REQUEST("3", "resources/list", "\"x\":1", MODERN)), "\"resources\":[]"));
    CHECK(holds(client_ask(client, REQUEST("4", "resources/templates/list", "\"x\":1", MODERN)), "\"resourceTemplates\":[]"));
    CHECK(holds(client_ask(client, REQUEST("5", "prompts/list", "\"x\":1", MODERN)), "\"prompts\":[]"));
    CHECK(holds(client_ask(client, REQUEST("6", "resources/read", "\"uri\":\"mem://of/1\"", MODERN)), "\"error\":"));
}

static void all_are_there(struct client *client) {
    CHECK(holds(client_ask(client, CALL("1")), "\"text\":\"here\""));
    CHECK(holds(client_ask(client, REQUEST("2", "resources/read", "\"uri\":\"mem://a\"", MODERN)), "\"text\":\"here\""));
    CHECK(holds(client_ask(client, REQUEST("3", "resources/read", "\"uri\":\"mem://of/1\"", MODERN)), "\"text\":\"here\""));
    CHECK(holds(client_ask(client, REQUEST("4", "prompts/get", "\"name\":\"prompt\"", MODERN)), "\"text\":\"here\""));
}

static void definitions_are_hidden_and_shown(void) {
    static struct client client;
    fmcp_server *server = make();
    fmcp_error *error = NULL;
    enable_all(server, false);
    /* What needs a new engine inside hides them there too. */
    CHECK(fmcp_server_add_completion(server, fmcp_text_of("prompt"), fmcp_text_of("x"), say, NULL, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_enable_tool(server, fmcp_text_of("nothing"), true, &error) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(TEXT_IS(fmcp_error_text(error), "there is no \"nothing\" to enable or disable"));
    fmcp_error_free(error);
    client_start(&client, server);
    all_are_hidden(&client);
    enable_all(server, true);
    all_are_there(&client);
    enable_all(server, false);
    all_are_hidden(&client);
    CHECK(fmcp_server_enable_prompt(server, fmcp_text_of("nothing"), true, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    /* A hidden one can be removed, and is gone then. */
    CHECK(fmcp_server_remove_tool(server, fmcp_text_of("tool"), NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_enable_tool(server, fmcp_text_of("tool"), true, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    client_end(&client, server);
    fmcp_server_free(server);
}

static void a_policy_limits(void) {
    static struct client client;
    const char *policy = "{\"rateLimits\":{\"few\":{\"calls\":1,\"periodMs\":3600000}}}";
    fmcp_server *server = make();
    fmcp_error *error = NULL;
    CHECK(fmcp_server_set_policy(server, fmcp_text_of("{\"rates\":{}}"), &error) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_error_text(error).len > 0);
    fmcp_error_free(error);
    CHECK(fmcp_server_set_policy(server, FMCP_NONE, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_server_set_policy(server, fmcp_text_of(policy), NULL) == FMCP_STATUS_OK);
    client_start(&client, server);
    CHECK(fmcp_server_set_policy(server, fmcp_text_of(policy), NULL) == FMCP_STATUS_STATE);
    CHECK(holds(client_ask(&client, CALL("1")), "\"text\":\"here\""));
    CHECK(holds(client_ask(&client, CALL("2")), "\"isError\":true"));
    CHECK(holds(client.line, "few") && holds(client.line, "\"ferromcp/retryAfterMs\":"));
    client_end(&client, server);
    fmcp_server_free(server);
}

static void a_policy_that_can_not_be_stops_the_start(void) {
    const struct {
        const char *policy;
        fmcp_status status;
    } cases[] = {
        {"{\"rateLimits\":{\"none\":{\"calls\":0,\"periodMs\":1}}}", FMCP_STATUS_INVALID_ARGUMENT},
        {"{\"audit\":{\"file\":\"/nowhere/at/all/calls.jsonl\"}}", FMCP_STATUS_IO},
    };
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        fmcp_server *server = make();
        CHECK(fmcp_server_set_policy(server, fmcp_text_of(cases[at].policy), NULL) == FMCP_STATUS_OK);
        CHECK(fmcp_server_start_fds(server, 0, 1, FMCP_NONE, NULL) == cases[at].status);
        CHECK(fmcp_server_enable_tool(server, fmcp_text_of("tool"), true, NULL) == FMCP_STATUS_STATE);
        fmcp_server_free(server);
    }
}

int main(void) {
    definitions_are_hidden_and_shown();
    a_policy_limits();
    a_policy_that_can_not_be_stops_the_start();
    client_threads_end();
    return check_report("settings");
}
