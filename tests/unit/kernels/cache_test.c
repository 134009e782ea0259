/* LINK: kernels -- the cache of keys and values: a token's row alone is written, rows that a token
 * does not see are not read, and a token has the same numbers in any pass. */
#include <math.h>

#include "tests/unit/check.h"
#include "tests/unit/kernel_call.h"

enum { SEQ = 3, HEADS = 4, KV_HEADS = 2, HEAD = 24, CONTEXT = 20, ROW = KV_HEADS * HEAD };

static void put_places(Call *c, int32_t operand, const int32_t *place, int64_t count) {
  memcpy(c->operand[operand], place, (size_t)count * sizeof *place);
}

/* Two samples; of the first the token at SEQ - 1 is none, of the second one lies beyond. */
static void check_append(KernelVariant variant, Threads *team) {
  static const int32_t places[] = {4, 5, -1, 0, CONTEXT, 19};
  Call c = {.kernel = "cache_append", .dim = {2, SEQ, KV_HEADS, HEAD, ROW, CONTEXT}};
  call_add(&c, DTYPE_F32, 2 * SEQ * ROW);
  call_add(&c, DTYPE_I32, 2 * SEQ);
  call_add(&c, DTYPE_F32, 2 * CONTEXT * ROW);
  call_fill(&c, 0, 3);
  put_places(&c, 1, places, 2 * SEQ);
  for (int64_t i = 0; i < 2 * CONTEXT * ROW; i++)
    call_set(&c, 2, i, 7);
  call_run(&c, variant, team);
  for (int64_t row = 0; row < 2 * CONTEXT; row++) {
    int64_t token = 0;
    while (token < 2 * SEQ &&
           !(token / SEQ == row / CONTEXT && places[token] == (int32_t)(row % CONTEXT)))
      token++;
    for (int64_t i = 0; i < ROW; i++)
      CHECK(call_get(&c, 2, row * ROW + i) ==
            (token < 2 * SEQ ? call_get(&c, 0, token * ROW + i) : 7));
  }
  call_free(&c);
}

static Call attention_in(int64_t context, int64_t seq, int64_t window) {
  Call c = {.kernel = "attention_cached",
            .dim = {1, seq, HEADS, KV_HEADS, HEAD, HEADS * HEAD, context},
            .attr = {0.3, (double)window, 0}};
  call_add(&c, DTYPE_F32, seq * HEADS * HEAD);
  call_add(&c, DTYPE_F32, context * ROW);
  call_add(&c, DTYPE_F32, context * ROW);
  call_add(&c, DTYPE_I32, seq);
  call_add(&c, DTYPE_F32, seq * HEADS * HEAD);
  call_fill(&c, 1, 5);
  call_fill(&c, 2, 6);
  return c;
}

static Call attention(int64_t seq, int64_t window) {
  return attention_in(CONTEXT, seq, window);
}

/* The last of three tokens, and the same token alone, beside NaN in all rows that it must not read.
 */
static void check_attention(KernelVariant variant, Threads *team, int64_t window) {
  static const int32_t places[] = {9, -1, 10};
  const int64_t wide = HEADS * HEAD, first = window > 0 ? 11 - window : 0;
  Call all = attention(SEQ, window), one = attention(1, window);
  call_fill(&all, 0, 8);
  put_places(&all, 3, places, SEQ);
  put_places(&one, 3, places + SEQ - 1, 1);
  for (int64_t i = 0; i < wide; i++)
    call_set(&one, 0, i, call_get(&all, 0, (SEQ - 1) * wide + i));
  for (int64_t i = 0; i < CONTEXT * ROW; i++)
    if (i / ROW > 10 || i / ROW < first) {
      call_set(&one, 1, i, NAN);
      call_set(&one, 2, i, NAN);
    }
  call_run(&all, variant, team);
  call_run(&one, variant, team);
  for (int64_t i = 0; i < wide; i++) {
    CHECK(call_get(&all, 4, wide + i) == 0); /* no token */
    CHECK(call_get(&one, 4, i) == call_get(&all, 4, (SEQ - 1) * wide + i));
  }
  call_free(&all);
  call_free(&one);
}

/* Many tokens of a text: the first ones without the others, beside NaN in all rows that they must
 * not read, and the last ones in a pass that begins later. */
static void check_many(KernelVariant variant, Threads *team, int64_t window) {
  enum { MANY = 200, FEW = 70, FIRST = 90, LATER = 61 };
  static Call call[3];
  for (int32_t k = 0; k < 3; k++) {
    Call *c = &call[k];
    *c = attention_in(FIRST + MANY, MANY, window);
    for (int64_t i = 0; i < MANY; i++) {
      const int64_t token = i + (k == 2 ? LATER : 0);
      ((int32_t *)c->operand[3])[i] = token < (k == 1 ? FEW : MANY) ? (int32_t)(FIRST + token) : -1;
      for (int64_t e = 0; e < HEADS * HEAD; e++)
        call_set(c, 0, i * HEADS * HEAD + e, (double)((token * 7 + e) * 37 % 101) / 50 - 1);
    }
    for (int64_t i = (FIRST + FEW) * ROW; k == 1 && i < (FIRST + MANY) * ROW; i++) {
      call_set(c, 1, i, NAN);
      call_set(c, 2, i, NAN);
    }
    call_run(c, variant, team);
  }
  for (int64_t i = 0; i < MANY * HEADS * HEAD; i++) {
    const int64_t token = i / (HEADS * HEAD);
    CHECK(call_get(&call[1], 4, i) == (token < FEW ? call_get(&call[0], 4, i) : 0));
    CHECK(token < LATER ||
          call_get(&call[2], 4, i - LATER * HEADS * HEAD) == call_get(&call[0], 4, i));
  }
  for (int32_t k = 0; k < 3; k++)
    call_free(&call[k]);
}

