/* The few lines of test framework that the C tests need: a check that counts, and a closing line. */
#ifndef FERROMCP_TEST_CHECK_H
#define FERROMCP_TEST_CHECK_H

#include <stdio.h>
#include <string.h>

static int checks_passed;
static int checks_failed;

#define CHECK(condition)                                                             \
    do {                                                                             \
        if (condition) {                                                             \
            checks_passed++;                                                         \
        } else {                                                                     \
            checks_failed++;                                                         \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);  \
        }                                                                            \
    } while (0)

/* True when a text is there and equals a C string. */
#define TEXT_IS(text, wanted) \
    ((text).data != NULL && (text).len == strlen(wanted) && memcmp((text).data, wanted, (text).len) == 0)

/* Prints the closing line; the result of main. */
static int check_report(const char *name) {
    printf("%s: %d passed, %d failed\n", name, checks_passed, checks_failed);
    return checks_failed == 0 ? 0 : 1;
}

#endif
