/* rank_stop.h -- finds the text of sample --stop while a text grows.
 *
 * The caller knows the tokenizer and writes RUN/stop:
 *   StopHead
 *   u64 [2 ids + 1]   0, then the end of each piece
 *   the stop text
 *   the pieces: for each id the bytes that it adds to a text, then for each id the bytes that it
 *   begins a text with */
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
  uint64_t *end;  /* of each piece, after a 0 */
  uint32_t *back; /* by byte of the text: bytes that still match after a mismatch */
} StopText;

/* If there is no file, no text is a stop. Call stop_close also after a failure. */
bool stop_open(StopText *stop, const char *path, Status *status);
void stop_close(StopText *stop);

/* Takes the next id of a text. *matched: how many bytes of the stop the text ends with; 0 before
 * its first id. True: the stop is complete. */
bool stop_takes(const StopText *stop, uint32_t *matched, int64_t id, bool is_first);

#endif
