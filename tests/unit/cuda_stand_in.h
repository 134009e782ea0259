/* cuda_stand_in.h -- the calls of CUDA's runtime that streams.c makes, for tests of what it asks of
 * them: nothing runs, but what has to be over before a work may run is known, and the test says
 * which works are done. Captures are held to the rules of the library: no stream or event of one is
 * asked, none waits for what is outside, and all come together before the end. */
#ifndef LOCKSTEP_TESTS_CUDA_STAND_IN_H
#define LOCKSTEP_TESTS_CUDA_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A set of works, which have the numbers 0 to 63. */
typedef uint64_t CudaWorks;

/* A kernel that does work `number`. */
void cuda_stand_in_launch(void *stream, int number);

/* The works that must be over before it runs; of a graph, those of its last launch. */
CudaWorks cuda_stand_in_before(int number);

/* From now on these are done; each only after all that has to be before it. */
void cuda_stand_in_do(CudaWorks works);

/* True if what was put into the stream last waits for a word of the host that is too small yet. */
bool cuda_stand_in_waits(void *stream);

/* Every stream and event reports this error (cudaError_t) from now on. */
void cuda_stand_in_break(int error);

/* Called when a graph has been made executable, when it is launched, and when memory is copied;
 * NULL: nothing is. */
typedef void CudaStandInHook(void);
void cuda_stand_in_hooks(CudaStandInHook *instantiated, CudaStandInHook *launched,
                         CudaStandInHook *copied);

/* Whether events may have times; what is put into a stream from now on happens then, in ms. */
void cuda_stand_in_times(bool allowed);
void cuda_stand_in_at(float ms);

/* True if all these bytes of the host are registered. */
bool cuda_stand_in_locked(const void *at, size_t size_bytes);

/* So much of it can be registered; and whether streams can wait for a word of the host. */
void cuda_stand_in_lock_limit(uint64_t bytes);
void cuda_stand_in_memory_operations(bool has);

/* Forgets all works. */
void cuda_stand_in_clear(void);

/* Rules that were broken since the last call; each was printed. A question that is answered with
 * "not ready" is the last error until it is asked for. */
int cuda_stand_in_wrongs(void);

/* Streams, events, graphs, pieces of memory and registered ranges that are there now. */
int cuda_stand_in_open(void);

#endif
