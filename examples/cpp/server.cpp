// An MCP server in C++ on standard input and output, with one of everything: tools, a resource, a resource template, a
// prompt, progress, cancellation, and a question to the user. The library reads, writes and runs the handlers.
#include <ferromcp.hpp>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

using ferromcp::Call;
using std::chrono::milliseconds;

static void define(ferromcp::Server &server) {
    // What a handler returns as text is the answer.
    server.tool(R"({"name":"echo","description":"Give the text back","inputSchema":{"type":"object",
                    "properties":{"text":{"type":"string"}},"required":["text"]}})",
                [](Call &call) { return call.string("text"); });

    // What it throws is the tool's error, for the model to read.
    server.tool(R"({"name":"add","description":"Add two integers","inputSchema":{"type":"object",
                    "properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}})",
                [](Call &call) {
                    const auto a = call.integer("a"), b = call.integer("b");
                    if ((b > 0 && a > INT64_MAX - b) || (b < 0 && a < INT64_MIN - b)) {
                        throw std::overflow_error("the sum does not fit into 64 bits");
                    }
                    return std::to_string(a + b);
                });

    server.tool(R"({"name":"fail","description":"Fail with a message","inputSchema":{"type":"object",
                    "properties":{"msg":{"type":"string"}},"required":["msg"]}})",
                [](Call &call) -> std::string { throw std::runtime_error(std::string(call.string("msg"))); });

    // A handler may block: other calls go on. One that takes its time looks whether it is cancelled.
    server.tool(R"({"name":"slow","description":"Sleep, and stop early when cancelled","inputSchema":{"type":"object",
                    "properties":{"ms":{"type":"integer","minimum":0}},"required":["ms"]}})",
                [](Call &call) {
                    for (auto left = call.integer("ms"); left > 0 && !call.is_cancelled(); left -= 10) {
                        std::this_thread::sleep_for(milliseconds(left < 10 ? left : 10));
                    }
                    return "done";
                });

    // A call may be moved out of its handler and answered later, on another thread.
    server.tool(R"({"name":"later","description":"Answer from another thread","inputSchema":{"type":"object",
                    "properties":{"ms":{"type":"integer","minimum":0}},"required":["ms"]}})",
                [](Call &call) {
                    const milliseconds pause(call.integer("ms"));
                    std::thread([call = std::move(call), pause] {
                        std::this_thread::sleep_for(pause);
                        call.respond("later");
                    }).detach();
                });

    server.tool(R"({"name":"progress","description":"Report progress n times","inputSchema":{"type":"object",
                    "properties":{"n":{"type":"integer","minimum":0}},"required":["n"]}})",
                [](Call &call) {
                    const auto steps = call.integer("n");
                    for (std::int64_t step = 1; step <= steps; step++) {
                        call.report_progress(static_cast<double>(step), static_cast<double>(steps));
                        call.log(FMCP_LOG_LEVEL_DEBUG, "step " + std::to_string(step));
                    }
                    return std::to_string(steps);
                });

    // Asks the user. A modern client is asked by answering its request: then the handler runs again with the answer.
    server.tool(R"({"name":"ask","description":"Ask the user for a name","inputSchema":{"type":"object"}})", [](Call &call) {
        const auto schema = R"({"type":"object","properties":{"name":{"type":"string"}},"required":["name"]})";
        const auto [action, content] = call.elicit("Whom shall I greet?", schema, "name");
        // The form that the user has filled in: {"name":...}.
        return action == FMCP_ACTION_ACCEPT ? *content : "The user does not want to say.";
    });

    // Takes its time. The definition says that calls may be tasks: a client that takes those has its answer at once, and comes
    // for the report later.
    server.tool(R"({"name":"report","description":"Write a report of so many pages","inputSchema":{"type":"object",
                    "properties":{"pages":{"type":"integer","minimum":0}},"required":["pages"]},
                    "execution":{"taskSupport":"optional"}})",
                [](Call &call) {
                    const auto pages = call.integer("pages");
                    for (std::int64_t page = 1; page <= pages && !call.is_cancelled(); page++) {
                        std::this_thread::sleep_for(milliseconds(10));
                        call.report_progress(static_cast<double>(page), static_cast<double>(pages),
                                             "page " + std::to_string(page));
                    }
                    return std::to_string(pages) + " pages";
                });

    server.resource(R"({"uri":"example://about","name":"about","mimeType":"text/plain"})",
                    [](Call &) { return "An example server of FerroMCP."; });

    server.resource_template(R"({"uriTemplate":"example://square/{number}","name":"square"})", [](Call &call) {
        const auto text = call.variable("number").value_or("");
        int number = 0;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
        if (read.ec != std::errc() || read.ptr != text.data() + text.size()) {
            call.fail_not_found();
        } else {
            call.respond(std::to_string(static_cast<long long>(number) * number));
        }
    });

    server.prompt(R"({"name":"greet","description":"Greet someone","arguments":[{"name":"name","required":true}]})",
                  [](Call &call) { return "Greet " + std::string(call.string("name")) + " in one sentence."; });
}

int main() {
    try {
        ferromcp::Server server("cpp-example", FMCP_VERSION);
        define(server);
        server.run_stdio();
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
