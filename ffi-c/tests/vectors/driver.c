/* The C door for a runner in another language: each line on standard input is one call of the library, and its outcome is
 * one line on standard output. Fields are separated by tabs; texts are in hexadecimal, so that any byte can be said, and "-"
 * is no text. Decides nothing: what is sent in which order, and what has to come of it, is the runner's business.
 *
 * Answers: "ok" and results; "refused", status and text of the error; from `poll` also "none", a call, answers or an event. */
#include "driver.h"

static fmcp_engine *engine;

/* An answer of the client's, to the request of a call. Comes while outputs are taken. */
static void answered(const fmcp_response *response, void *user_data) {
    printf("response\t%" PRIu64 "\t%d", fmcp_call_key((fmcp_call *)user_data), (int)fmcp_response_outcome(response));
    say(fmcp_response_result(response));
    printf("\t%" PRId64, fmcp_response_error_code(response));
    say(fmcp_response_error_message(response));
    end_line();
}

static void release(void *user_data) { fmcp_call_free((fmcp_call *)user_data); }

/* Asks what the line holds, three fields for each request. */
static void begin_ask(fmcp_call *call, struct line *line) {
    fmcp_input_request requests[MOST_REQUESTS];
    const size_t count = requests_of(line, requests);
    fmcp_answers *answers = NULL;
    fmcp_error *error = NULL;
    uint64_t ask = 0;
    const fmcp_status status =
        fmcp_call_begin_ask(call, requests, count, (int32_t)signed_number(line, 2), -1, &ask, &answers, &error);
    if (status != FMCP_STATUS_OK) {
        outcome(status, error);
        return;
    }
    printf("ok\t%" PRIu64, ask);
    say_answers(answers);
    fmcp_answers_free(answers);
}

static void poll_engine(void) {
    fmcp_output *output = NULL;
    fmcp_error *error = NULL;
    const fmcp_status status = fmcp_engine_poll(engine, &output, &error);
    if (status != FMCP_STATUS_OK) {
        outcome(status, error);
        return;
    }
    const fmcp_event event = fmcp_output_event(output);
    if (event == FMCP_EVENT_CALL) {
        keep(fmcp_output_call(output));
        say_call(fmcp_output_call(output), fmcp_call_tag(fmcp_output_call(output)));
    } else if (event == FMCP_EVENT_ANSWERS) {
        printf("answers\t%" PRIu64 "\t%" PRIu64, fmcp_output_key(output), fmcp_output_ask(output));
        say_answers(fmcp_output_answers(output));
    } else if (event == FMCP_EVENT_NONE) {
        fputs("none", stdout);
        end_line();
    } else {
        printf("event\t%d\t%" PRIu32 "\t%" PRIu64 "\t%d", (int)event, fmcp_output_stream(output), fmcp_output_key(output),
               (int)fmcp_output_diagnostic(output));
        say(fmcp_output_text(output));
        say(fmcp_output_params(output));
        end_line();
    }
    fmcp_output_free(output);
}

typedef fmcp_status (*add_function)(fmcp_engine *, fmcp_text, uint64_t, uint64_t, fmcp_error **);
typedef fmcp_status (*remove_function)(fmcp_engine *, fmcp_text, uint64_t, fmcp_error **);

/* In the order of the runner's kinds: tools, resources, templates, prompts. */
static const add_function ADD[] = {fmcp_engine_add_tool, fmcp_engine_add_resource, fmcp_engine_add_resource_template,
                                   fmcp_engine_add_prompt};
static const remove_function REMOVE[] = {fmcp_engine_remove_tool, fmcp_engine_remove_resource,
                                         fmcp_engine_remove_resource_template, fmcp_engine_remove_prompt};

/* What concerns the engine; 0 when the verb is another. */
static int engine_verb(const char *verb, struct line *line) {
    fmcp_error *error = NULL;
    if (strcmp(verb, "new") == 0) {
        let_go(NULL);
        fmcp_engine_free(engine);
        engine = NULL;
        const fmcp_status status = fmcp_engine_new(text(line, 1), &engine, &error);
        outcome(status, error);
    } else if (strcmp(verb, "add") == 0) {
        const fmcp_status status =
            ADD[number(line, 1) % 4](engine, text(line, 4), number(line, 2), number(line, 3), &error);
        outcome(status, error);
    } else if (strcmp(verb, "remove") == 0) {
        const fmcp_status status = REMOVE[number(line, 1) % 4](engine, text(line, 3), number(line, 2), &error);
        outcome(status, error);
    } else if (strcmp(verb, "open") == 0) {
        uint32_t stream = 0;
        const fmcp_status status = fmcp_engine_open(engine, number(line, 1), &stream, &error);
        if (status == FMCP_STATUS_OK) {
            printf("ok\t%" PRIu32, stream);
            end_line();
        } else {
            outcome(status, error);
        }
    } else if (strcmp(verb, "receive") == 0) {
        const fmcp_text bytes = text(line, 3);
        const fmcp_status status = fmcp_engine_receive(engine, (uint32_t)number(line, 1), (const uint8_t *)bytes.data,
                                                       bytes.len, number(line, 2), &error);
        outcome(status, error);
    } else if (strcmp(verb, "end") == 0) {
        outcome(fmcp_engine_end_of_input(engine, (uint32_t)number(line, 1), number(line, 2), &error), error);
    } else if (strcmp(verb, "close") == 0) {
        const fmcp_status status = fmcp_engine_close(engine, (uint32_t)number(line, 1), number(line, 2), &error);
        outcome(status, error);
    } else if (strcmp(verb, "principal") == 0) {
        outcome(fmcp_engine_set_principal(engine, (uint32_t)number(line, 1), text(line, 2), &error), error);
    } else if (strcmp(verb, "shutdown") == 0) {
        outcome(fmcp_engine_shutdown(engine, number(line, 1), NULL), NULL);
    } else if (strcmp(verb, "updated") == 0) {
        outcome(fmcp_engine_resource_updated(engine, text(line, 1), NULL), NULL);
    } else if (strcmp(verb, "timeout") == 0) {
        outcome(fmcp_engine_handle_timeout(engine, number(line, 1), NULL), NULL);
    } else if (strcmp(verb, "due") == 0) {
        const uint64_t due = fmcp_engine_poll_timeout(engine);
        printf(due == UINT64_MAX ? "ok\t-" : "ok\t%" PRIu64, due);
        end_line();
    } else if (strcmp(verb, "poll") == 0) {
        poll_engine();
    } else {
        return 0;
    }
    return 1;
}

/* What a call can do in an own loop alone; 0 when the verb is another. */
static int loop_verb(const char *verb, struct line *line) {
    fmcp_error *error = NULL;
    if (strcmp(verb, "request") == 0) {
        fmcp_call *call = call_of(line);
        const fmcp_status status = fmcp_call_request(call, text(line, 3), text(line, 4), signed_number(line, 2), answered,
                                                     fmcp_call_retain(call), release, &error);
        if (status != FMCP_STATUS_OK) {
            fmcp_call_free(call);
        }
        outcome(status, error);
    } else if (strcmp(verb, "begin_ask") == 0) {
        begin_ask(call_of(line), line);
    } else {
        return 0;
    }
    return 1;
}

int main(void) {
    struct line line = {NULL, 0, {NULL}, 0};
    int known = 1;
    while (known && read_line(&line)) {
        known = engine_verb(line.fields[0], &line) || loop_verb(line.fields[0], &line) ||
                call_verb(line.fields[0], &line);
    }
    free(line.text);
    let_go(NULL);
    fmcp_engine_free(engine);
    return known ? 0 : 2;
}
