/* What the programs of this folder share: lines, and the functions of a call. */
#ifndef FERROMCP_TESTS_DRIVER_H
#define FERROMCP_TESTS_DRIVER_H

#include "ferromcp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REQUESTS = 16, MOST_FIELDS = 3 + 3 * MOST_REQUESTS };

/* One line, cut into fields. */
struct line {
    char *text;
    size_t size;
    char *fields[MOST_FIELDS];
    int count;
};

/* A call that was not let go yet. */
struct kept {
    fmcp_call *call;
    struct kept *next;
};

static struct kept *calls;

/* Reads a line of any length; 0 at the end of input. */
static int read_line(struct line *line) {
    size_t length = 0;
    int byte;
    while ((byte = getchar()) != EOF && byte != '\n') {
        if (length + 2 > line->size) {
            line->size = line->size * 2 + 1024;
            line->text = realloc(line->text, line->size);
            if (line->text == NULL) {
                abort();
            }
        }
        line->text[length++] = (char)byte;
    }
    if (byte == EOF || length == 0) {
        return 0;
    }
    line->text[length] = '\0';
    line->count = 0;
    for (char *field = line->text; field != NULL && line->count < MOST_FIELDS;) {
        line->fields[line->count++] = field;
        field = strchr(field, '\t');
        if (field != NULL) {
            *field++ = '\0';
        }
    }
    return 1;
}

static int digit(char character) { return character <= '9' ? character - '0' : character - 'a' + 10; }

/* A field as text, decoded in its place. */
static fmcp_text text(struct line *line, int at) {
    char *field = at < line->count ? line->fields[at] : "-";
    if (strcmp(field, "-") == 0) {
        return FMCP_NONE;
    }
    const size_t length = strlen(field) / 2;
    for (size_t i = 0; i < length; i++) {
        field[i] = (char)(digit(field[2 * i]) * 16 + digit(field[2 * i + 1]));
    }
    field[length] = '\0';
    const fmcp_text decoded = {field, length};
    return decoded;
}

static uint64_t number(struct line *line, int at) {
    return at < line->count ? strtoull(line->fields[at], NULL, 10) : 0;
}

static int64_t signed_number(struct line *line, int at) {
    return at < line->count ? strtoll(line->fields[at], NULL, 10) : 0;
}

static void say(fmcp_text text) {
    if (text.data == NULL) {
        fputs("\t-", stdout);
        return;
    }
    putchar('\t');
    for (size_t i = 0; i < text.len; i++) {
        printf("%02x", (unsigned char)text.data[i]);
    }
}

static void end_line(void) {
    putchar('\n');
    fflush(stdout);
}

static void outcome(fmcp_status status, fmcp_error *error) {
    if (status == FMCP_STATUS_OK) {
        fputs("ok", stdout);
    } else {
        printf("refused\t%d", (int)status);
        say(fmcp_error_text(error));
        fmcp_error_free(error);
    }
    end_line();
}

static fmcp_call *call_of(struct line *line) {
    for (struct kept *kept = calls; kept != NULL; kept = kept->next) {
        if (fmcp_call_key(kept->call) == number(line, 1)) {
            return kept->call;
        }
    }
    return NULL;
}

static void keep(fmcp_call *call) {
    struct kept *kept = malloc(sizeof *kept);
    if (kept == NULL) {
        abort();
    }
    kept->call = fmcp_call_retain(call);
    kept->next = calls;
    calls = kept;
}

/* Lets go of one call, or of all with NULL. */
static void let_go(const fmcp_call *call) {
    for (struct kept **place = &calls; *place != NULL;) {
        struct kept *kept = *place;
        if (call == NULL || kept->call == call) {
            *place = kept->next;
            fmcp_call_free(kept->call);
            free(kept);
        } else {
            place = &kept->next;
        }
    }
}

static void say_call(const fmcp_call *call, uint64_t tag) {
    printf("call\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\t%d", fmcp_call_stream(call), fmcp_call_key(call),
           tag, (int)fmcp_call_target(call));
    say(fmcp_call_arguments(call));
    say(fmcp_call_uri(call));
    say(fmcp_call_meta(call));
    say(fmcp_call_protocol_version(call));
    say(fmcp_call_completion_argument(call));
    say(fmcp_call_completion_value(call));
    say(fmcp_call_input_responses(call));
    say(fmcp_call_request_state(call));
    end_line();
}

