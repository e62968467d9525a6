/* What can be said of a server beside its handlers: definitions that are hidden, a policy, pages; and what `_meta` says. */
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
    CHECK(fmcp_server_add_resource_template(
              server, fmcp_text_of("{\"uriTemplate\":\"mem://of/{x}\",\"name\":\"t\",\"mimeType\":\"text/markdown\"}"), say, text, NULL,
              NULL) == FMCP_STATUS_OK);
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
    /* What kind of text it is stands in the definition, or nowhere. */
    CHECK(holds(client_ask(client, REQUEST("2", "resources/read", "\"uri\":\"mem://a\"", MODERN)),
                "[{\"uri\":\"mem://a\",\"text\":\"here\"}]"));
    CHECK(holds(client_ask(client, REQUEST("3", "resources/read", "\"uri\":\"mem://of/1\"", MODERN)),
                "[{\"uri\":\"mem://of/1\",\"mimeType\":\"text/markdown\",\"text\":\"here\"}]"));
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

static void handlers_may_log_unless_something_else_is_said(void) {
    static const struct {
        const char *config;
        bool logs;
    } CASES[] = {
        {"{\"info\":{\"name\":\"test\",\"version\":\"1\"}}", true},
        {"{\"info\":{\"name\":\"test\",\"version\":\"1\"},\"capabilities\":{}}", false},
        {"{\"info\":{\"name\":\"test\",\"version\":\"1\"},\"capabilities\":{\"logging\":{}}}", true},
    };
    static struct client client;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        fmcp_server *server = NULL;
        CHECK(fmcp_server_from_config(fmcp_text_of(CASES[i].config), &server, NULL) == FMCP_STATUS_OK);
        client_start(&client, server);
        CHECK(holds(client_ask(&client, REQUEST("1", "server/discover", "\"x\":1", MODERN)), "\"logging\":{}") == CASES[i].logs);
        client_end(&client, server);
        fmcp_server_free(server);
    }
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

static void a_page_is_a_resource_that_its_tool_points_at(void) {
    static struct client client;
    const fmcp_text uri = fmcp_text_of("ui://clock/view.html"), name = fmcp_text_of("Clock"), html = fmcp_text_of("<p>12:00</p>");
    const char *tool = "{\"name\":\"time\",\"inputSchema\":{\"type\":\"object\"},"
                       "\"_meta\":{\"ui\":{\"resourceUri\":\"ui://clock/view.html\"}}}";
    fmcp_server *server = make();
    fmcp_error *error = NULL;
    enable_all(server, false);
    CHECK(fmcp_server_add_app_view(server, fmcp_text_of("https://example.com/"), name, html, FMCP_NONE, &error) ==
          FMCP_STATUS_INVALID_ARGUMENT);
    const fmcp_text text = fmcp_error_text(error);
    snprintf(client.line, sizeof client.line, "%.*s", (int)text.len, text.data);
    CHECK(holds(client.line, "ui://"));
    fmcp_error_free(error);
    CHECK(fmcp_server_add_app_view(server, uri, name, html, fmcp_text_of("[]"), NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_server_add_app_view(server, uri, name, html, fmcp_text_of("{\"prefersBorder\":true}"), NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_app_view(server, uri, name, html, FMCP_NONE, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(tool), say, NULL, NULL, NULL) == FMCP_STATUS_OK);
    client_start(&client, server);
    CHECK(fmcp_server_add_app_view(server, fmcp_text_of("ui://late"), name, html, FMCP_NONE, NULL) == FMCP_STATUS_STATE);
    CHECK(holds(client_ask(&client, REQUEST("1", "server/discover", "\"x\":1", MODERN)),
                "\"extensions\":{\"io.modelcontextprotocol/ui\":{}}"));
    CHECK(holds(client_ask(&client, REQUEST("2", "resources/list", "\"x\":1", MODERN)), "\"mimeType\":\"text/html;profile=mcp-app\""));
    CHECK(holds(client.line, "\"name\":\"Clock\"") && holds(client.line, "\"_meta\":{\"ui\":{\"prefersBorder\":true}}"));
    /* What was hidden before is hidden in the new engine too. */
    CHECK(strstr(client.line, "mem://a") == NULL);
    CHECK(holds(client_ask(&client, REQUEST("3", "resources/read", "\"uri\":\"ui://clock/view.html\"", MODERN)), "\"text\":\"<p>12:00</p>\""));
    CHECK(holds(client.line, "\"mimeType\":\"text/html;profile=mcp-app\"") && holds(client.line, "{\"ui\":{\"prefersBorder\":true}}"));
    CHECK(holds(client_ask(&client, REQUEST("4", "tools/list", "\"x\":1", MODERN)), "{\"ui\":{\"resourceUri\":\"ui://clock/view.html\"}}"));
    client_end(&client, server);
    fmcp_server_free(server);
}

/* Answers with the request's `_meta` in the result's own. */
static void mirror(fmcp_call *call, void *user_data) {
    char meta[512], result[1024];
    const fmcp_text given = fmcp_call_meta(call);
    snprintf(meta, sizeof meta, "{\"vendor/seen\":%.*s}", (int)given.len, given.data);
    if (user_data == NULL) {
        CHECK(fmcp_call_respond_tool(call, FMCP_NONE, FMCP_NONE, false, fmcp_text_of(meta), NULL) == FMCP_STATUS_OK);
        return;
    }
    snprintf(result, sizeof result, "{\"%s\":[],\"_meta\":%s}", (const char *)user_data, meta);
    CHECK(fmcp_call_respond_result(call, fmcp_text_of(result), NULL) == FMCP_STATUS_OK);
}

static void meta_goes_both_ways(void) {
    static struct client client;
    static char contents[] = "contents", messages[] = "messages";
    fmcp_server *server = NULL;
    CHECK(fmcp_server_new(fmcp_text_of("meta"), fmcp_text_of("1"), &server, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("tool")), mirror, NULL, NULL, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_resource(server, fmcp_text_of("{\"uri\":\"mem://a\",\"name\":\"a\"}"), mirror, contents, NULL, NULL) ==
          FMCP_STATUS_OK);
    CHECK(fmcp_server_add_prompt(server, fmcp_text_of("{\"name\":\"p\"}"), mirror, messages, NULL, NULL) == FMCP_STATUS_OK);
    client_start(&client, server);
    const char *seen = "\"_meta\":{\"vendor/seen\":{\"vendor/x\":[5],";
    CHECK(holds(client_ask(&client, REQUEST("1", "tools/call", "\"name\":\"tool\"", "\"vendor/x\":[5]," MODERN)), seen));
    CHECK(holds(client_ask(&client, REQUEST("2", "resources/read", "\"uri\":\"mem://a\"", "\"vendor/x\":[5]," MODERN)), seen));
    CHECK(holds(client_ask(&client, REQUEST("3", "prompts/get", "\"name\":\"p\"", "\"vendor/x\":[5]," MODERN)), seen));
    client_end(&client, server);
    fmcp_server_free(server);
}

int main(void) {
    a_page_is_a_resource_that_its_tool_points_at();
    meta_goes_both_ways();
    definitions_are_hidden_and_shown();
    handlers_may_log_unless_something_else_is_said();
    a_policy_limits();
    a_policy_that_can_not_be_stops_the_start();
    client_threads_end();
    return check_report("settings");
}
