/* Breaks a rule on purpose, which its argument names. A build with sanitizers that lets it pass has none. */
#include <limits.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    volatile int number = argc > 1 && argv[1][0] == 'a' ? 1 : INT_MAX;
    if (number == 1) {
        volatile char *byte = malloc(1);
        byte[number] = 7; /* AddressSanitizer: one byte too far. */
        free((void *)byte);
    } else {
        number = number + 1; /* UndefinedBehaviorSanitizer: more than an int can hold. */
    }
    return 0;
}
