/*
 * The limit that a server on named pipes (on Linux: Unix sockets) is measured against: messages of
 * 150 bytes that go to a server and back, with nothing in between. It is in C because a runtime of
 * any kind would be measured too: the same program in Go reaches 0.4 times this under Wine.
 *
 *     rawecho serve ADDRESS
 *     rawecho load ADDRESS CLIENTS MESSAGES
 */
#include "rawecho.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* About what a PathExists call and its answer take on the wire. */
#define MESSAGE 150

static const char *address;
static int each;
static uint64_t *took;

static void echo(struct stream *stream)
{
    char buffer[MESSAGE];
    while (read_all(stream, buffer, MESSAGE) == 0 && write_all(stream, buffer, MESSAGE) == 0)
        ;
    close_stream(stream);
}

void tell_that_it_serves(void)
{
    puts("serving");
    fflush(stdout);
}

static void exchange(int client)
{
    char buffer[MESSAGE] = {0};
    uint64_t *mine = took + (size_t)client * each;
    struct stream *stream = dial(address);
    for (int i = 0; i < each; i++) {
        uint64_t start = now_ns();
        if (write_all(stream, buffer, MESSAGE) || read_all(stream, buffer, MESSAGE))
            die("exchange");
        mine[i] = now_ns() - start;
    }
    close_stream(stream);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void load(int clients, int messages)
{
    each = messages / clients > 0 ? messages / clients : 1;
    size_t all = (size_t)each * clients;
    took = calloc(all, sizeof *took);
    if (!took)
        die("memory");
    uint64_t start = now_ns();
    run_threads(clients, exchange);
    double seconds = (now_ns() - start) / 1e9;
    qsort(took, all, sizeof *took, compare);
    printf("{\"answered\":%u,\"per_second\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f}\n", (unsigned)all,
           all / seconds, took[(all - 1) / 2] / 1e3, took[(all - 1) * 99 / 100] / 1e3);
}

int main(int count, char **arguments)
{
    if (count >= 3)
        address = arguments[2];
    if (count == 3 && strcmp(arguments[1], "serve") == 0)
        serve(address, echo);
    else if (count == 5 && strcmp(arguments[1], "load") == 0 && atoi(arguments[3]) > 0)
        load(atoi(arguments[3]), atoi(arguments[4]));
    else
        die("usage: rawecho serve ADDRESS | load ADDRESS CLIENTS MESSAGES");
    return 0;
}
