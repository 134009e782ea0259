#include "runtime/checkpoint/recode.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/math/codes.h"

BufferKind recode_maxima(uint32_t codes) {
  return codes == BUFFER_MOMENT1 ? BUFFER_MOMENT1_MAX : BUFFER_MOMENT2_MAX;
}

/* ---- from codes */

typedef struct CodedBlocks {
  int64_t first, end; /* -1: none */
} CodedBlocks;

static bool span_run(void *context, int64_t from, int64_t to, int64_t count) {
  CodedBlocks *blocks = context;
  (void)to;
  if (blocks->first < 0) blocks->first = from / CODES_BLOCK;
  blocks->end = (from + count - 1) / CODES_BLOCK + 1;
  return true;
}

/* A read of the maxima of some blocks. */
typedef struct Maxima {
  Reader *reader;
  const StateStored *stored;
  const StatePiece *want;
  float *to;
  int64_t count;
  CheckpointFault *fault;
  Status *status;
} Maxima;

static bool read_run(void *context, int64_t from, int64_t to, int64_t count) {
  Maxima *maxima = context;
  maxima->count += count;
  return reader_read(maxima->reader, maxima->stored, (uint64_t)from * sizeof *maxima->to,
                     maxima->to + to, (size_t)count * sizeof *maxima->to, maxima->fault,
                     maxima->status);
}

static bool read_stored(void *context, const StateStored *stored) {
  Maxima *maxima = context;
  maxima->stored = stored;
  return state_common(&stored->piece, maxima->want, read_run, maxima);
}

static bool make_room(Recoding *recoding, int64_t count) {
  if (count <= recoding->most_room) return true;
  float *more = realloc(recoding->most, (size_t)count * sizeof *more);
  if (more == NULL) return false;
  recoding->most = more;
  recoding->most_room = count;
  return true;
}

/* The maxima of a rank's blocks, into `most`. */
static bool read_maxima(Recoding *recoding, Reader *reader, const int32_t *coordinate,
                        const CodedBlocks *blocks, CheckpointFault *fault, Status *status) {
  const State *state = &reader->from->manifest.state;
  const StateItem *item = &state->item[recoding->maxima];
  const int64_t count = blocks->end - blocks->first;
  StatePiece want;
  if (!make_room(recoding, count)) {
    *fault = CHECKPOINT_UNREAD;
    return status_fail(status, STATUS_WORLD, "not enough memory to read the state");
  }
  bool found = state_piece(state->plan, state_tensor(state, item)->layout, coordinate, &want);
  want.range_first = 0; /* the whole box: pieces of ZeRO divide it elsewhere */
  want = state_piece_dense(&want, blocks->first, count);
  Maxima maxima = {
      .reader = reader, .want = &want, .to = recoding->most, .fault = fault, .status = status};
  found = found && state_sources(state, recoding->maxima, &want, read_stored, &maxima);
  if ((found && maxima.count == count) || *fault != CHECKPOINT_WHOLE)
    return *fault == CHECKPOINT_WHOLE;
  *fault = CHECKPOINT_DAMAGED;
  return status_fail(status, STATUS_USER, "%s: has not each maximum of tensor %s once",
                     reader->from->path, item->name);
}

typedef struct CodesDecoding {
  const uint8_t *code;
  float *number;
  const float *most;
  int64_t first_block, count;
  bool is_signed;
} CodesDecoding;

static bool decode_run(void *context, int64_t from, int64_t to, int64_t count) {
  CodesDecoding *decoding = context;
  (void)to;
  for (int64_t i = from; i < from + count; i++, decoding->count++) {
    const uint8_t code = decoding->code[decoding->count];
    const float value = decoding->is_signed ? codes_signed_value(code) : codes_positive_value(code);
    decoding->number[decoding->count] =
        value * decoding->most[i / CODES_BLOCK - decoding->first_block];
  }
  return true;
}

bool recode_numbers(Recoding *recoding, Reader *reader, const StateStored *stored,
                    const StatePiece *want, const uint8_t *code, float *number,
                    CheckpointFault *fault, Status *status) {
  const State *state = &reader->from->manifest.state;
  const PlanTensor *tensor = state_tensor(state, &state->item[recoding->codes]);
  int32_t coordinate[PLAN_AXES_MAX];
  StatePiece memory; /* the stored elements, where they were in the memory of the whole box */
  CodedBlocks blocks = {-1, -1};
  state_coordinates(state->plan, stored->number, coordinate);
  if (!state_piece(state->plan, tensor->layout, coordinate, &memory)) return false;
  memory.range_first = stored->piece.range_first;
  memory.range_count = stored->piece.range_count;
  memory.origin = 0;
  (void)state_common(&memory, want, span_run, &blocks);
  if (blocks.first < 0) return true;
  if (!read_maxima(recoding, reader, coordinate, &blocks, fault, status)) return false;
  CodesDecoding decoding = {.code = code,
                            .number = number,
                            .most = recoding->most,
                            .first_block = blocks.first,
                            .is_signed = tensor->kind == BUFFER_MOMENT1};
  return state_common(&memory, want, decode_run, &decoding);
}

/* ---- to codes */

void recode_blocks(BufferKind codes, const float *number, int64_t count, uint8_t *code,
                   float *most) {
  static const CodesMap of_m = CODES_SIGNED, of_v = CODES_POSITIVE;
  for (int64_t first = 0; first < count; first += CODES_BLOCK, most++) {
    const int64_t end = count - first < CODES_BLOCK ? count : first + CODES_BLOCK;
    *most = 0;
    for (int64_t i = first; i < end; i++)
      *most = fmaxf(*most, fabsf(number[i]));
    const float inverse = codes_inverse(*most);
    for (int64_t i = first; i < end; i++)
      code[i] = *most == 0                ? 0
                : codes == BUFFER_MOMENT1 ? codes_signed(&of_m, number[i], inverse)
                                          : codes_positive(&of_v, number[i], inverse);
  }
}