/* Keys of -inf have no weight, wherever they are; a NaN among the keys is not hidden. */
static void check_weightless(KernelVariant variant, Threads *team, int32_t place, int32_t finite) {
  Call with = attention(1, 0), without = attention(1, 0), nan = attention(1, 0);
  Call *calls[] = {&with, &without, &nan};
  for (int32_t k = 0; k < 3; k++) {
    for (int64_t i = 0; i < HEADS * HEAD; i++)
      call_set(calls[k], 0, i, 1);
    *(int32_t *)calls[k]->operand[3] = place;
  }
  for (int64_t row = 0; row <= place; row++)
    for (int64_t i = 0; i < ROW; i++) {
      const bool is_finite = row == finite;
      call_set(&with, 1, row * ROW + i, is_finite ? 0.1 : -INFINITY);
      call_set(&nan, 1, row * ROW + i, is_finite ? NAN : -INFINITY);
    }
  for (int64_t i = 0; finite >= 0 && i < ROW; i++)
    call_set(&without, 2, i, call_get(&with, 2, finite * ROW + i));
  *(int32_t *)without.operand[3] = finite < 0 ? -1 : 0; /* that row alone, or none */
  for (int32_t k = 0; k < 3; k++)
    call_run(calls[k], variant, team);
  for (int64_t i = 0; i < HEADS * HEAD; i++) {
    CHECK(call_get(&with, 4, i) == call_get(&without, 4, i));
    CHECK(finite < 0 || isnan(call_get(&nan, 4, i)));
  }
  for (int32_t k = 0; k < 3; k++)
    call_free(calls[k]);
}

/* The second of two samples, and alone. */
static void check_draw(KernelVariant variant, Threads *team) {
  enum { VOCAB = 50 };
  static const int32_t targets[] = {-1, -1, 4, -1, -1, 9}, places[] = {0, 1, 2, 5, 6, 7};
  for (uint64_t seed = 1; seed < 9; seed++) {
    Call both = {.kernel = "draw", .dim = {2, SEQ, VOCAB, VOCAB}, .attr = {1, 0, 1}, .key = 11};
    Call one = {.kernel = "draw", .dim = {1, 1, VOCAB, VOCAB}, .attr = {1, 0, 1}, .key = 11};
    Call *calls[] = {&both, &one};
    for (int32_t i = 0; i < 2; i++) {
      const int64_t samples = calls[i]->dim[0], rows = samples * calls[i]->dim[1];
      call_add(calls[i], DTYPE_F32, samples * VOCAB);
      call_add(calls[i], DTYPE_I32, rows);
      call_add(calls[i], DTYPE_I32, rows);
      call_add(calls[i], DTYPE_F64, 2 * samples);
      calls[i]->control.seed = seed;
      put_places(calls[i], 1, targets + 6 - rows, rows);
      put_places(calls[i], 2, places + 6 - rows, rows);
    }
    call_fill(&both, 0, seed);
    for (int64_t i = 0; i < VOCAB; i++)
      call_set(&one, 0, i, call_get(&both, 0, VOCAB + i));
    call_run(&both, variant, team);
    call_run(&one, variant, team);
    for (int32_t i = 0; i < 2; i++)
      CHECK(call_get(&both, 3, 2 + i) == call_get(&one, 3, i));
    call_free(&both);
    call_free(&one);
  }
}

int main(void) {
  Threads *team = threads_new(2, NULL);
  for (KernelVariant variant = KERNEL_REFERENCE; variant <= KERNEL_FAST; variant++) {
    TEST("a pass writes the rows of its tokens") {
      check_append(variant, team);
    }
    TEST("a token reads rows up to its own position, and its numbers do not depend on the pass") {
      check_attention(variant, team, 0);
      check_attention(variant, team, 4);
    }
    if (variant != KERNEL_REFERENCE)
      TEST("numbers of many tokens do not depend on the others of the pass") {
        check_many(variant, team, 0);
        check_many(variant, team, 130);
      }
    TEST("a score of -inf has no weight") {
      check_weightless(variant, team, 9, 9);
      check_weightless(variant, team, 9, 0);
      check_weightless(variant, team, 9, 4);
      check_weightless(variant, team, 9, -1);
    }
    TEST("a draw depends on the text and the position") {
      check_draw(variant, team);
    }
  }
  threads_free(team);
  CHECK_DONE();
}
