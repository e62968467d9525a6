// HTTP in C++: a listener, and requests that the program brings by itself.
#include "throwing.hpp"

#include "http_client.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

namespace {

const char QUICK[] = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"quick","arguments":{},"_meta":{)"
                     MODERN "}}}";

ferromcp::Server make() {
    ferromcp::Server server("test", "1");
    server.tool(TOOL("quick"), [](ferromcp::Call &call) {
        return call.close_sse_stream() ? std::string("closed") : "quick for " + std::string(call.principal().value_or("nobody"));
    });
    return server;
}

ferromcp::HttpHeaders headers(std::string_view host) {
    return {{"Host", host},
            {"Content-Type", "application/json"},
            {"Accept", "application/json, text/event-stream"},
            {"MCP-Protocol-Version", "2026-07-28"},
            {"Mcp-Method", "tools/call"},
            {"Mcp-Name", "quick"}};
}

void a_listener() {
    ferromcp::Server server = make();
    CHECK(server.port() == 0 && !server.address());
    CHECK(thrown([&] { server.run_http(R"({"prot":1})"); }) == FMCP_STATUS_INVALID_ARGUMENT);
    server = make();
    server.start_http(R"({"port":0,"announce":false})");
    CHECK(server.address() == "127.0.0.1:" + std::to_string(server.port()));
    http *answer = http_send(server.port(), "POST", POST_OF("tools/call", "quick"), QUICK);
    CHECK(answer->status == 200 && holds(http_body(answer), "\"text\":\"quick for nobody\""));
    http_close(answer);
    server.stop();
    server.wait();
}

void by_functions() {
    ferromcp::Server server = make();
    CHECK(thrown([&] { ferromcp::Http::admit(server, "POST", "/mcp", {}); }) == FMCP_STATUS_STATE);
    server.start_carrier();

    auto refused = ferromcp::Http::admit(server, "POST", "/mcp", headers("evil.example"));
    CHECK(refused.body_limit() == 0);
    refused.serve();
    auto part = refused.next();
    CHECK(part && part->status() == 403 && part->is_last() && !part->is_aborted());

    auto asked = ferromcp::Http::admit(server, "POST", "/mcp", headers("localhost"), "anna");
    CHECK(asked.body_limit() == 4u << 20);
    CHECK(thrown([&] { asked.next(0); }) == FMCP_STATUS_STATE);
    std::mutex lock;
    std::condition_variable told;
    int times = 0;
    asked.on_ready([&] {
        const std::lock_guard<std::mutex> guard(lock);
        times++;
        told.notify_all();
    });
    asked.serve(QUICK);
    while (!(part = asked.next(0))) {
        std::unique_lock<std::mutex> guard(lock);
        CHECK(told.wait_for(guard, std::chrono::milliseconds(DEADLINE_MS), [&] { return times > 0; }));
        times = 0;
    }
    CHECK(part->status() == 200 && part->is_last() && holds(std::string(part->body()).c_str(), "\"text\":\"quick for anna\""));
    bool has_type = false;
    for (const auto &[name, value] : part->headers()) {
        has_type = has_type || (name == "content-type" && value == "application/json");
    }
    CHECK(has_type);
    CHECK(thrown([&] { asked.next(); }) == FMCP_STATUS_STATE);

    // What a function throws is lost, and a request can be moved.
    auto moved = std::move(asked);
    moved.on_ready([] { throw 7; });
    CHECK(moved.get() != nullptr && asked.get() == nullptr);
}

} // namespace

int main() {
    a_listener();
    by_functions();
    client_threads_end();
    return check_report("cpp_http");
}
