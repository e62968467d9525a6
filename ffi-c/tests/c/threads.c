/* One message read by several threads at once, and many made in parallel. Run under valgrind too. */
#include "check.h"
#include "ferromcp.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 200 };

static const char REQUEST[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

/* Gives the number of failures, as a pointer-sized number. */
static void *worker(void *shared) {
    size_t failures = 0;
    for (int round = 0; round < ROUNDS; round++) {
        fmcp_message *own = NULL;
        failures += fmcp_message_parse((const uint8_t *)REQUEST, strlen(REQUEST), &own, NULL) != FMCP_STATUS_OK;
        failures += !TEXT_IS(fmcp_message_method(own), "ping");
        fmcp_message_free(own);
        failures += !TEXT_IS(fmcp_message_id((const fmcp_message *)shared), "1");
    }
    return (void *)failures;
}

int main(void) {
    fmcp_message *shared = NULL;
    pthread_t threads[THREADS];
    CHECK(fmcp_message_parse((const uint8_t *)REQUEST, strlen(REQUEST), &shared, NULL) == FMCP_STATUS_OK);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, worker, shared) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failures = NULL;
        CHECK(pthread_join(threads[i], &failures) == 0);
        CHECK((size_t)failures == 0);
    }
    fmcp_message_free(shared);
    return check_report("threads");
}
