// An MCP server in C++ whose tool takes its time: it asks the user, and its result can be fetched later, by another client or after
// the server was started again. Clients that take tasks get one at once; others wait for the answer, from the same function.
//
//     cpp_tasks tasks.db        an MCP client speaks to it on stdin and stdout
//
// Tasks are kept in the file: what had ended when the process was killed has its result, what still ran has failed. Around each
// call stands a function that writes to stderr what became of it.
#include <ferromcp.hpp>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

using ferromcp::Call;

static void define(ferromcp::Server &server) {
    server.tool(R"({"name":"write_report","description":"Write a report, if the user agrees","inputSchema":{"type":"object",
                    "properties":{"topic":{"type":"string","maxLength":100},
                                  "pages":{"type":"integer","minimum":1,"maximum":20}},"required":["topic","pages"]},
                    "execution":{"taskSupport":"optional"}})",
                [](Call &call) {
                    const auto topic = std::string(call.string("topic"));
                    const auto pages = call.integer("pages");
                    const auto question = "Write " + std::to_string(pages) + " pages on " + topic + "?";
                    // In a task the question stands in the task until its client answers. An older client gets a request, and has
                    // a minute.
                    const auto answer = call.elicit(question, R"({"type":"object","properties":{}})", "agreed", 60000);
                    if (answer.action != FMCP_ACTION_ACCEPT) {
                        throw std::runtime_error("No report: the user wants none.");
                    }
                    std::string text;
                    for (std::int64_t page = 1; page <= pages && !call.is_cancelled(); page++) {
                        text += (page > 1 ? "\nPage " : "Page ") + std::to_string(page) + " on " + topic;
                        // Of a task the client reads this as its status message.
                        call.report_progress(static_cast<double>(page), static_cast<double>(pages),
                                             "page " + std::to_string(page) + " is written");
                    }
                    return text;
                });
    // Without a task, the call waits for its client in this process, so that nothing is written twice.
    server.set_reentry(FMCP_TARGET_TOOL, "write_report", FMCP_REENTRY_HELD);

    // Becomes a task only where there is much to do, and where its client takes tasks.
    server.tool(R"({"name":"count","description":"Count","inputSchema":{"type":"object","properties":{"to":
                    {"type":"integer","minimum":0,"maximum":1000000}},"required":["to"]}})",
                [](Call &call) {
                    const auto to = call.integer("to");
                    if (to > 100) {
                        call.begin_task();
                    }
                    std::int64_t reached = 0;
                    while (reached < to && !call.is_cancelled()) {
                        reached++;
                    }
                    return "counted to " + std::to_string(reached);
                });

    // Says what became of each call.
    server.middleware(nullptr, [](const Call &call, const ferromcp::CallOutcome &outcome) {
        const std::string name(call.name().value_or("")), task(call.task_id().value_or("none"));
        std::fprintf(stderr, "%s: %s in %lld us, task: %s\n", name.c_str(), outcome.end == FMCP_END_RESULT ? "done" : "not done",
                     static_cast<long long>(outcome.duration.count()), task.c_str());
    });
}

int main(int argc, char **argv) {
    try {
        auto server = ferromcp::Server::from_config(
            R"({"info":{"name":"reports","version":"1.0"},"tasks":{"ttlMs":86400000,"pollMs":200}})");
        define(server);
        if (argc > 1) {
            server.set_task_store("sqlite:" + std::string(argv[1]));
        }
        server.run_stdio();
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
