/*
 * The parts of the raw echo that differ between Windows and Linux.
 */
#ifndef RAWECHO_H
#define RAWECHO_H

#include <stddef.h>
#include <stdint.h>

/* One end of a connection. */
struct stream;

/* Accepts connections for ever, each on a thread of its own that runs `session`. */
void serve(const char *address, void (*session)(struct stream *));

/* Prints that clients find the pipe or socket from now on: who measures waits for it. */
void tell_that_it_serves(void);

/* Opens a connection; waits while the server has no free instance. */
struct stream *dial(const char *address);

/* Both answer 0 when all of `length` went through. */
int read_all(struct stream *stream, void *buffer, size_t length);
int write_all(struct stream *stream, const void *buffer, size_t length);

void close_stream(struct stream *stream);

/* Runs `work(0)` to `work(count - 1)`, each on a thread of its own, and waits for all. */
void run_threads(int count, void (*work)(int));

uint64_t now_ns(void);

void die(const char *what);

#endif