static void say_answers(const fmcp_answers *answers) {
    for (size_t at = 0; at < fmcp_answers_count(answers); at++) {
        printf("\t%d", (int)fmcp_answers_outcome(answers, at));
        say(fmcp_answers_result(answers, at));
        say(fmcp_answers_error_message(answers, at));
    }
    end_line();
}

/* What the line asks, three fields for each request; how many there are. */
static size_t requests_of(struct line *line, fmcp_input_request *requests) {
    size_t count = 0;
    for (int at = 3; at + 2 < line->count; at += 3) {
        const fmcp_input_request request = {text(line, at), text(line, at + 1), text(line, at + 2)};
        requests[count++] = request;
    }
    return count;
}

/* What concerns a call; the first field is its key. */
static int call_verb(const char *verb, struct line *line) {
    fmcp_call *call = call_of(line);
    fmcp_error *error = NULL;
    fmcp_status status = FMCP_STATUS_OK;
    if (strcmp(verb, "text") == 0) {
        status = fmcp_call_respond_text(call, text(line, 2), &error);
    } else if (strcmp(verb, "tool_error") == 0) {
        status = fmcp_call_tool_error(call, text(line, 2), &error);
    } else if (strcmp(verb, "tool") == 0) {
        status = fmcp_call_respond_tool(call, text(line, 2), text(line, 3), number(line, 4) != 0, text(line, 5), &error);
    } else if (strcmp(verb, "contents") == 0) {
        status = fmcp_call_respond_contents(call, text(line, 2), &error);
    } else if (strcmp(verb, "prompt") == 0) {
        status = fmcp_call_respond_prompt(call, text(line, 2), text(line, 3), &error);
    } else if (strcmp(verb, "completion") == 0) {
        status = fmcp_call_respond_completion(call, text(line, 2), signed_number(line, 3), (int32_t)signed_number(line, 4),
                                              &error);
    } else if (strcmp(verb, "result") == 0) {
        status = fmcp_call_respond_result(call, text(line, 2), &error);
    } else if (strcmp(verb, "fail") == 0) {
        status = fmcp_call_fail(call, signed_number(line, 2), text(line, 3), text(line, 4), &error);
    } else if (strcmp(verb, "progress") == 0) {
        /* strtod reads "nan" too. */
        status = fmcp_call_report_progress(call, strtod(line->fields[2], NULL), strtod(line->fields[3], NULL), text(line, 4), &error);
    } else if (strcmp(verb, "log") == 0) {
        status = fmcp_call_log_json(call, (int32_t)signed_number(line, 2), text(line, 3), text(line, 4), &error);
    } else if (strcmp(verb, "close_stream") == 0) {
        status = fmcp_call_close_sse_stream(call, NULL, &error);
    } else if (strcmp(verb, "notify") == 0) {
        status = fmcp_call_notify(call, text(line, 2), text(line, 3), &error);
    } else if (strcmp(verb, "round") == 0) {
        status = fmcp_call_input_required(call, text(line, 2), text(line, 3), &error);
    } else if (strcmp(verb, "begin_task") == 0) {
        bool begun = false;
        status = fmcp_call_begin_task(call, &begun, &error);
        if (status == FMCP_STATUS_OK) {
            printf("ok\t%d", begun);
            end_line();
            return 1;
        }
    } else if (strcmp(verb, "task_id") == 0) {
        fputs("ok", stdout);
        say(fmcp_call_task_id(call));
        end_line();
        return 1;
    } else if (strcmp(verb, "variable") == 0) {
        fputs("ok", stdout);
        say(fmcp_call_variable(call, text(line, 2).data));
        end_line();
        return 1;
    } else if (strcmp(verb, "cancelled") == 0) {
        printf("ok\t%d", fmcp_call_is_cancelled(call));
        say(fmcp_call_cancel_reason(call));
        end_line();
        return 1;
    } else if (strcmp(verb, "let_go") == 0) {
        let_go(call);
    } else {
        return 0;
    }
    outcome(status, error);
    return 1;
}

#endif
