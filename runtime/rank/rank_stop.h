/* rank_stop.h -- finds the text of sample --stop while a text grows.
 *
 * The caller knows the tokenizer and writes RUN/stop: StopHead; the ends of all pieces, u64, after
 * a 0; the text; the pieces: of each id the bytes that it adds to a text, then of each id those
 * that it begins one with. */
#ifndef LOCKSTEP_RANK_STOP_H
#define LOCKSTEP_RANK_STOP_H

#include "runtime/process/status.h"

typedef struct StopHead {
  uint32_t length; /* bytes of the text */
  uint32_t ids;
} StopHead;

typedef struct StopText {
  uint32_t length; /* 0: there is none */
  uint32_t ids;
  uint8_t *text, *piece;
  uint64_t *end;  /* of the pieces, after a 0 */
  uint32_t *back; /* after each byte of the text */
} StopText;

/* Without a file there is no text. stop_close in any case. */
bool stop_open(StopText *stop, const char *path, Status *status);
void stop_close(StopText *stop);

/* Takes the next id of a text. *matched: bytes of the stop that it ends with, 0 at its beginning.
 * True: the stop is complete. */
bool stop_takes(const StopText *stop, uint32_t *matched, int64_t id, bool is_first);

#endif
