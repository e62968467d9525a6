// The C++ layer: what stands round calls, and what is told of notifications.
#include "throwing.hpp"

#include <mutex>

static void middleware_stands_round_calls() {
    auto client = std::make_unique<struct client>();
    int living = 0;
    std::mutex lock;
    std::string seen;
    const auto note = [&](std::string_view text) {
        const std::lock_guard<std::mutex> guard(lock);
        seen += std::string(text) + ";";
    };
    {
        Server server("cpp", "1");
        const Living captured(living);
        server.tool(TOOL("ok"), [](Call &) { return "done"; });
        // Of both functions, of one, and of the other.
        server.middleware(
            [&, captured](Call &call) {
                note("in " + std::string(call.name().value_or("")));
                CHECK(thrown([&] { call.respond("no"); }) == FMCP_STATUS_STATE);
            },
            [&, captured](const Call &call, const ferromcp::CallOutcome &outcome) {
                CHECK(call.method() == "tools/call" && outcome.bytes > 0 && outcome.duration.count() >= 0);
                CHECK(thrown([&] { call.refuse("no"); }) == FMCP_STATUS_STATE);
                note("out " + std::to_string(outcome.end) + (outcome.refused ? " refused " : " ") +
                     std::to_string(outcome.error_code) + (outcome.refused ? "" : std::string(outcome.text.value_or(""))));
                throw 7; // Nobody hears of it.
            },
            true);
        server.middleware([](Call &call) {
            const auto wanted = call.argument("by");
            if (wanted == R"("text")") {
                throw std::runtime_error("not now");
            } else if (wanted == R"("code")") {
                throw ferromcp::MCPError(17, "no", "[1]");
            } else if (wanted == R"("odd")") {
                throw 7;
            } else if (wanted == R"("wait")") {
                call.refuse("busy.", 1500);
            }
        });
        server.middleware(nullptr, [&](const Call &, const ferromcp::CallOutcome &outcome) {
            CHECK(outcome.end == FMCP_END_RESULT);
            note("inner");
        });
        CHECK(living == 3);
        CHECK(thrown([&] { server.middleware(nullptr); }) == FMCP_STATUS_INVALID_ARGUMENT);
        server.on_notification("own/poke", [&, captured](std::optional<std::string_view> params) {
            note(params ? *params : "nothing");
            throw 7;
        });
        CHECK(living == 4);
        client_start(client.get(), server.get());
        CHECK(thrown([&] { server.middleware([captured](Call &) {}); }) == FMCP_STATUS_STATE);
        CHECK(living == 4);
        const auto says = [&](const char *request, const char *text) {
            CHECK(holds(client_ask(client.get(), request), text));
        };
        // What is told after an answer is waited for.
        const auto noted = [&](std::string_view all) {
            for (int waited = 0; waited < DEADLINE_MS; waited++) {
                {
                    const std::lock_guard<std::mutex> guard(lock);
                    if (seen == all) {
                        seen.clear();
                        return true;
                    }
                }
                poll(nullptr, 0, 1);
            }
            std::fprintf(stderr, "noted: %s\n", seen.c_str());
            return false;
        };
        says(CALL_TOOL("1", "ok", "{}"), "\"text\":\"done\"");
        CHECK(noted("in ok;inner;out 1 0done;"));
        says(CALL_TOOL("2", "ok", "{\"by\":\"text\"}"), "\"text\":\"not now\"");
        CHECK(noted("in ok;out 2 refused 0;"));
        says(CALL_TOOL("3", "ok", "{\"by\":\"code\"}"), "\"error\":{\"code\":17,\"message\":\"no\",\"data\":[1]}");
        CHECK(noted("in ok;out 3 refused 17;"));
        says(CALL_TOOL("4", "ok", "{\"by\":\"odd\"}"), "no std::exception.");
        CHECK(noted("in ok;out 2 refused 0;"));
        says(CALL_TOOL("5", "ok", "{\"by\":\"wait\"}"), "\"ferromcp/retryAfterMs\":1500");
        CHECK(noted("in ok;out 2 refused 0;"));
        client_send(client.get(), "{\"jsonrpc\":\"2.0\",\"method\":\"own/poke\",\"params\":{\"n\":1}}\n"
                                  "{\"jsonrpc\":\"2.0\",\"method\":\"own/poke\"}\n");
        CHECK(noted("{\"n\":1};nothing;"));
        client_end(client.get(), server.get());
        CHECK(living == 4);
    }
    CHECK(living == 0);
}

int main() {
    middleware_stands_round_calls();
    client_threads_end();
    return check_report("middleware");
}
