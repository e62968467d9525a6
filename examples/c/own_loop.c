/* An MCP server in C with a loop of its own: poll() reads and keeps the time, one thread does everything. The library is
 * fed with bytes and with the time, and says what to send. A tool that takes long keeps its call and goes on with it when
 * the loop comes round. */
#include <ferromcp.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ECHO_TOOL, COUNT_TOOL, ABOUT_RESOURCE, GREET_PROMPT };
enum { MOST_COUNTS = 16 };

static const char CONFIG[] = "{\"info\":{\"name\":\"c-own-loop\",\"version\":\"" FMCP_VERSION "\"}}";

static const char ECHO[] = "{\"name\":\"echo\",\"description\":\"Give the text back\",\"inputSchema\":{\"type\":\"object\","
                           "\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}}";
static const char COUNT[] = "{\"name\":\"count\",\"description\":\"Count to n, one step each 10 ms, and tell of each\","
                            "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"
                            "\"required\":[\"n\"]}}";
static const char ABOUT[] = "{\"uri\":\"example://about\",\"name\":\"about\"}";
static const char GREET[] = "{\"name\":\"greet\",\"arguments\":[{\"name\":\"name\",\"required\":true}]}";

/* A call that is answered later. */
struct count {
    fmcp_call *call; /* NULL: this place is free. */
    int64_t step, last;
    uint64_t due;
};
static struct count counts[MOST_COUNTS];

/* Milliseconds on a clock that never goes back. */
static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

static int write_all(fmcp_text text) {
    while (text.len > 0) {
        const ssize_t written = write(STDOUT_FILENO, text.data, text.len);
        if (written < 0 && errno != EINTR) {
            return -1;
        }
        if (written > 0) {
            text.data += written;
            text.len -= (size_t)written;
        }
    }
    return 0;
}

static void begin_count(fmcp_call *call) {
    int64_t last = 0;
    fmcp_call_integer(call, "n", &last, NULL);
    for (size_t i = 0; i < MOST_COUNTS; i++) {
        if (counts[i].call == NULL) {
            const struct count begun = {fmcp_call_retain(call), 0, last, now()};
            counts[i] = begun;
            return;
        }
    }
    fmcp_call_tool_error(call, fmcp_text_of("too many counts at once"), NULL);
}

/* Does the next step of every count that is due; gives the time of the next one. */
static uint64_t go_on_counting(void) {
    uint64_t next = UINT64_MAX;
    for (struct count *count = counts; count < counts + MOST_COUNTS; count++) {
        if (count->call == NULL) {
            continue;
        }
        if (count->due <= now()) {
            count->step++;
            count->due += 10;
            fmcp_call_report_progress(count->call, (double)count->step, (double)count->last, FMCP_NONE, NULL);
        }
        if (count->step >= count->last || fmcp_call_is_cancelled(count->call)) {
            char text[32];
            snprintf(text, sizeof text, "%" PRId64, count->step);
            fmcp_call_respond_text(count->call, fmcp_text_of(text), NULL);
            fmcp_call_free(count->call);
            count->call = NULL;
        } else if (count->due < next) {
            next = count->due;
        }
    }
    return next;
}

static void answer(fmcp_call *call) {
    fmcp_text text = FMCP_NONE;
    switch (fmcp_call_tag(call)) {
    case ECHO_TOOL:
        fmcp_call_string(call, "text", &text, NULL);
        fmcp_call_respond_text(call, text, NULL);
        break;
    case COUNT_TOOL:
        begin_count(call);
        break;
    case ABOUT_RESOURCE:
        fmcp_call_respond_text(call, fmcp_text_of("An example server of FerroMCP."), NULL);
        break;
    case GREET_PROMPT:
        fmcp_call_string(call, "name", &text, NULL);
        fmcp_call_respond_text(call, text, NULL);
        break;
    default:
        break; /* Nothing else was added. An unanswered call gets an error when it is let go. */
    }
}

/* Takes all outputs. 1: everything is answered, the end; -1: the client does not read any more. */
static int take_outputs(fmcp_engine *engine) {
    int result = 0;
    fmcp_output *output = NULL;
    while (result >= 0 && fmcp_engine_poll(engine, &output, NULL) == FMCP_STATUS_OK && output != NULL) {
        switch (fmcp_output_event(output)) {
        case FMCP_EVENT_TRANSMIT:
            result = write_all(fmcp_output_text(output)) < 0 ? -1 : result;
            break;
        case FMCP_EVENT_CALL:
            answer(fmcp_output_call(output));
            break;
        case FMCP_EVENT_DRAINED:
            result = 1;
            break;
        default:
            break; /* Events that this server has no use for. */
        }
        fmcp_output_free(output);
    }
    return result;
}

static int serve(fmcp_engine *engine) {
    uint32_t stream = 0;
    char buffer[65536];
    int open = fmcp_engine_open(engine, now(), &stream, NULL) == FMCP_STATUS_OK;
    for (;;) {
        /* Calls come out first, then what is said to them. */
        int state = take_outputs(engine);
        const uint64_t step = go_on_counting();
        state = state != 0 ? state : take_outputs(engine);
        if (state != 0) {
            return state < 0;
        }
        const uint64_t timeout = fmcp_engine_poll_timeout(engine);
        const uint64_t due = step < timeout ? step : timeout;
        const uint64_t time = now();
        struct pollfd input = {open ? STDIN_FILENO : -1, POLLIN, 0};
        poll(&input, 1, due == UINT64_MAX ? -1 : due <= time ? 0 : (int)(due - time < 60000 ? due - time : 60000));
        if (input.revents != 0) {
            const ssize_t length = read(STDIN_FILENO, buffer, sizeof buffer);
            if (length > 0) {
                fmcp_engine_receive(engine, stream, (const uint8_t *)buffer, (size_t)length, now(), NULL);
            } else if (length == 0 || errno != EINTR) {
                open = 0;
                fmcp_engine_end_of_input(engine, stream, now(), NULL);
            }
        }
        fmcp_engine_handle_timeout(engine, now(), NULL);
    }
}

int main(void) {
    fmcp_engine *engine = NULL;
    fmcp_error *error = NULL;
    const int ready = fmcp_engine_new(fmcp_text_of(CONFIG), &engine, &error) == FMCP_STATUS_OK &&
                      fmcp_engine_add_tool(engine, fmcp_text_of(ECHO), ECHO_TOOL, 0, &error) == FMCP_STATUS_OK &&
                      fmcp_engine_add_tool(engine, fmcp_text_of(COUNT), COUNT_TOOL, 0, &error) == FMCP_STATUS_OK &&
                      fmcp_engine_add_resource(engine, fmcp_text_of(ABOUT), ABOUT_RESOURCE, 0, &error) == FMCP_STATUS_OK &&
                      fmcp_engine_add_prompt(engine, fmcp_text_of(GREET), GREET_PROMPT, 0, &error) == FMCP_STATUS_OK;
    if (!ready) {
        const fmcp_text text = fmcp_error_text(error);
        fprintf(stderr, "%.*s\n", (int)text.len, text.data);
        fmcp_error_free(error);
    }
    const int result = ready ? serve(engine) : 1;
    for (size_t i = 0; i < MOST_COUNTS; i++) {
        fmcp_call_free(counts[i].call);
    }
    fmcp_engine_free(engine);
    return result;
}
