/* states_test.c -- model states of one rank against the ZeRO paper's table 1 (Rajbhandari et al.
 * 2020, arXiv:1910.02054): parameters and gradients of 2 bytes, 12 bytes of fp32 master weights and
 * moments.
 *
 * The models consist of matrices only, and have exactly as many parameters as the table says. Ours
 * differs from the paper in one term, padding, which is counted here by itself: a parameter cut
 * over N ranks is padded to N pieces of a multiple of 32 elements; the layers of a block begin at
 * multiples of 128 elements. */
#include "tests/golden_numbers/golden.h"
#include "tests/unit/check.h"

typedef struct Size {
  int64_t parameters;
  int64_t layers, inputs, width, hidden; /* inputs x width, and 2 x width x hidden a layer */
} Size;

static const Size sizes[] = {
    {7500000000, 74, 10000, 10000, 5000},
    {128000000000, 127, 40000, 25000, 20000},
    {1000000000000, 999, 40000, 25000, 20000},
};

/* GB = 1e9 bytes, as printed: rows dp 1, 4, 16, 64, 256, 1024; columns Pos, Pos+g, Pos+g+p. */
static const double printed[3][6][3] = {
    {{120, 120, 120},
     {52.5, 41.3, 30},
     {35.6, 21.6, 7.5},
     {31.4, 16.6, 1.88},
     {30.4, 15.4, 0.47},
     {30.1, 15.1, 0.12}},
    {{2048, 2048, 2048},
     {896, 704, 512},
     {608, 368, 128},
     {536, 284, 32},
     {518, 263, 8},
     {513, 257, 2}},
    {{16000, 16000, 16000},
     {7000, 5500, 4000},
     {4750, 2875, 1000},
     {4187, 2218, 250},
     {4046, 2054, 62.5},
     {4011, 2013, 15.6}},
};

/* Half a unit of the last printed digit, or a whole one: the table rounds some cells down. */
static double last_digit(double value) {
  double unit = 1;
  while (fabs(value / unit - round(value / unit)) > 1e-6)
    unit /= 10;
  return unit * 1.0001;
}

static int64_t padded(int64_t n, int64_t grain) {
  return (n + grain - 1) / grain * grain;
}

/* Elements that one rank has of a block of `count` matrices: all, or its pieces; without the
 * padding, and what is in memory. */
typedef struct Extent {
  int64_t elements, stored;
} Extent;

static Extent block_extent(int64_t matrix, int64_t count, int64_t ranks, bool is_piece) {
  int64_t piece = padded((matrix + ranks - 1) / ranks, 32);
  return (Extent){
      .elements = count * (is_piece ? matrix / ranks : matrix),
      .stored = padded(count * piece * (is_piece ? 1 : ranks), 128),
  };
}

static Extent extent(const Size *size, int64_t ranks, bool is_piece) {
  Extent first = block_extent(size->inputs * size->width, 1, ranks, is_piece);
  Extent layer = block_extent(size->width * size->hidden, 2, ranks, is_piece);
  return (Extent){first.elements + size->layers * layer.elements,
                  first.stored + size->layers * layer.stored};
}

static int64_t padding(Extent e) {
  return e.stored - e.elements;
}

static int64_t kind_bytes(const Golden *g, BufferKind kind) {
  return golden_state_bytes(g->plan, 0, kind);
}

static void check_cell(const Size *size, int64_t ranks, int zero, double in_table_gb) {
  Golden g;
  golden_open(&g,
              "model = { \"%s/models/squares.lua\", width = %lld, hidden = %lld, layers = %lld, "
              "inputs = %lld }, "
              "train = { batch = \"%lld samples\", steps = 1 }, memory = { recompute = \"none\" }, "
              "precision = { \"bf16\", grad = \"bf16\" }, parallel = { zero = %d }, "
              "cluster = { \"dgx-a100\", nodes = %lld, devices = %lld, memory = \"1000TB\" },",
              GOLDEN_FOLDER, (long long)size->width, (long long)size->hidden,
              (long long)size->layers, (long long)size->inputs, (long long)ranks,
              ranks > 1 ? zero : 0, (long long)(ranks < 8 ? 1 : ranks / 8),
              (long long)(ranks < 8 ? ranks : 8));
  CHECK(g.is_compiled);
  if (g.is_compiled) {
    CHECK_INT(g.compiled.parameters, size->parameters);
    Extent whole = extent(size, ranks, false), piece = extent(size, ranks, true);
    Extent p = zero == 3 ? piece : whole, g2 = zero >= 2 ? piece : whole;
    int64_t param = kind_bytes(&g, BUFFER_PARAM) - 2 * padding(p);
    int64_t grad = kind_bytes(&g, BUFFER_GRAD) - 2 * padding(g2);
    int64_t states = kind_bytes(&g, BUFFER_MASTER) + kind_bytes(&g, BUFFER_MOMENT1) +
                     kind_bytes(&g, BUFFER_MOMENT2) - 12 * padding(piece);
    CHECK_INT(whole.elements, size->parameters);
    CHECK_INT(param, 2 * p.elements);
    CHECK_INT(grad, 2 * g2.elements);
    CHECK_INT(states, 12 * piece.elements);
    CHECK_NEAR((double)(param + grad + states) * 1e-9, in_table_gb, last_digit(in_table_gb));
  }
  golden_close(&g);
}

