// An MCP server in C++ with a loop of its own: poll() reads and keeps the time, one thread does everything. The library is
// fed with bytes and with the time, and says what to send. A tool that takes long keeps its call and goes on with it when
// the loop comes round.
#include <ferromcp.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

using ferromcp::Call;

// Milliseconds on a clock that never goes back.
static std::uint64_t now() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

static void write_all(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
        if (written < 0 && errno != EINTR) {
            throw std::runtime_error("the client does not read any more");
        }
        text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
}

class Loop {
public:
    Loop() : engine_(R"({"info":{"name":"cpp-own-loop","version":")" FMCP_VERSION R"("}})") {
        engine_.add_tool(R"({"name":"echo","description":"Give the text back","inputSchema":{"type":"object",
                             "properties":{"text":{"type":"string"}},"required":["text"]}})",
                         Echo, now());
        engine_.add_tool(R"({"name":"count","description":"Count to n, one step each 10 ms, and tell of each",
                             "inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}})",
                         Count, now());
        engine_.add_resource(R"({"uri":"example://about","name":"about"})", About, now());
        engine_.add_prompt(R"({"name":"greet","arguments":[{"name":"name","required":true}]})", Greet, now());
    }

    void run() {
        const auto stream = engine_.open(now());
        bool open = true;
        std::vector<char> buffer(65536);
        while (!drained_) {
            // Calls come out first, then what is said to them.
            take_outputs();
            const auto step = go_on_counting();
            take_outputs();
            if (drained_) {
                break;
            }
            const auto due = std::min(step, engine_.poll_timeout().value_or(UINT64_MAX)), time = now();
            const auto wait = due == UINT64_MAX ? -1 : static_cast<int>(std::min<std::uint64_t>(due - std::min(due, time), 60000));
            pollfd input = {open ? STDIN_FILENO : -1, POLLIN, 0};
            poll(&input, 1, wait);
            if (input.revents != 0) {
                const ssize_t length = read(STDIN_FILENO, buffer.data(), buffer.size());
                if (length > 0) {
                    engine_.receive(stream, {buffer.data(), static_cast<std::size_t>(length)}, now());
                } else if (length == 0 || errno != EINTR) {
                    open = false;
                    engine_.end_of_input(stream, now());
                }
            }
            engine_.handle_timeout(now());
        }
    }

private:
    enum Tag : std::uint64_t { Echo, Count, About, Greet };

    // A call that is answered later.
    struct Counting {
        Call call;
        std::int64_t step, last;
        std::uint64_t due;
    };

    void take_outputs() {
        while (const auto output = engine_.poll()) {
            switch (output->event()) {
            case FMCP_EVENT_TRANSMIT:
                write_all(output->text());
                break;
            case FMCP_EVENT_CALL:
                try {
                    answer(output->call());
                } catch (const ferromcp::Error &error) {
                    output->call().fail(FMCP_CODE_INVALID_PARAMS, error.what());
                }
                break;
            case FMCP_EVENT_DRAINED:
                drained_ = true;
                break;
            default:
                break; // Events that this server has no use for.
            }
        }
    }

    void answer(Call call) {
        switch (call.tag()) {
        case Echo:
            call.respond(call.string("text"));
            break;
        case Count: {
            const auto last = call.integer("n");
            counting_.push_back({std::move(call), 0, last, now()});
            break;
        }
        case About:
            call.respond("An example server of FerroMCP.");
            break;
        case Greet:
            call.respond(call.string("name"));
            break;
        default:
            break; // Nothing else was added. An unanswered call gets an error when it is let go.
        }
    }

    // Does the next step of every count that is due; gives the time of the next one.
    std::uint64_t go_on_counting() {
        auto next = UINT64_MAX;
        const auto ends = [&](Counting &count) {
            if (count.due <= now()) {
                count.step++;
                count.due += 10;
                count.call.report_progress(static_cast<double>(count.step), static_cast<double>(count.last));
            }
            if (count.step >= count.last || count.call.is_cancelled()) {
                count.call.respond(std::to_string(count.step));
                return true;
            }
            next = std::min(next, count.due);
            return false;
        };
        counting_.erase(std::remove_if(counting_.begin(), counting_.end(), ends), counting_.end());
        return next;
    }

    ferromcp::Engine engine_;
    std::vector<Counting> counting_;
    bool drained_ = false;
};

int main() {
    try {
        Loop().run();
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
