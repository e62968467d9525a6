/* A server that listens, for a runner in another language: lines as those of driver.c. Calls come on the library's threads; they
 * are kept, and told when the runner asks for them by `poll`. What waits for a client has a thread of its own. */
#include "driver.h"

#include <pthread.h>

/* Something that the runner is to be told. */
struct told {
    fmcp_call *call;
    /* What it has asked, if this is not about a new call. */
    int asked;
    uint64_t tag;
    fmcp_status status;
    fmcp_answers *answers;
    fmcp_error *error;
    struct told *next;
};

/* Questions on their way. */
struct ask {
    fmcp_call *call;
    char *texts;
    fmcp_input_request requests[MOST_REQUESTS];
    size_t count;
    pthread_t thread;
    struct ask *next;
};

static fmcp_server *server;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct told *first;
static struct told **last = &first;
static struct ask *asks;

static void *taken(size_t size) {
    void *memory = calloc(1, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void tell(struct told *told) {
    pthread_mutex_lock(&mutex);
    *last = told;
    last = &told->next;
    pthread_mutex_unlock(&mutex);
}

static struct told *next_told(void) {
    pthread_mutex_lock(&mutex);
    struct told *told = first;
    if (told != NULL) {
        first = told->next;
        last = first == NULL ? &first : last;
    }
    pthread_mutex_unlock(&mutex);
    return told;
}

static void forget(struct told *told) {
    fmcp_call_free(told->call);
    fmcp_answers_free(told->answers);
    fmcp_error_free(told->error);
    free(told);
}

static void handle(fmcp_call *call, void *tag) {
    struct told *told = taken(sizeof *told);
    told->call = fmcp_call_retain(call);
    told->tag = *(const uint64_t *)tag;
    tell(told);
}

static void *wait_for_answers(void *data) {
    struct ask *ask = data;
    struct told *told = taken(sizeof *told);
    told->call = ask->call;
    told->asked = 1;
    told->status = fmcp_call_ask(ask->call, ask->requests, ask->count, -1, &told->answers, &told->error);
    tell(told);
    return NULL;
}

/* The texts of a line go with the next one, and an answer may take longer. */
static fmcp_text copied(fmcp_text text, char **to) {
    if (text.data == NULL) {
        return text;
    }
    memcpy(*to, text.data, text.len);
    const fmcp_text copy = {*to, text.len};
    *to += text.len;
    return copy;
}

static void begin_ask(fmcp_call *call, struct line *line) {
    struct ask *ask = taken(sizeof *ask);
    ask->call = fmcp_call_retain(call);
    ask->count = requests_of(line, ask->requests);
    ask->texts = taken(line->size);
    char *to = ask->texts;
    for (size_t at = 0; at < ask->count; at++) {
        ask->requests[at].key = copied(ask->requests[at].key, &to);
        ask->requests[at].method = copied(ask->requests[at].method, &to);
        ask->requests[at].params = copied(ask->requests[at].params, &to);
    }
    ask->next = asks;
    asks = ask;
    if (pthread_create(&ask->thread, NULL, wait_for_answers, ask) != 0) {
        abort();
    }
    fputs("ok\t0", stdout);
    end_line();
}

static void poll_server(void) {
    struct told *told = next_told();
    if (told == NULL) {
        fputs("none", stdout);
        end_line();
        return;
    }
    const uint64_t key = fmcp_call_key(told->call);
    if (!told->asked) {
        keep(told->call);
        say_call(told->call, told->tag);
    } else if (told->status == FMCP_STATUS_OK) {
        printf("answers\t%" PRIu64 "\t0", key);
        say_answers(told->answers);
    } else {
        printf("unasked\t%" PRIu64 "\t%d", key, (int)told->status);
        say(fmcp_error_text(told->error));
        end_line();
    }
    forget(told);
}

/* Waits for the server, which was told to stop, and for what it has still to tell. */
static void end_server(void) {
    let_go(NULL);
    while (asks != NULL) {
        struct ask *ask = asks;
        asks = ask->next;
        pthread_join(ask->thread, NULL);
        free(ask->texts);
        free(ask);
    }
    fmcp_server_free(server);
    server = NULL;
    for (struct told *told = next_told(); told != NULL; told = next_told()) {
        forget(told);
    }
}

typedef fmcp_status (*add_function)(fmcp_server *, fmcp_text, fmcp_call_handler, void *, fmcp_destroy, fmcp_error **);
typedef fmcp_status (*remove_function)(fmcp_server *, fmcp_text, fmcp_error **);

/* In the order of the runner's kinds: tools, resources, templates, prompts. */
static const add_function ADD[] = {fmcp_server_add_tool, fmcp_server_add_resource, fmcp_server_add_resource_template,
                                   fmcp_server_add_prompt};
static const remove_function REMOVE[] = {fmcp_server_remove_tool, fmcp_server_remove_resource,
                                         fmcp_server_remove_resource_template, fmcp_server_remove_prompt};

/* What concerns the server; 0 when the verb is another. */
static int server_verb(const char *verb, struct line *line) {
    fmcp_error *error = NULL;
    fmcp_status status;
    if (strcmp(verb, "new") == 0) {
        status = fmcp_server_from_config(text(line, 1), &server, &error);
    } else if (strcmp(verb, "add") == 0) {
        uint64_t *tag = taken(sizeof *tag);
        *tag = number(line, 2);
        status = ADD[number(line, 1) % 4](server, text(line, 4), handle, tag, free, &error);
        if (status != FMCP_STATUS_OK) {
            free(tag);
        }
    } else if (strcmp(verb, "remove") == 0) {
        status = REMOVE[number(line, 1) % 4](server, text(line, 3), &error);
    } else if (strcmp(verb, "start") == 0) {
        status = fmcp_server_start_http(server, text(line, 1), &error);
        if (status == FMCP_STATUS_OK) {
            printf("ok\t%d", (int)fmcp_server_port(server));
            end_line();
            return 1;
        }
    } else if (strcmp(verb, "stop") == 0) {
        status = fmcp_server_stop(server, &error);
    } else if (strcmp(verb, "free") == 0) {
        status = fmcp_server_wait(server, &error);
        end_server();
    } else if (strcmp(verb, "poll") == 0) {
        poll_server();
        return 1;
    } else if (strcmp(verb, "begin_ask") == 0) {
        begin_ask(call_of(line), line);
        return 1;
    } else {
        return 0;
    }
    outcome(status, error);
    return 1;
}

int main(void) {
    struct line line = {NULL, 0, {NULL}, 0};
    int known = 1;
    while (known && read_line(&line)) {
        known = server_verb(line.fields[0], &line) || call_verb(line.fields[0], &line);
    }
    free(line.text);
    end_server();
    return known ? 0 : 2;
}