/* Bytes a parameter in units of 1/32: as it persists, its gradient, and the optimizer's states. */
typedef struct Row {
  const char *precision;
  int64_t param, grad, states;
} Row;

enum { UNITS = 32 };

/* A cell of every precision and ZeRO stage, to the byte. Sizes are multiples of the grain, so that
 * nothing is padded, and no tensor is too small for codes. */
static void check_precision(const Row *row, int64_t ranks, int zero) {
  static const Size size = {.parameters = 256 * 1024 + 2 * 2 * 1024 * 512,
                            .layers = 2,
                            .inputs = 256,
                            .width = 1024,
                            .hidden = 512};
  Golden g;
  golden_open(&g,
              "model = { \"%s/models/squares.lua\", width = 1024, hidden = 512, layers = 2, "
              "inputs = 256 }, train = { batch = \"%lld samples\", steps = 1 }, "
              "memory = { recompute = \"none\" }, precision = { %s }, parallel = { zero = %d }, "
              "cluster = { \"dgx-a100\", devices = %lld },",
              GOLDEN_FOLDER, (long long)ranks, row->precision, zero, (long long)ranks);
  CHECK(g.is_compiled);
  if (g.is_compiled) {
    static const BufferKind states[] = {BUFFER_MASTER,  BUFFER_COMPENSATION, BUFFER_MOMENT1,
                                        BUFFER_MOMENT2, BUFFER_MOMENT1_MAX,  BUFFER_MOMENT2_MAX};
    int64_t bytes = 0;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
      bytes += kind_bytes(&g, states[i]);
    CHECK_INT(g.compiled.parameters, size.parameters);
    CHECK_INT(UNITS * kind_bytes(&g, BUFFER_PARAM) * (zero == 3 ? ranks : 1),
              row->param * size.parameters);
    CHECK_INT(UNITS * kind_bytes(&g, BUFFER_GRAD) * (zero >= 2 ? ranks : 1),
              row->grad * size.parameters);
    CHECK_INT(UNITS * bytes * (zero >= 1 ? ranks : 1), row->states * size.parameters);
  }
  golden_close(&g);
}

int main(void) {
  static const int64_t ranks[] = {1, 4, 16, 64, 256, 1024};
  for (int s = 0; s < 3; s++)
    for (int r = 0; r < 6; r++) {
      TEST("zero 1: 4P + 12P/N") check_cell(&sizes[s], ranks[r], 1, printed[s][r][0]);
      TEST("zero 2: 2P + 14P/N") check_cell(&sizes[s], ranks[r], 2, printed[s][r][1]);
      TEST("zero 3: 16P/N") check_cell(&sizes[s], ranks[r], 3, printed[s][r][2]);
    }
  static const Row rows[] = {
      {"\"bf16\"", 64, 128, 384},                                                         /* 18 */
      {"\"bf16\", grad = \"bf16\"", 64, 64, 384},                                         /* 16 */
      {"\"bf16\", param = \"fp32\"", 128, 128, 256},                                      /* 16 */
      {"\"bf16\", master = \"split\"", 64, 128, 320},                                     /* 16 */
      {"\"bf16\", master = \"split\", grad = \"bf16\"", 64, 64, 320},                     /* 14 */
      {"\"bf16\", update = \"kahan\", grad = \"bf16\"", 64, 64, 320},                     /* 14 */
      {"\"bf16\", grad = \"bf16\", master = \"none\"", 64, 64, 256},                      /* 12 */
      {"\"bf16\", grad = \"bf16\", update = \"stochastic\"", 64, 64, 256},                /* 12 */
      {"\"bf16\", grad = \"bf16\", master = \"split\", moments = \"bf16\"", 64, 64, 192}, /* 10 */
      {"\"bf16\", grad = \"bf16\", master = \"split\", moments = \"int8\"", 64, 64,
       129}, /* 8 + 1/32 */
      {"\"fp32\", moments = \"int8\"", 128, 128, 65}};
  TEST("bytes a parameter of each precision, alone and in every ZeRO stage of eight ranks")
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    check_precision(&rows[i], 1, 0);
    for (int zero = 0; zero <= 3; zero++)
      check_precision(&rows[i], 8, zero);
  }
  CHECK_DONE();
}
