/* A server and fork(): in the child it is the parent's, and can only be freed. Not run under valgrind: in the child, what the
 * parent's threads held is lost, as after every fork of a program with threads. Nor with AddressSanitizer, whose own locks do
 * not survive such a fork. */
#include "client.h"

#include <sys/wait.h>

static void answer(fmcp_call *call, void *user_data) {
    (void)user_data;
    CHECK(fmcp_call_respond_text(call, fmcp_text_of("fine"), NULL) == FMCP_STATUS_OK);
}

static void count_end(void *user_data) { ++*(int *)user_data; }

/* 0 when all is as it should be. */
static int in_the_child(fmcp_server *server, const int *destroyed) {
    const int refused = fmcp_server_stop(server, NULL) == FMCP_STATUS_STATE &&
                        fmcp_server_wait(server, NULL) == FMCP_STATUS_STATE &&
                        fmcp_server_resource_updated(server, fmcp_text_of("mem://a"), NULL) == FMCP_STATUS_STATE;
    fmcp_server_free(server);
    /* A server that is made here is the child's own. */
    fmcp_server *own = NULL;
    struct client *client = malloc(sizeof *client);
    CHECK(fmcp_server_new(fmcp_text_of("own"), fmcp_text_of("1"), &own, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(own, fmcp_text_of(TOOL("tool")), answer, NULL, NULL, NULL) == FMCP_STATUS_OK);
    client_start(client, own);
    CHECK(holds(client_ask(client, CALL_TOOL("1", "tool", "{}")), "\"text\":\"fine\""));
    client_end(client, own);
    fmcp_server_free(own);
    free(client);
    return !(refused && *destroyed == 1 && checks_failed == 0);
}

int main(void) {
    int destroyed = 0;
    fmcp_server *server = NULL;
    CHECK(fmcp_server_new(fmcp_text_of("test"), fmcp_text_of("1"), &server, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_server_add_tool(server, fmcp_text_of(TOOL("tool")), answer, &destroyed, count_end, NULL) == FMCP_STATUS_OK);
    struct client *client = malloc(sizeof *client);
    client_start(client, server);
    CHECK(holds(client_ask(client, CALL_TOOL("1", "tool", "{}")), "\"text\":\"fine\""));
    const pid_t child = fork();
    if (child == 0) {
        _exit(in_the_child(server, &destroyed));
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(holds(client_ask(client, CALL_TOOL("2", "tool", "{}")), "\"text\":\"fine\""));
    client_end(client, server);
    free(client);
    fmcp_server_free(server);
    CHECK(destroyed == 1);
    return check_report("fork");
}
