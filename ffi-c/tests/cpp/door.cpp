// The C++ layer: lifetimes, handlers, exceptions, both styles.
#include "ferromcp.hpp"

// Included twice on purpose: the guard has to hold.
#include "ferromcp.hpp"

#include "throwing.hpp"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

using ferromcp::Engine;

static_assert(std::is_nothrow_move_constructible_v<Server> && !std::is_copy_constructible_v<Server>);
static_assert(std::is_nothrow_move_constructible_v<Engine> && !std::is_copy_constructible_v<Engine>);
static_assert(std::is_nothrow_move_constructible_v<Call> && !std::is_copy_constructible_v<Call>);
static_assert(std::is_nothrow_move_assignable_v<ferromcp::Output> && !std::is_copy_assignable_v<ferromcp::Output>);
static_assert(std::is_nothrow_move_constructible_v<ferromcp::Message>);
static_assert(!std::is_base_of_v<std::exception, ferromcp::Suspended>);

static void handlers_answer_throw_and_keep() {
    int living = 0;
    std::thread worker;
    auto client = std::make_unique<struct client>();
    {
        Server server("cpp", "1");
        const Living captured(living);
        server.tool(TOOL("text"), [captured](Call &call) { return std::string(call.string("text")) + "!"; });
        server.tool(TOOL("literal"), [](Call &) { return "literal"; });
        server.tool(TOOL("throws"), [](Call &) { throw std::runtime_error("why"); });
        server.tool(TOOL("odd"), [](Call &) { throw 7; });
        server.tool(TOOL("protocol"), [](Call &) { throw ferromcp::MCPError(17, "no", "[1]"); });
        server.tool(TOOL("missing"), [](Call &call) { return std::to_string(call.integer("n")); });
        server.tool(TOOL("silent"), [](Call &) {});
        server.tool(TOOL("twice"), [](Call &call) {
            call.respond("first");
            throw std::runtime_error("second");
        });
        server.tool(TOOL("later"), [&worker](Call &call) {
            worker = std::thread([call = std::move(call)] { call.respond("later"); });
        });
        server.tool(TOOL("structured"), [](Call &call) { call.respond_tool(std::nullopt, R"({"n":1})"); });
        server.tool(TOOL("steps"), [](Call &call) {
            call.report_progress(1);
            call.report_progress(2, 3, "two");
            call.log(FMCP_LOG_LEVEL_INFO, "line");
            call.log_json(FMCP_LOG_LEVEL_ERROR, "me", "[]");
            call.notify("notifications/own");
            return std::string();
        });
        server.resource(R"({"uri":"mem://a","name":"a"})", [](Call &call) { return std::string(call.uri()); });
        server.resource_template(R"({"uriTemplate":"mem://of/{x}","name":"t"})",
                                 [](Call &call) { return std::string(call.variable("x").value_or("none")); });
        server.prompt(R"({"name":"prompt","arguments":[{"name":"x"}]})", [](Call &) { throw std::runtime_error("broken"); });
        server.completion("prompt", "x", [](Call &call) {
            call.respond_completion(R"([")" + std::string(call.completion_value()) + R"("])", 1, false);
        });
        CHECK(living == 2);
        // A handler that is refused is destroyed.
        CHECK(thrown([&] { server.tool(TOOL("text"), [captured](Call &) {}); }) == FMCP_STATUS_INVALID_ARGUMENT);
        CHECK(living == 2);
        CHECK(thrown([&] { server.remove_tool("nothing"); }) == FMCP_STATUS_INVALID_ARGUMENT);
        CHECK(thrown([&] { server.wait(); }) == FMCP_STATUS_STATE);

        Server moved = std::move(server);
        client_start(client.get(), moved.get());
        const auto answers = [&](const char *request, const char *text) {
            CHECK(holds(client_ask(client.get(), request), text));
        };
        answers(CALL_TOOL("1", "text", "{\"text\":\"h\\u00e9\"}"), "\"text\":\"h\xc3\xa9!\"");
        answers(CALL_TOOL("2", "literal", "{}"), "\"text\":\"literal\"");
        answers(CALL_TOOL("3", "throws", "{}"), "\"text\":\"why\"}],\"isError\":true");
        answers(CALL_TOOL("4", "odd", "{}"), "no std::exception.\"}],\"isError\":true");
        answers(CALL_TOOL("5", "protocol", "{}"), "\"error\":{\"code\":17,\"message\":\"no\",\"data\":[1]}");
        answers(CALL_TOOL("6", "missing", "{}"), "the argument \\\"n\\\" is not there\"}],\"isError\":true");
        answers(CALL_TOOL("7", "silent", "{}"), "The tool gave no answer.");
        answers(CALL_TOOL("8", "twice", "{}"), "\"text\":\"first\"");
        answers(CALL_TOOL("9", "later", "{}"), "\"text\":\"later\"");
        answers(CALL_TOOL("10", "structured", "{}"), "\"structuredContent\":{\"n\":1}");
        answers(REQUEST("11", "resources/read", "\"uri\":\"mem://a\"", MODERN), "\"text\":\"mem://a\"");
        answers(REQUEST("12", "resources/read", "\"uri\":\"mem://of/7\"", MODERN), "\"text\":\"7\"");
        answers(REQUEST("13", "prompts/get", "\"name\":\"prompt\"", MODERN), "\"error\":{\"code\":-32603,\"message\":\"broken\"}");
        answers(REQUEST("14", "completion/complete", "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"prompt\"},"
                                                     "\"argument\":{\"name\":\"x\",\"value\":\"p\"}", MODERN),
                "\"completion\":{\"values\":[\"p\"],\"total\":1,\"hasMore\":false}");
        answers(REQUEST("15", "tools/call", "\"name\":\"steps\"", PROGRESS), "\"progress\":1}");
        CHECK(holds(client_line(client.get()), "\"progress\":2,\"total\":3,\"message\":\"two\"}"));
        CHECK(holds(client_line(client.get()), "{\"level\":\"info\",\"data\":\"line\"}"));
        CHECK(holds(client_line(client.get()), "{\"level\":\"error\",\"logger\":\"me\",\"data\":[]}"));
        CHECK(holds(client_line(client.get()), "\"method\":\"notifications/own\"}"));
        CHECK(holds(client_line(client.get()), "\"text\":\"\""));
        client_end(client.get(), moved.get());
        worker.join();
        CHECK(living == 2);
    }
    CHECK(living == 0);
}

static void a_client_is_asked() {
    auto client = std::make_unique<struct client>();
    Server server = Server::from_config(R"({"info":{"name":"cpp","version":"1"},"extraMethods":["own/method"]})");
    server.tool(TOOL("ask"), [](Call &call) {
        call.request("roots/list", std::nullopt, [share = call.share()](const ferromcp::Response &response) {
            if (const auto result = response.result()) {
                share.respond(*result);
            } else {
                CHECK(response.outcome() == FMCP_OUTCOME_ERROR);
                share.fail(response.error_code(), response.error_message());
            }
        });
    });
    server.delegate([](Call &call) { call.respond_result("{}"); });
    client_start(client.get(), server.get());
    CHECK(holds(client_ask(client.get(), CALL_TOOL("1", "ask", "{}")), "\"isError\":true"));
    CHECK(holds(client_ask(client.get(), REQUEST("2", "own/method", "\"a\":1", MODERN)), "\"id\":2,\"result\":{"));
    CHECK(holds(client_ask(client.get(), "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
                                         "\"2025-11-25\",\"capabilities\":{\"roots\":{}},"
                                         "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n"), "\"id\":3"));
    client_send(client.get(), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
                              "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"ask\"}}\n");
    CHECK(holds(client_line(client.get()), "\"id\":0,\"method\":\"roots/list\"}"));
    CHECK(holds(client_ask(client.get(), "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":5,\"message\":\"no\"}}\n"),
                "\"id\":4,\"error\":{\"code\":5,\"message\":\"no\"}"));
    client_end(client.get(), server.get());
}

static void handlers_ask() {
    auto client = std::make_unique<struct client>();
    auto line = std::make_unique<char[]>(1 << 14);
    char state[MOST_STATE];
    Server server("cpp", "1");
    std::atomic<int> runs = 0, passed = 0, swallowed = 0;
    server.tool(TOOL("greet"), [&](Call &call) {
        ++runs;
        try {
            const auto [action, content] = call.elicit("Who?", SCHEMA, "who");
            return action == FMCP_ACTION_ACCEPT ? "hello " + *content : std::string("nobody");
        } catch (const std::exception &) {
            ++swallowed;
            throw;
        } catch (const ferromcp::Suspended &) {
            ++passed;
            throw;
        }
    });
    server.tool(TOOL("stubborn"), [](Call &call) {
        try {
            call.list_roots();
        } catch (...) { // It can say what it likes.
        }
        return "late";
    });
    server.tool(TOOL("held"), [&](Call &call) {
        ++runs;
        return call.elicit_url("Pay", "https://example.com/").action == FMCP_ACTION_DECLINE ? "declined" : "else";
    });
    server.set_reentry(FMCP_TARGET_TOOL, "held", FMCP_REENTRY_HELD);
    server.tool(TOOL("several"), [](Call &call) {
        const auto answers = call.ask({{"", "roots/list", ""}, {"m", "sampling/createMessage", R"({"messages":[],"maxTokens":5})"}});
        return answers.at(0).result + answers.at(1).result;
    });
    server.tool(TOOL("sample"), [](Call &call) { return call.sample(R"({"messages":[],"maxTokens":5})"); });
    server.tool(TOOL("refuse"), [](Call &call) { call.fail_capability("roots"); });
    server.tool(TOOL("hand"), [](Call &call) {
        if (!call.request_state()) {
            call.input_required(R"({"who":{"method":"elicitation/create","params":)" FORM "}}", "1");
        } else {
            call.respond(std::string(*call.request_state()) + std::string(*call.input_responses()));
        }
    });
    server.tool(TOOL("errors"), [](Call &call) {
        CHECK(thrown([&] { call.elicit("x", "{"); }) == FMCP_STATUS_INVALID_ARGUMENT);
        CHECK(thrown([&] { call.ask({}); }) == FMCP_STATUS_INVALID_ARGUMENT);
        CHECK(thrown([&] { call.begin_ask({{"", "roots/list", ""}}); }) == FMCP_STATUS_STATE);
        return "checked";
    });
    CHECK(thrown([&] { server.set_reentry(FMCP_TARGET_TOOL, "other", FMCP_REENTRY_HELD); }) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(thrown([&] { server.set_state_keys({"short"}); }) == FMCP_STATUS_INVALID_ARGUMENT);
    server.set_state_keys({});
    client_start(client.get(), server.get());
    const auto asked = [&](const char *request) {
        const char *answer = client_ask(client.get(), request);
        CHECK(holds(answer, "\"resultType\":\"input_required\""));
        state_of(answer, state);
    };
    const auto answers = [&](int id, const char *tool, const char *responses, const char *text) {
        CHECK(holds(client_ask(client.get(), retry(line.get(), id, tool, state, responses)), text));
    };
    asked(CALL_CAPABLE("1", "greet"));
    answers(2, "greet", "{\"who\":" ADA "}", "hello {\\\"name\\\":\\\"Ada\\\"}");
    // The first run may be on its way out still.
    for (int waited = 0; passed == 0 && waited < DEADLINE_MS; waited++) {
        poll(nullptr, 0, 1);
    }
    CHECK(runs == 2 && passed == 1 && swallowed == 0);
    asked(CALL_CAPABLE("3", "greet"));
    answers(4, "greet", "{\"who\":{\"action\":\"decline\"}}", "nobody");
    asked(CALL_CAPABLE("5", "stubborn"));
    runs = 0;
    asked(CALL_CAPABLE("6", "held"));
    answers(7, "held", "{\"input-1\":{\"action\":\"decline\"}}", "declined");
    CHECK(runs == 1);
    asked(CALL_CAPABLE("8", "several"));
    answers(9, "several", "{\"input-1\":{\"roots\":[]},\"m\":" MESSAGE "}", "{\\\"roots\\\":[]}{\\\"role\\\":");
    asked(CALL_CAPABLE("10", "sample"));
    answers(11, "sample", "{\"input-1\":" MESSAGE "}", "\\\"model\\\":\\\"m\\\"");
    asked(CALL_CAPABLE("12", "hand"));
    answers(13, "hand", "{\"who\":" ADA "}", "1{\\\"who\\\":");
    const auto says = [&](const char *request, const char *text) {
        CHECK(holds(client_ask(client.get(), request), text));
    };
    // A capability that is missing leaves the handler as an exception, or is told by it.
    says(CALL_TOOL("14", "greet", "{}"), "\"code\":-32021");
    CHECK(swallowed == 1);
    says(CALL_TOOL("15", "refuse", "{}"), "{\"requiredCapabilities\":{\"roots\":{}}}");
    says(CALL_CAPABLE("16", "errors"), "checked");
    // An older client answers with an error of its own.
    says(LEGACY(ALL), "\"id\":\"i\"");
    client_send(client.get(), INITIALIZED);
    says(LEGACY_CALL("17", "greet"), "\"id\":0,\"method\":\"elicitation/create\"");
    says("{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":5,\"message\":\"no screen\"}}\n", "no screen\"}],\"isError\":true");
    client_end(client.get(), server.get());
}

static void an_own_loop_asks() {
    Engine engine(R"({"info":{"name":"cpp","version":"1"}})");
    char state[MOST_STATE];
    auto line = std::make_unique<char[]>(1 << 14);
    engine.add_tool(TOOL("tool"), 1, 0);
    engine.set_epoch(1800000000000);
    engine.set_state_keys({"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="});
    const auto stream = engine.open(0);
    engine.set_principal(stream, "alice");
    CHECK(thrown([&] { engine.set_principal(99, std::nullopt); }) == FMCP_STATUS_INVALID_ARGUMENT);
    const std::vector<ferromcp::InputRequest> requests = {{"who", "elicitation/create", FORM}};
    const auto sent = [&] {
        auto output = engine.poll();
        CHECK(output && output->event() == FMCP_EVENT_TRANSMIT);
        return output ? std::string(output->text()) : std::string();
    };
    engine.receive(stream, CALL_CAPABLE("1", "tool"), 0);
    bool suspended = false;
    try {
        engine.poll()->call().begin_ask(requests);
    } catch (const ferromcp::Suspended &) {
        suspended = true;
    }
    CHECK(suspended);
    state_of(sent().c_str(), state);
    CHECK(engine.poll()->event() == FMCP_EVENT_CANCELLED);
    engine.receive(stream, retry(line.get(), 2, "tool", state, "{\"who\":" ADA "}"), 0);
    {
        Call call = engine.poll()->call();
        const auto known = call.begin_ask(requests);
        CHECK(known.answers && known.ask == 0 && known.answers->size() == 1);
        CHECK(known.answers->at(0).outcome == FMCP_OUTCOME_RESULT && known.answers->at(0).result == ADA);
        CHECK(known.answers->at(0).elicit.action == FMCP_ACTION_ACCEPT);
        CHECK(known.answers->at(0).elicit.content == R"({"name":"Ada"})");
        call.respond("fine");
    }
    sent();
    engine.receive(stream, CALL_CAPABLE("3", "tool"), 0);
    Call call = engine.poll()->call();
    const auto waiting = call.begin_ask(requests, FMCP_REENTRY_HELD);
    CHECK(!waiting.answers);
    state_of(sent().c_str(), state);
    engine.receive(stream, retry(line.get(), 4, "tool", state, "{\"who\":{\"action\":\"cancel\"}}"), 0);
    const auto output = engine.poll();
    CHECK(output && output->event() == FMCP_EVENT_ANSWERS && output->ask() == waiting.ask && output->key() == call.key());
    const auto answers = output->answers();
    CHECK(answers.size() == 1 && answers[0].elicit.action == FMCP_ACTION_CANCEL && !answers[0].elicit.content);
    CHECK(answers[0].error_code == 0 && answers[0].error_message.empty());
    call.respond("fine");
    engine.receive(stream, CALL_TOOL("5", "tool", "{}"), 0);
    sent();
    try {
        engine.poll()->call().begin_ask(requests);
        CHECK(!"it throws");
    } catch (const ferromcp::CapabilityNotDeclared &error) {
        CHECK(error.capability() == "elicitation.form" && error.status() == FMCP_STATUS_CAPABILITY_NOT_DECLARED);
    }
    CHECK(sent().find("-32021") != std::string::npos);
}

static void stopped_from_a_handler() {
    auto client = std::make_unique<struct client>();
    Server server("cpp", "1");
    server.tool(TOOL("stop"), [&server](Call &call) {
        call.respond("stopping");
        server.stop();
    });
    client_start(client.get(), server.get());
    CHECK(holds(client_ask(client.get(), CALL_TOOL("1", "stop", "{}")), "\"text\":\"stopping\""));
    server.wait();
    CHECK(client_line(client.get())[0] == '\0');
    close(client->input);
    close(client->output);
}

static void an_own_loop() {
    Engine engine(R"({"info":{"name":"cpp","version":"1"},"limits":{"drainMs":50}})");
    engine.add_tool(TOOL("tool"), 7, 0);
    engine.add_resource(R"({"uri":"mem://a","name":"a"})", 8, 0);
    engine.add_resource_template(R"({"uriTemplate":"mem://of/{x}","name":"t"})", 9, 0);
    engine.add_prompt(R"({"name":"prompt"})", 10, 0);
    CHECK(thrown([&] { engine.receive(99, "", 0); }) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(thrown([] { Engine("{"); }) == FMCP_STATUS_INVALID_ARGUMENT);
    const auto stream = engine.open(0);
    engine.receive(stream, CALL_TOOL("0", "tool", "{}"), 1);
    Call given_up = engine.poll()->call();
    CHECK(!given_up.is_cancelled() && !given_up.cancel_reason());
    engine.receive(stream, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                           "\"params\":{\"requestId\":0,\"reason\":\"enough\"}}\n", 1);
    CHECK(engine.poll()->event() == FMCP_EVENT_CANCELLED);
    CHECK(given_up.is_cancelled() && given_up.cancel_reason() == "enough");
    engine.receive(stream, CALL_TOOL("1", "tool", "{\"b\":true,\"n\":1.5}"), 1);
    auto output = engine.poll();
    CHECK(output && output->event() == FMCP_EVENT_CALL && output->stream() == stream);
    Call call = output->call();
    output.reset();
    CHECK(call.tag() == 7 && call.target() == FMCP_TARGET_TOOL && call.method() == "tools/call" && call.id() == "1");
    CHECK(call.boolean("b") && call.number("n") == 1.5 && call.argument("n") == "1.5" && !call.argument("x"));
    CHECK(call.protocol_version() == "2026-07-28" && call.meta() && call.params() && !call.client_info());
    call.respond("fine");
    CHECK(thrown([&] { call.respond("again"); }) == FMCP_STATUS_STATE);
    output = engine.poll();
    CHECK(output && output->event() == FMCP_EVENT_TRANSMIT && output->text().find("\"fine\"") != std::string_view::npos);
    CHECK(!engine.poll());
    CHECK(!engine.poll_timeout() || *engine.poll_timeout() > 0);
    engine.remove_tool("tool", 2);
    engine.remove_resource("mem://a", 2);
    engine.remove_resource_template("mem://of/{x}", 2);
    engine.remove_prompt("prompt", 2);
    engine.resource_updated("mem://a");
    engine.complete_elicitation("e-1");
    engine.handle_timeout(1000);
    engine.end_of_input(stream, 1000);
    bool drained = false;
    while (const auto next = engine.poll()) {
        drained = drained || next->event() == FMCP_EVENT_DRAINED;
    }
    CHECK(drained);
    engine.close(stream, 1000);
    engine.shutdown(1000);
}

static void calls_are_tasks() {
    auto client = std::make_unique<struct client>();
    char id[MOST_ID], line[MOST_LINE];
    std::string told;
    Server server("tasks", "1");
    CHECK(&server.set_task_store("memory").set_policy("{}") == &server);
    CHECK(&server.app_view("ui://a", "a", "<p>").app_view("ui://b", "b", "<p>", R"({"prefersBorder":true})") == &server);
    CHECK(thrown([&] { server.app_view("mem://a", "a", "<p>"); }) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(thrown([&] { server.set_policy(R"({"rates":{}})"); }) == FMCP_STATUS_INVALID_ARGUMENT);
    server.tool(OPTIONAL("job"), [&told](Call &call) {
        told = call.task_id().value_or("none");
        return std::string("done");
    });
    server.tool(TOOL("later"), [](Call &call) {
        CHECK(call.begin_task() == call.task_id().has_value());
        return std::string(call.task_id().has_value() ? "a task" : "no task");
    });
    server.resource(R"({"uri":"mem://a","name":"a"})", [](Call &) { return std::string(); });
    server.resource_template(R"({"uriTemplate":"mem://of/{x}","name":"t"})", [](Call &) { return std::string(); });
    server.prompt(R"({"name":"prompt"})", [](Call &) { return std::string(); });
    server.tool(TOOL("hidden"), [](Call &) { return std::string("here"); });
    server.enable_tool("hidden", false);
    server.enable_resource("mem://a", false);
    server.enable_resource_template("mem://of/{x}", false);
    server.enable_prompt("prompt", false);
    CHECK(thrown([&] { server.enable_tool("nothing", false); }) == FMCP_STATUS_INVALID_ARGUMENT);
    client_start(client.get(), server.get());
    CHECK(thrown([&] { server.set_task_store("memory"); }) == FMCP_STATUS_STATE);
    const auto completed = [&](const char *text) {
        about_task(line, 9, "tasks/get", id, "");
        while (std::strstr(client_ask(client.get(), line), "\"status\":\"working\"") != nullptr) {
        }
        CHECK(holds(client->line, "\"status\":\"completed\"") && holds(client->line, text));
    };
    task_of(client_ask(client.get(), CALL_TASK("1", "job")), id);
    completed("\"text\":\"done\"");
    CHECK(told == id);
    task_of(client_ask(client.get(), CALL_TASK("2", "later")), id);
    completed("\"text\":\"a task\"");
    CHECK(holds(client_ask(client.get(), CALL_TOOL("3", "later", "{}")), "\"text\":\"no task\""));
    CHECK(holds(client_ask(client.get(), CALL_TOOL("4", "hidden", "{}")), "\"code\":-32602"));
    CHECK(holds(client_ask(client.get(), REQUEST("5", "prompts/list", "\"x\":1", MODERN)), "\"prompts\":[]"));
    server.enable_tool("hidden", true);
    CHECK(holds(client_ask(client.get(), CALL_TOOL("6", "hidden", "{}")), "\"text\":\"here\""));
    client_end(client.get(), server.get());
}

static void an_own_loop_has_tasks() {
    char id[MOST_ID];
    // No tool is a task by its definition, so the extension is declared by hand.
    Engine engine(R"({"info":{"name":"test","version":"1"},
                      "capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}})");
    engine.add_tool(TOOL("plain"), 1, 0);
    engine.add_resource(R"({"uri":"mem://a","name":"a"})", 2, 0);
    engine.add_resource_template(R"({"uriTemplate":"mem://of/{x}","name":"t"})", 3, 0);
    engine.add_prompt(R"({"name":"prompt"})", 4, 0);
    engine.enable_resource("mem://a", false, 0);
    engine.enable_resource_template("mem://of/{x}", false, 0);
    engine.enable_prompt("prompt", false, 0);
    CHECK(thrown([&] { engine.enable_tool("nothing", false, 0); }) == FMCP_STATUS_INVALID_ARGUMENT);
    const auto stream = engine.open(0);
    const auto sends = [&](const char *request, const char *text) {
        engine.receive(stream, request, 0);
        const auto output = engine.poll();
        CHECK(output && output->event() == FMCP_EVENT_TRANSMIT && holds(std::string(output->text()).c_str(), text));
    };
    sends(REQUEST("1", "prompts/list", "\"x\":1", MODERN), "\"prompts\":[]");
    sends(REQUEST("2", "resources/list", "\"x\":1", MODERN), "\"resources\":[]");
    sends(REQUEST("3", "resources/templates/list", "\"x\":1", MODERN), "\"resourceTemplates\":[]");
    engine.enable_tool("plain", false, 0);
    sends(CALL_TASK("4", "plain"), "\"code\":-32602");
    engine.enable_tool("plain", true, 0);
    engine.receive(stream, CALL_TASK("5", "plain"), 0);
    const Call call = engine.poll()->call();
    CHECK(!call.task_id() && call.begin_task() && !call.begin_task());
    const auto task = engine.poll();
    CHECK(task && task->event() == FMCP_EVENT_TRANSMIT);
    task_of(std::string(task->text()).c_str(), id);
    const auto begun = engine.poll();
    CHECK(begun && begun->event() == FMCP_EVENT_TASK_BEGUN && begun->key() == fmcp_call_key(call.get()));
    CHECK(begun->text() == id && call.task_id() == id);
    call.respond("done");
}

static void an_older_client_has_so_long() {
    auto client = std::make_unique<struct client>();
    Server server("cpp", "1");
    server.tool(TOOL("hasty"), [](Call &call) {
        const auto none = std::nullopt;
        CHECK(thrown([&] { call.elicit("x", SCHEMA, none, 1); }) == FMCP_STATUS_NO_ANSWER);
        CHECK(thrown([&] { call.elicit_url("x", "https://example.com/", none, 1); }) == FMCP_STATUS_NO_ANSWER);
        CHECK(thrown([&] { call.sample(R"({"messages":[],"maxTokens":5})", none, 1); }) == FMCP_STATUS_NO_ANSWER);
        CHECK(thrown([&] { call.list_roots(none, 1); }) == FMCP_STATUS_NO_ANSWER);
        CHECK(thrown([&] { call.ask({{"", "roots/list", ""}}, 1); }) == FMCP_STATUS_NO_ANSWER);
        return "checked";
    });
    client_start(client.get(), server.get());
    CHECK(holds(client_ask(client.get(), LEGACY(ALL)), "\"id\":\"i\""));
    client_send(client.get(), INITIALIZED LEGACY_CALL("1", "hasty"));
    for (int question = 0; question < 5; question++) {
        CHECK(holds(client_line(client.get()), "\"method\":"));
        CHECK(holds(client_line(client.get()), "\"method\":\"notifications/cancelled\""));
    }
    CHECK(holds(client_line(client.get()), "checked"));
    client_end(client.get(), server.get());
}

static void messages_are_read() {
    const ferromcp::Message message(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
    CHECK(message.kind() == FMCP_KIND_REQUEST && message.id() == "1" && message.method() == "ping" && !message.params());
    try {
        ferromcp::Message("{");
        CHECK(!"it throws");
    } catch (const Error &error) {
        CHECK(error.status() == FMCP_STATUS_PROTOCOL && error.code() == -32700);
    }
}

int main() {
    handlers_answer_throw_and_keep();
    a_client_is_asked();
    handlers_ask();
    an_own_loop_asks();
    stopped_from_a_handler();
    an_own_loop();
    an_older_client_has_so_long();
    calls_are_tasks();
    an_own_loop_has_tasks();
    messages_are_read();
    client_threads_end();
    return check_report("door");
}
