/* copy.c -- cast rounds to another dtype; copy moves bytes between views; slice takes a rank's
 * part; gather_pieces and scatter_pieces move the pieces of members. */
#include <assert.h>

#include "kernels/reference/access.h"
#include "kernels/runs.h"

void reference_cast(const KernelArgs *args) {
  Tensor x = tensor(args, 0), y = tensor(args, 1);
  for (int64_t i = 0; i < args->dim[0]; i++)
    store(y, i, load(x, i));
}

void reference_copy(const KernelArgs *args) {
  assert(args->dtype[0] == args->dtype[1]);
  const char *x = args->operand[0];
  char *y = args->operand[1];
  int64_t rows = args->dim[0], cols = args->dim[1];
  int64_t bytes = dtype_bytes((DType)args->dtype[0]);
  for (int64_t r = 0; r < rows; r++)
    memmove(y + r * args->dim[3] * bytes, x + r * args->dim[2] * bytes, (size_t)(cols * bytes));
}

void reference_slice(const KernelArgs *args) {
  assert(args->dtype[0] == args->dtype[1]);
  const char *x = args->operand[0];
  char *y = args->operand[1];
  int64_t outer = args->dim[0], whole = args->dim[1], part = args->dim[2];
  int64_t row_bytes = args->dim[3] * dtype_bytes((DType)args->dtype[0]);
  Runs runs = {part, (int64_t)args->attr[0], (int64_t)args->attr[1]};
  for (int64_t o = 0; o < outer; o++)
    for (int64_t p = 0; p < part; p++)
      memcpy(y + (o * part + p) * row_bytes, x + (o * whole + runs_position(runs, p)) * row_bytes,
             (size_t)row_bytes);
}

/* Piece after piece of the whole, each to or from where its member's pieces lie together. */
static void move_pieces(const KernelArgs *args, bool gathers) {
  assert(args->dtype[0] == args->dtype[1]);
  const char *x = args->operand[0];
  char *y = args->operand[1];
  int64_t bytes = dtype_bytes((DType)args->dtype[0]), members = args->dim[0], pairs = args->dim[1];
  int64_t whole = 0, share = 0, before = 0;
  for (int64_t p = 0; p < pairs; p++)
    share += args->dim[2 + 2 * p] * args->dim[3 + 2 * p];
  for (int64_t p = 0; p < pairs; p++) {
    int64_t elements = args->dim[3 + 2 * p];
    for (int64_t t = 0; t < args->dim[2 + 2 * p]; t++, before += elements)
      for (int64_t m = 0; m < members; m++, whole += elements) {
        int64_t gathered = m * share + before;
        memcpy(y + (gathers ? gathered : whole) * bytes, x + (gathers ? whole : gathered) * bytes,
               (size_t)(elements * bytes));
      }
  }
}

void reference_gather_pieces(const KernelArgs *args) {
  move_pieces(args, true);
}

void reference_scatter_pieces(const KernelArgs *args) {
  move_pieces(args, false);
}
